/* doc_machine.c - kernel settings and permissions that limit recordings.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/map.h"
#include "doctor/doctor.h"

static void add_kernel(struct doc_facts *f)
{
    struct utsname u;

    if (uname(&u) == 0)
        doc_add(f, DOC_PLAIN, "kernel", "kernel", NULL, "%s %s %s", u.sysname, u.release,
                u.machine);
}

/* Kernel admin guide, perf-security: what each level denies to users without CAP_PERFMON. */
static void add_paranoid(struct doc_facts *f)
{
    static const char path[] = "/proc/sys/kernel/perf_event_paranoid";
    long level = (long)map_read_int(path, -99);
    bool root = geteuid() == 0;

    if (level == -99) {
        doc_add(f, DOC_POOR, "perf_event_paranoid", "perf_event_paranoid",
                "the kernel lacks CONFIG_PERF_EVENTS, or /proc is hidden", "missing");
        return;
    }
    doc_add(f, root || level <= 1 ? DOC_GOOD : DOC_POOR, "perf_event_paranoid",
            "perf_event_paranoid",
            root || level <= 1 ? NULL : "sudo sysctl kernel.perf_event_paranoid=1",
            "%ld: %s", level,
            root         ? "does not restrict root"
            : level < 0  ? "everything is allowed"
            : level == 0 ? "no raw tracepoints"
            : level == 1 ? "no system-wide events (-a)"
            : level == 2 ? "no kernel samples, no system-wide events"
                         : "perf_event_open is not allowed");
}

/* Even with kptr_restrict 0, only users who may sample the kernel see addresses. */
static void add_kptr(struct doc_facts *f)
{
    char first[64];
    long restrict_level = (long)map_read_int("/proc/sys/kernel/kptr_restrict", 0);
    bool hidden = map_read_text("/proc/kallsyms", first, sizeof first) > 0 &&
                  strncmp(first, "0000000000000000", 16) == 0;
    const char *advice = restrict_level > 0 ? "sudo sysctl kernel.kptr_restrict=0"
                                            : "sudo sysctl kernel.perf_event_paranoid=1";

    doc_add(f, hidden ? DOC_POOR : DOC_GOOD, "kernel_symbols", "kernel symbols",
            hidden ? advice : NULL, "%s (kptr_restrict %ld)", hidden ? "hidden" : "readable",
            restrict_level);
}

static void add_memory_lock(struct doc_facts *f)
{
    struct rlimit r;
    long kb = (long)map_read_int("/proc/sys/kernel/perf_event_mlock_kb", 516);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (getrlimit(RLIMIT_MEMLOCK, &r) != 0)
        return;
    if (r.rlim_cur == RLIM_INFINITY || geteuid() == 0)
        doc_add(f, DOC_GOOD, "locked_memory", "memory for rings", NULL, "no limit");
    else
        doc_add(f, kb * cpus < 1024 ? DOC_POOR : DOC_PLAIN, "locked_memory", "memory for rings",
                kb * cpus < 1024 ? "sudo sysctl kernel.perf_event_mlock_kb=4096" : NULL,
                "%ld KB from perf (%ld per CPU) and %llu KB from ulimit -l", kb * cpus, kb,
                (unsigned long long)r.rlim_cur / 1024);
}

static void add_rates(struct doc_facts *f)
{
    long most = (long)map_read_int("/proc/sys/kernel/perf_event_max_sample_rate", 0);
    long stack = (long)map_read_int("/proc/sys/kernel/perf_event_max_stack", 0);

    if (most)
        doc_add(f, most < 10000 ? DOC_POOR : DOC_PLAIN, "max_sample_rate", "highest rate",
                most < 10000 ? "sudo sysctl kernel.perf_event_max_sample_rate=100000" : NULL,
                "%ld samples per second and CPU", most);
    if (stack)
        doc_add(f, DOC_PLAIN, "max_stack", "frame-pointer chains", NULL, "up to %ld frames", stack);
}

static long status_number(const char *key, int base)
{
    char text[4096], *at;

    if (map_read_text("/proc/self/status", text, sizeof text) < 0)
        return -1;
    at = strstr(text, key);
    return at ? strtol(at + strlen(key), NULL, base) : -1;
}

static void add_confinement(struct doc_facts *f)
{
    long seccomp = status_number("\nSeccomp:\t", 10);
    unsigned long long caps = (unsigned long long)status_number("\nCapEff:\t", 16);
    int64_t scope = map_read_int("/proc/sys/kernel/yama/ptrace_scope", -1);
    bool perfmon = caps >> 38 & 1, admin = caps >> 21 & 1, ptrace = caps >> 19 & 1;

    doc_add(f, seccomp > 0 ? DOC_POOR : DOC_PLAIN, "seccomp", "seccomp",
            seccomp > 0 ? "a container may refuse perf_event_open: start it with --cap-add PERFMON"
                        : NULL,
            "%s", seccomp == 2 ? "a filter is active" : seccomp == 1 ? "strict" : "none");
    doc_add(f, DOC_PLAIN, "capabilities", "capabilities", NULL, "%s%s%s%s",
            perfmon ? "PERFMON " : "", admin ? "SYS_ADMIN " : "", ptrace ? "SYS_PTRACE" : "",
            perfmon || admin || ptrace ? "" : "none that fathom uses");
    doc_add(f, scope > 1 && !ptrace ? DOC_POOR : DOC_PLAIN, "ptrace_scope", "ptrace scope",
            scope > 1 && !ptrace ? "sudo sysctl kernel.yama.ptrace_scope=1" : NULL, "%s",
            scope < 0    ? "no Yama: processes of the same user"
            : scope == 0 ? "0: processes of the same user"
            : scope == 1 ? "1: own children only (perf can attach to all processes of the user)"
            : scope == 2 ? "2: administrators only"
                         : "3: nobody");
}

static void add_container(struct doc_facts *f)
{
    char text[256];
    const char *kind = access("/.dockerenv", F_OK) == 0           ? "Docker"
                       : access("/run/.containerenv", F_OK) == 0 ? "Podman"
                       : getenv("KUBERNETES_SERVICE_HOST")        ? "Kubernetes"
                                                                  : "";

    if (map_read_text("/proc/version", text, sizeof text) > 0 && strstr(text, "microsoft"))
        kind = "WSL";
    if (*kind)
        doc_add(f, DOC_PLAIN, "container", "container", NULL, "%s", kind);
}

static void add_cache(struct doc_facts *f)
{
    struct err e = { 0 };
    char path[sizeof f->v.v->value];

    cache_dir(path, sizeof path, "");
    if (cache_check(&e) == 0)
        doc_add(f, DOC_PLAIN, "cache", "cache directory", NULL, "%s", path);
    else
        doc_add(f, DOC_POOR, "cache", "cache directory",
                "set FATHOM_CACHE to a directory of your own with mode 700", "not used: %s", e.msg);
}

void doc_machine(struct doc_facts *f)
{
    add_kernel(f);
    add_container(f);
    add_paranoid(f);
    add_kptr(f);
    add_memory_lock(f);
    add_rates(f);
    add_confinement(f);
    add_cache(f);
}
