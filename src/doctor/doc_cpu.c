/* doc_cpu.c - the CPU: counters, instruction sets, and sources of timing noise.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "collect/col_probe.h"
#include "doctor/doctor.h"

/* The value of KEY for the first processor in /proc/cpuinfo. */
static bool cpuinfo(const char *key, char *value, size_t cap)
{
    char text[16384], *at, *end;

    value[0] = 0;
    if (map_read_text("/proc/cpuinfo", text, sizeof text) < 0)
        return false;
    for (at = text; at; at = strchr(at, '\n'), at += at != NULL) {
        if (strncmp(at, key, strlen(key)) != 0 || !strchr("\t :", at[strlen(key)]))
            continue;
        at = strchr(at, ':');
        if (!at)
            return false;
        at += 1 + (at[1] == ' ');
        end = strchr(at, '\n');
        snprintf(value, cap, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
        return true;
    }
    return false;
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

static void add_features(struct doc_facts *f)
{
    /* the kernel's name, the usual name */
    static const char *const known[][2] = {
        { "sse2", "SSE2" },       { "ssse3", "SSSE3" },       { "sse4_2", "SSE4.2" },
        { "avx", "AVX" },         { "avx2", "AVX2" },         { "fma", "FMA" },
        { "bmi2", "BMI2" },       { "avx512f", "AVX-512F" },  { "avx512bw", "AVX-512BW" },
        { "avx512vl", "AVX-512VL" }, { "avx512_bf16", "AVX-512BF16" },
        { "amx_tile", "AMX" },    { "aes", "AES" },           { "sha_ni", "SHA" },
        { "asimd", "NEON" },      { "sve", "SVE" },           { "sve2", "SVE2" },
        { "crc32", "CRC32" },
    };
    char words[8192], text[320] = "";

    if (!cpuinfo("flags", words, sizeof words) && !cpuinfo("Features", words, sizeof words))
        return;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (has_word(words, known[i][0]))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? " " : "",
                     known[i][1]);
    doc_add(f, DOC_PLAIN, "cpu_features", "instruction sets", NULL, "%s", text);
}

static void add_virtual(struct doc_facts *f)
{
    char words[8192], name[64] = "";
    bool hypervisor = cpuinfo("flags", words, sizeof words) && has_word(words, "hypervisor");

    map_read_text("/sys/class/dmi/id/sys_vendor", name, sizeof name);
    doc_add(f, DOC_PLAIN, "virtualization", "virtual machine", NULL, "%s%s%s",
            hypervisor ? "yes" : "not detected", hypervisor && *name ? ", " : "",
            hypervisor ? name : "");
}

static int counter_errnum(const char *name)
{
    struct col_events events = { 0 };
    struct err e = { 0 };
    int errnum = ENOENT;

    if (col_event_parse(name, &events, &e) == 0 && events.n)
        errnum = col_probe_open(&events.v[0], true, false, false);
    vec_release(&events);
    return errnum;
}

static void add_counters(struct doc_facts *f)
{
    static const char *const names[] = { "cycles", "instructions", "branches", "branch-misses",
                                         "cache-references", "cache-misses", "L1-dcache-loads",
                                         "L1-dcache-load-misses", "dTLB-load-misses",
                                         "stalled-cycles-frontend", "stalled-cycles-backend" };
    char text[320] = "";
    int refused = 0;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int errnum = counter_errnum(names[i]);

        if (errnum == 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? " " : "",
                     names[i]);
        refused |= errnum == EACCES || errnum == EPERM || errnum == ENOSYS;
    }
    if (*text)
        doc_add(f, DOC_GOOD, "counters", "hardware counters", NULL, "%s", text);
    else
        doc_add(f, DOC_POOR, "counters", "hardware counters",
                refused ? "see the ladder below"
                        : "virtual machines often hide them; valgrind --tool=cachegrind "
                          "simulates some of them",
                "%s", refused ? "refused" : "none: the cpu-clock timer triggers samples");
}

static void add_pmus(struct doc_facts *f)
{
    DIR *d = opendir("/sys/bus/event_source/devices");
    char text[320] = "";
    struct dirent *x;

    while (d && (x = readdir(d)))
        if (x->d_name[0] != '.')
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? " " : "",
                     x->d_name);
    if (d)
        closedir(d);
    if (*text)
        doc_add(f, DOC_PLAIN, "pmus", "event sources", NULL, "%s", text);
}

static void add_lbr(struct doc_facts *f)
{
    struct col_event ev = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES };
    int errnum = col_probe_open(&ev, true, false, true);

    doc_add(f, errnum ? DOC_PLAIN : DOC_GOOD, "lbr", "last-branch records", NULL, "%s",
            errnum ? "none: -g lbr is unavailable" : "yes: -g lbr reads stacks from them");
}

static void add_frequency(struct doc_facts *f)
{
    char governor[64], boost[16], no_turbo[16];

    if (map_read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
                      sizeof governor) > 0)
        doc_add(f, strcmp(governor, "performance") == 0 ? DOC_GOOD : DOC_POOR, "governor",
                "frequency governor",
                strcmp(governor, "performance") == 0 ? NULL
                                                     : "sudo cpupower frequency-set -g performance",
                "%s", governor);
    else
        doc_add(f, DOC_PLAIN, "governor", "frequency governor", NULL, "unknown");
    if (map_read_text("/sys/devices/system/cpu/intel_pstate/no_turbo", no_turbo,
                      sizeof no_turbo) > 0)
        doc_add(f, DOC_PLAIN, "turbo", "turbo",
                no_turbo[0] == '0' ? "timings depend on temperature and load" : NULL, "%s",
                no_turbo[0] == '0' ? "on" : "off");
    else if (map_read_text("/sys/devices/system/cpu/cpufreq/boost", boost, sizeof boost) > 0)
        doc_add(f, DOC_PLAIN, "turbo", "turbo", NULL, "%s", boost[0] == '1' ? "on" : "off");
    else
        doc_add(f, DOC_PLAIN, "turbo", "turbo", NULL, "unknown");
}

static void add_clock(struct doc_facts *f)
{
    char source[32] = "";
    bool fast;

    map_read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
                  sizeof source);
    fast = strcmp(source, "tsc") == 0 || strcmp(source, "arch_sys_counter") == 0 ||
           strcmp(source, "kvm-clock") == 0;
    doc_add(f, fast ? DOC_GOOD : DOC_POOR, "clock_source", "clock source",
            fast ? NULL : "each clock read is a system call: timers in programs cost more",
            "%s", *source ? source : "unknown");
}

static void add_topology(struct doc_facts *f)
{
    char smt[16] = "";
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    map_read_text("/sys/devices/system/cpu/smt/active", smt, sizeof smt);
    doc_add(f, DOC_PLAIN, "cpus", "CPUs online", NULL, "%ld", cpus);
    doc_add(f, DOC_PLAIN, "smt", "SMT", smt[0] == '1' ? "two CPUs share a core: pin timed threads"
                                                      : NULL,
            "%s", smt[0] == '1' ? "on" : smt[0] == '0' ? "off" : "unknown");
}

void doc_cpu(struct doc_facts *f)
{
    char model[256];

    if (cpuinfo("model name", model, sizeof model) || cpuinfo("Hardware", model, sizeof model))
        doc_add(f, DOC_PLAIN, "cpu", "processor", NULL, "%s", model);
    add_topology(f);
    add_features(f);
    add_virtual(f);
    add_counters(f);
    add_pmus(f);
    add_lbr(f);
    add_frequency(f);
    add_clock(f);
}
