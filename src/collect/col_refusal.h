/* col_refusal.h - why perf_event_open is refused, and what to do about it.
 *
 * The errno alone does not tell: EPERM or EACCES may come from a seccomp filter, from
 * kernel.perf_event_paranoid or from a security module.  col_refusal_ask collects the facts from
 * the kernel; the other functions are pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_REFUSAL_H
#define FATHOM_COLLECT_COL_REFUSAL_H

#include <limits.h>
#include <stdbool.h>

/* What was refused, from the least to the most privileged. */
enum col_wanted { COL_WANT_USER, COL_WANT_KERNEL, COL_WANT_MACHINE };

enum { COL_NO_LEVEL = INT_MIN }; /* the file perf_event_paranoid is missing */

struct col_refusal_facts {
    int errnum;  /* of the refused call */
    int invalid; /* errno of a call with invalid flags: EINVAL if it reaches the kernel's perf code,
                    which rejects it before it looks at permissions */
    enum col_wanted wanted;
    int level;            /* kernel.perf_event_paranoid */
    int seccomp;          /* mode: 0 none, 1 strict, 2 filter; -1 unknown */
    bool perfmon, admin, ptrace; /* effective CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE */
    bool can_gain;        /* a program that we start may get CAP_PERFMON */
    bool root;            /* effective user 0 */
    bool user_namespace;  /* not the initial one: the kernel ignores our capabilities */
};

enum col_refusal {
    COL_REFUSED_OTHERWISE,  /* not a matter of permission */
    COL_REFUSED_ABSENT,     /* there are no perf events */
    COL_REFUSED_SECCOMP,
    COL_REFUSED_LEVEL,      /* by perf_event_paranoid */
    COL_REFUSED_CAPABILITY, /* the same; root lacks the capability, as in containers */
    COL_REFUSED_NAMESPACE,  /* the same; root of a user namespace */
    COL_REFUSED_MODULE,     /* the level permits it: a security module does not */
};

struct col_reason {
    char why[256];    /* a sentence without its full stop */
    char remedy[320]; /* "" if there is none */
};

void col_refusal_ask(int errnum, enum col_wanted wanted, struct col_refusal_facts *f);
/* Set what the text of /proc/self/status tells; what it does not tell is unknown. */
void col_refusal_status(const char *text, struct col_refusal_facts *f);
enum col_refusal col_refusal_of(const struct col_refusal_facts *f);
void col_refusal_explain(const struct col_refusal_facts *f, struct col_reason *r);

#endif
