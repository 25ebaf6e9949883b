/* col_stoppable.h - whether a process can be stopped by ptrace, and if not, why.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_STOPPABLE_H
#define FATHOM_COLLECT_COL_STOPPABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/col_refusal.h"

struct col_stoppable_facts {
    bool gone;        /* there is no such process */
    char tracer[64];  /* name and pid of the process that traces it, "" if none */
    bool filtered;    /* ptrace itself is refused, by a seccomp filter */
    bool refused;     /* the kernel refuses access to its memory */
    bool other_user;  /* it belongs to another user */
    bool hidden;      /* it is not dumpable */
    bool capable;     /* we have CAP_SYS_PTRACE */
    int yama;         /* kernel.yama.ptrace_scope, 0 without Yama */
};

void col_stoppable_ask(int64_t pid, struct col_stoppable_facts *f);
/* Returns true if the process can be stopped.  Otherwise R says why not, or is empty if there is no
 * such process. */
bool col_stoppable_explain(const struct col_stoppable_facts *f, struct col_reason *r);
bool col_stoppable(int64_t pid, struct col_reason *r); /* both */
bool col_stoppable_children(struct col_reason *r); /* programs that we start */

#endif
