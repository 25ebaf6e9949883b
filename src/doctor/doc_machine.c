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
#include "collect/col_refusal.h"
#include "doctor/doctor.h"

static void add_kernel(struct doc_facts *f)
{
    struct utsname u;

    if (uname(&u) == 0)
        doc_add(f, DOC_PLAIN, "kernel", "kernel", NULL, "%s %s %s", u.sysname, u.release,
                u.machine);
}

static const char see_ladder[] = "see what can be recorded, below";

/* Kernel admin guide, perf-security: what each level denies to users without CAP_PERFMON. */
static void add_paranoid(struct doc_facts *f, const struct col_refusal_facts *asked)
{
    bool capable = (asked->admin || asked->perfmon) && !asked->user_namespace;
    int level = asked->level;

    if (level == COL_NO_LEVEL) {
        doc_add(f, DOC_POOR, "perf_event_paranoid", "perf_event_paranoid",
                "the kernel lacks CONFIG_PERF_EVENTS, or /proc is hidden", "missing");
        return;
    }
    doc_add(f, capable || level <= 1 ? DOC_GOOD : DOC_POOR, "perf_event_paranoid",
            "perf_event_paranoid", capable || level <= 1 ? NULL : see_ladder, "%d: %s", level,
            capable      ? "does not restrict this process"
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

static void add_confinement(struct doc_facts *f, const struct col_refusal_facts *asked)
{
    bool filtered = asked->seccomp > 0 && col_refusal_of(asked) == COL_REFUSED_SECCOMP;
    int64_t scope = map_read_int("/proc/sys/kernel/yama/ptrace_scope", -1);
    bool perfmon = asked->perfmon, admin = asked->admin, ptrace = asked->ptrace;

    doc_add(f, filtered ? DOC_POOR : DOC_PLAIN, "seccomp", "seccomp",
            filtered ? see_ladder : NULL, "%s",
            filtered             ? "a filter refuses perf_event_open"
            : asked->seccomp > 0 ? "a filter is active"
            : asked->seccomp < 0 ? "unknown"
                                 : "none");
    doc_add(f, DOC_PLAIN, "capabilities", "capabilities", NULL, "%s%s%s%s%s",
            perfmon ? "PERFMON " : "", admin ? "SYS_ADMIN " : "", ptrace ? "SYS_PTRACE" : "",
            perfmon || admin || ptrace ? "" : "none that fathom uses",
            asked->user_namespace ? " (in a user namespace)" : "");
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
    struct col_refusal_facts asked;

    col_refusal_ask(0, COL_WANT_USER, &asked);
    add_kernel(f);
    add_container(f);
    add_paranoid(f, &asked);
    add_kptr(f);
    add_memory_lock(f);
    add_rates(f);
    add_confinement(f, &asked);
    add_cache(f);
}
