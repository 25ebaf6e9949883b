/* col_refusal.c - see col_refusal.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_refusal.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"

/* The number of the initial user namespace, the same in all kernels (linux/nsfs.h). */
static const char initial_namespace[] = "user:[4026531837]";

static long status_value(const char *text, const char *key, int base, long otherwise)
{
    const char *at = strstr(text, key);

    return at ? strtol(at + strlen(key), NULL, base) : otherwise;
}

void col_refusal_status(const char *text, struct col_refusal_facts *f)
{
    uint64_t have = (uint64_t)status_value(text, "\nCapEff:\t", 16, 0);
    uint64_t bound = (uint64_t)status_value(text, "\nCapBnd:\t", 16, 0);
    bool no_new = status_value(text, "\nNoNewPrivs:\t", 10, 0) != 0;

    f->perfmon = have >> CAP_PERFMON & 1;
    f->admin = have >> CAP_SYS_ADMIN & 1;
    f->ptrace = have >> CAP_SYS_PTRACE & 1;
    f->can_gain = (bound >> CAP_PERFMON & 1) && !no_new && !f->user_namespace;
    f->seccomp = (int)status_value(text, "\nSeccomp:\t", 10, -1);
}

void col_refusal_ask(int errnum, enum col_wanted wanted, struct col_refusal_facts *f)
{
    char text[4096], user_ns[64] = "";

    *f = (struct col_refusal_facts){ .errnum = errnum, .wanted = wanted,
                                     .root = geteuid() == 0 };
    f->level = (int)map_read_int("/proc/sys/kernel/perf_event_paranoid", COL_NO_LEVEL);
    f->user_namespace = readlink("/proc/self/ns/user", user_ns, sizeof user_ns - 1) > 0 &&
                        strcmp(user_ns, initial_namespace) != 0;
    map_read_text("/proc/self/status", text, sizeof text);
    col_refusal_status(text, f);
    syscall(SYS_perf_event_open, NULL, 0, -1, -1, ~0ul);
    f->invalid = errno;
}

static bool is_permission(int errnum)
{
    return errnum == EACCES || errnum == EPERM;
}

/* Debian denies all events from level 3, Ubuntu from 4; other kernels know no level above 2. */
static bool denies_all(int level)
{
    return level >= 3;
}

/* Kernel admin guide, perf-security. */
static bool level_denies(const struct col_refusal_facts *f)
{
    switch (f->wanted) {
    case COL_WANT_MACHINE: return f->level >= 1;
    case COL_WANT_KERNEL: return f->level >= 2;
    case COL_WANT_USER: break;
    }
    return denies_all(f->level);
}

/* The highest level that permits it. */
static int permitting_level(enum col_wanted wanted)
{
    return wanted == COL_WANT_MACHINE ? 0 : wanted == COL_WANT_KERNEL ? 1 : 2;
}

/* The call did not reach the perf code of a kernel. */
static enum col_refusal refusal_before(const struct col_refusal_facts *f)
{
    bool filter = f->seccomp > 0 || (f->seccomp < 0 && is_permission(f->invalid));

    return filter && (is_permission(f->invalid) || f->level != COL_NO_LEVEL)
               ? COL_REFUSED_SECCOMP
               : COL_REFUSED_ABSENT;
}

enum col_refusal col_refusal_of(const struct col_refusal_facts *f)
{
    /* The additions of Debian and Ubuntu ask for CAP_SYS_ADMIN even of those with CAP_PERFMON. */
    bool capable = f->admin || (f->perfmon && !denies_all(f->level));

    if (f->invalid != EINVAL)
        return refusal_before(f);
    if (!is_permission(f->errnum))
        return COL_REFUSED_OTHERWISE;
    if (!level_denies(f))
        return f->level == COL_NO_LEVEL ? COL_REFUSED_OTHERWISE : COL_REFUSED_MODULE;
    if (f->user_namespace && (f->root || capable))
        return COL_REFUSED_NAMESPACE;
    if (capable)
        return COL_REFUSED_MODULE;
    return f->root && !f->perfmon ? COL_REFUSED_CAPABILITY : COL_REFUSED_LEVEL;
}

static void explain_seccomp(const struct col_refusal_facts *f, struct col_reason *r)
{
    /* Up to level 2 the capability is enough, but only root of a container gets it. */
    int level = denies_all(f->level) ? 2 : permitting_level(f->wanted);
    bool level_too = denies_all(f->level) || (level_denies(f) && !f->root);

    snprintf(r->why, sizeof r->why, "a seccomp filter refuses perf_event_open");
    snprintf(r->remedy, sizeof r->remedy,
             "start the container with --cap-add PERFMON (Docker 23.0, containerd 1.6.9 or later) "
             "or with a seccomp profile that allows perf_event_open");
    if (level_too)
        snprintf(r->remedy + strlen(r->remedy), sizeof r->remedy - strlen(r->remedy),
                 "; kernel.perf_event_paranoid is %d: on the host, sudo sysctl "
                 "kernel.perf_event_paranoid=%d", f->level, level);
}

static void explain_level(const struct col_refusal_facts *f, struct col_reason *r)
{
    int level = permitting_level(f->wanted);
    const char *needs = f->wanted == COL_WANT_MACHINE ? "system-wide events need"
                        : f->wanted == COL_WANT_KERNEL ? "kernel samples need"
                                                       : "all events need";

    snprintf(r->why, sizeof r->why, "kernel.perf_event_paranoid is %d: %s %s", f->level, needs,
             denies_all(f->level) ? "CAP_SYS_ADMIN" : "CAP_PERFMON");
    if (denies_all(f->level))
        snprintf(r->remedy, sizeof r->remedy, "%ssudo sysctl kernel.perf_event_paranoid=%d%s",
                 f->root ? "on the host, " : "", level, f->root ? "" : ", or run as root");
    else if (f->can_gain)
        snprintf(r->remedy, sizeof r->remedy,
                 "sudo sysctl kernel.perf_event_paranoid=%d, or sudo setcap cap_perfmon=ep on the "
                 "file of fathom, or run as root", level);
    else
        snprintf(r->remedy, sizeof r->remedy,
                 "on the host, sudo sysctl kernel.perf_event_paranoid=%d; or run as root in a "
                 "container started with --cap-add PERFMON", level);
}

void col_refusal_explain(const struct col_refusal_facts *f, struct col_reason *r)
{
    int level = permitting_level(f->wanted);

    *r = (struct col_reason){ 0 };
    switch (col_refusal_of(f)) {
    case COL_REFUSED_OTHERWISE:
        snprintf(r->why, sizeof r->why, "%s", strerror(f->errnum));
        break;
    case COL_REFUSED_ABSENT:
        snprintf(r->why, sizeof r->why,
                 "this kernel, or a sandbox such as gVisor, has no perf_event_open");
        snprintf(r->remedy, sizeof r->remedy,
                 "run outside the sandbox, on a kernel with CONFIG_PERF_EVENTS");
        break;
    case COL_REFUSED_SECCOMP:
        explain_seccomp(f, r);
        break;
    case COL_REFUSED_LEVEL:
        explain_level(f, r);
        break;
    case COL_REFUSED_CAPABILITY:
        snprintf(r->why, sizeof r->why,
                 "kernel.perf_event_paranoid is %d, and root lacks CAP_PERFMON here", f->level);
        snprintf(r->remedy, sizeof r->remedy,
                 "%son the host, sudo sysctl kernel.perf_event_paranoid=%d",
                 denies_all(f->level) ? "" : "start the container with --cap-add PERFMON; or ",
                 level);
        break;
    case COL_REFUSED_NAMESPACE:
        snprintf(r->why, sizeof r->why,
                 "kernel.perf_event_paranoid is %d, and root of a user namespace has no "
                 "CAP_PERFMON outside it", f->level);
        snprintf(r->remedy, sizeof r->remedy,
                 "on the host, sudo sysctl kernel.perf_event_paranoid=%d; or run outside the user "
                 "namespace (rootless containers use one)", level);
        break;
    case COL_REFUSED_MODULE:
        snprintf(r->why, sizeof r->why, "a security module such as SELinux refuses it");
        snprintf(r->remedy, sizeof r->remedy, "allow perf_event in the policy of the module");
        break;
    }
}
