/* test_col_refusal.c - each reason why perf_event_open is refused, from the facts of a machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>

#include "collect/col_probe.h"
#include "collect/col_refusal.h"

/* An ordinary user on a machine without a filter. */
static struct col_refusal_facts user(enum col_wanted wanted, int level)
{
    return (struct col_refusal_facts){ .errnum = EACCES, .invalid = EINVAL, .wanted = wanted,
                                       .level = level, .can_gain = true };
}

/* Root in a container with Docker's default profile, which answers before the kernel. */
static struct col_refusal_facts docker(enum col_wanted wanted, int level)
{
    return (struct col_refusal_facts){ .errnum = EPERM, .invalid = EPERM, .wanted = wanted,
                                       .level = level, .seccomp = 2, .root = true };
}

#define CHECK_REASON(f, kind, why_has, remedy_has)                    \
    do {                                                              \
        struct col_reason r_;                                         \
                                                                      \
        CHECK_EQ(col_refusal_of(&(f)), kind);                         \
        col_refusal_explain(&(f), &r_);                               \
        if (!strstr(r_.why, why_has))                                 \
            test_fail(__FILE__, __LINE__, "why: %s", r_.why);         \
        if (!strstr(r_.remedy, remedy_has))                           \
            test_fail(__FILE__, __LINE__, "remedy: %s", r_.remedy);   \
    } while (0)
#define CHECK_NO_REMEDY(f, text)                                      \
    do {                                                              \
        struct col_reason r_;                                         \
                                                                      \
        col_refusal_explain(&(f), &r_);                               \
        if (strstr(r_.remedy, text))                                  \
            test_fail(__FILE__, __LINE__, "remedy: %s", r_.remedy);   \
    } while (0)

TEST(col_refusal_by_the_default_profile_of_docker_is_not_the_level)
{
    struct col_refusal_facts f = docker(COL_WANT_USER, 2);

    CHECK_REASON(f, COL_REFUSED_SECCOMP, "seccomp", "--cap-add PERFMON");
    CHECK_NO_REMEDY(f, "sysctl");
    f = docker(COL_WANT_MACHINE, 2);
    CHECK_NO_REMEDY(f, "sysctl"); /* root gets the capability with the filter */
    f.root = false;
    CHECK_REASON(f, COL_REFUSED_SECCOMP, "seccomp", "sysctl kernel.perf_event_paranoid=0");
}

TEST(col_refusal_by_a_filter_on_a_host_of_level_4_needs_both)
{
    struct col_refusal_facts f = docker(COL_WANT_KERNEL, 4);

    CHECK_REASON(f, COL_REFUSED_SECCOMP, "seccomp", "sysctl kernel.perf_event_paranoid=2");
    CHECK_REASON(f, COL_REFUSED_SECCOMP, "seccomp", "--cap-add PERFMON");
}

TEST(col_refusal_by_a_filter_is_seen_with_any_errno)
{
    struct col_refusal_facts f = docker(COL_WANT_USER, 2);

    f.errnum = f.invalid = ENOSYS; /* Podman's answer to system calls that it does not list */
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_SECCOMP);
    f.errnum = f.invalid = EACCES;
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_SECCOMP);
    f.seccomp = -1; /* /proc is hidden */
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_SECCOMP);
    f.seccomp = 1;
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_SECCOMP);
}

TEST(col_refusal_by_a_filter_that_allows_the_call_is_not_its_fault)
{
    struct col_refusal_facts f = user(COL_WANT_KERNEL, 2);

    f.seccomp = 2;
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_LEVEL);
}

TEST(col_refusal_without_perf_events_names_the_kernel_or_a_sandbox)
{
    struct col_refusal_facts f = { .errnum = ENOSYS, .invalid = ENOSYS, .level = COL_NO_LEVEL,
                                   .root = true, .perfmon = true, .admin = true };

    CHECK_REASON(f, COL_REFUSED_ABSENT, "sandbox", "CONFIG_PERF_EVENTS");
    f.errnum = f.invalid = ENODEV; /* gVisor */
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_ABSENT);
    f.seccomp = 2; /* of the container engine around the sandbox */
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_ABSENT);
    f.level = 2;
    f.seccomp = -1; /* nor filters, which nobody may blame then */
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_ABSENT);
    f.level = COL_NO_LEVEL;
    f.seccomp = 0;
    f.errnum = f.invalid = EPERM; /* a sandbox that is no filter */
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_ABSENT);
}

TEST(col_refusal_by_the_level_names_the_one_to_set)
{
    struct col_refusal_facts f = user(COL_WANT_KERNEL, 2);

    CHECK_REASON(f, COL_REFUSED_LEVEL, "kernel.perf_event_paranoid is 2: kernel samples",
                 "sysctl kernel.perf_event_paranoid=1,");
    CHECK_REASON(f, COL_REFUSED_LEVEL, "CAP_PERFMON", "setcap cap_perfmon=ep");
    f = user(COL_WANT_MACHINE, 1);
    CHECK_REASON(f, COL_REFUSED_LEVEL, "kernel.perf_event_paranoid is 1: system-wide",
                 "sysctl kernel.perf_event_paranoid=0,");
    f.can_gain = false; /* a container's bounding set, or no_new_privs */
    CHECK_REASON(f, COL_REFUSED_LEVEL, "CAP_PERFMON", "--cap-add PERFMON");
    CHECK_NO_REMEDY(f, "setcap");
}

TEST(col_refusal_by_the_levels_of_debian_and_ubuntu_needs_more_than_cap_perfmon)
{
    for (int level = 3; level <= 4; level++) {
        struct col_refusal_facts f = user(COL_WANT_USER, level);

        CHECK_REASON(f, COL_REFUSED_LEVEL, "all events need CAP_SYS_ADMIN",
                     "sysctl kernel.perf_event_paranoid=2, or run as root");
        CHECK_NO_REMEDY(f, "PERFMON");
        f.perfmon = true;
        CHECK_EQ(col_refusal_of(&f), COL_REFUSED_LEVEL);
        f.root = true;
        CHECK_REASON(f, COL_REFUSED_LEVEL, "CAP_SYS_ADMIN", "on the host, sudo sysctl");
        CHECK_NO_REMEDY(f, "as root");
    }
}

TEST(col_refusal_of_root_in_a_container_without_a_filter_is_the_capability)
{
    struct col_refusal_facts f = user(COL_WANT_KERNEL, 2);

    f.root = true;
    f.can_gain = false;
    CHECK_REASON(f, COL_REFUSED_CAPABILITY, "root lacks CAP_PERFMON", "--cap-add PERFMON");
    CHECK_REASON(f, COL_REFUSED_CAPABILITY, "is 2", "kernel.perf_event_paranoid=1");
    f.level = 4;
    CHECK_REASON(f, COL_REFUSED_CAPABILITY, "is 4", "on the host, sudo sysctl");
    CHECK_NO_REMEDY(f, "--cap-add");
}

TEST(col_refusal_of_root_of_a_user_namespace_is_the_namespace)
{
    struct col_refusal_facts f = user(COL_WANT_KERNEL, 2);

    f.user_namespace = f.root = true;
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_NAMESPACE); /* rootless container, no capability */
    f.perfmon = f.admin = true;
    CHECK_REASON(f, COL_REFUSED_NAMESPACE, "user namespace", "on the host, sudo sysctl");
    CHECK_NO_REMEDY(f, "--cap-add");
    f.root = f.perfmon = f.admin = false;
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_LEVEL);
}

TEST(col_refusal_that_level_and_capabilities_permit_is_a_security_module)
{
    struct col_refusal_facts f = user(COL_WANT_USER, 2);

    CHECK_REASON(f, COL_REFUSED_MODULE, "SELinux", "policy");
    f = user(COL_WANT_MACHINE, 2);
    f.perfmon = true;
    CHECK_EQ(col_refusal_of(&f), COL_REFUSED_MODULE);
}

TEST(col_refusal_of_another_kind_has_the_text_of_its_error)
{
    struct col_refusal_facts f = user(COL_WANT_USER, 2);

    f.errnum = EMFILE;
    CHECK_REASON(f, COL_REFUSED_OTHERWISE, strerror(EMFILE), "");
    f.errnum = EACCES;
    f.level = COL_NO_LEVEL; /* /proc is hidden */
    CHECK_REASON(f, COL_REFUSED_OTHERWISE, strerror(EACCES), "");
}

TEST(col_refusal_reads_capabilities_and_filter_from_the_status_file)
{
    struct col_refusal_facts f = { 0 };

    col_refusal_status("Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n"
                       "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n", &f);
    CHECK(f.perfmon && f.admin && f.ptrace && f.can_gain);
    CHECK_EQ(f.seccomp, 0);
    col_refusal_status("Name:\tx\nCapEff:\t0000004000000000\nCapBnd:\t0000004000000000\n"
                       "NoNewPrivs:\t1\nSeccomp:\t2\n", &f);
    CHECK(f.perfmon && !f.admin && !f.ptrace && !f.can_gain);
    CHECK_EQ(f.seccomp, 2);
    col_refusal_status("Name:\tx\nCapEff:\t00000000a80425fb\nCapBnd:\t00000000a80425fb\n"
                       "NoNewPrivs:\t0\nSeccomp:\t2\n", &f); /* Docker's default */
    CHECK(!f.perfmon && !f.admin && !f.can_gain);
    f.user_namespace = true;
    col_refusal_status("Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n", &f);
    CHECK(!f.can_gain);
    col_refusal_status("", &f);
    CHECK(!f.perfmon && !f.admin && !f.ptrace && !f.can_gain);
    CHECK_EQ(f.seccomp, -1);
}

/* The real machine: whatever it permits, there is a reason with text. */
TEST(col_refusal_asks_this_machine)
{
    struct col_reason r;

    col_probe_explain(EACCES, true, false, &r);
    CHECK(r.why[0] != 0);
    col_probe_explain(EMFILE, true, false, &r);
    CHECK(r.why[0] != 0);
}
