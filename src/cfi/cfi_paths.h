/* cfi_paths.h - follow the instructions of a function along every path, keeping track of the stack
 * (cfi_flow.h).  A function whose paths contradict each other has no rules.
 *
 * The usual cause of a contradiction is a call that does not return, with another function behind
 * it.  The function is then followed again without that return.  The work is limited in proportion
 * to the size of the code, because a hostile file can make functions overlap.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_PATHS_H
#define FATHOM_CFI_CFI_PATHS_H

#include "cfi/cfi_code.h"
#include "cfi/cfi_flow.h"

struct path_node { /* an instruction */
    uint64_t at;
    struct disasm_effect effect;
    struct flow_state state;
    uint32_t from; /* node before it on the path that found it; itself at the start */
    bool reached, queued;
    bool after_call; /* that path came from a return */
    bool no_return;  /* a call that does not return */
};

enum path_outcome {
    PATH_GOES_ON,
    PATH_AGAIN, /* a call was found not to return: follow the function again */
    PATH_CONTRADICTS,
};

struct paths { /* of the function being followed */
    struct code *code;
    uint64_t steps; /* left for all functions */
    uint64_t start;
    VEC(struct path_node) nodes;
    VEC(uint32_t) queue;
    VEC(uint64_t) callees;
    bool returns, leaves; /* it has a return; a jump that may leave it */
    bool believed;        /* it returns or jumps to another function as functions do */
    bool guessing;        /* nothing names it: any contradiction refutes it */
};

void paths_init(struct paths *f, struct code *code);
void paths_release(struct paths *f);
/* Follow the function at START; false if it contradicts itself.  ROOT: it has no caller. */
bool paths_follow(struct paths *f, uint64_t start, bool root);
/* Give their rules to the instructions of the function, and note what it calls. */
void paths_commit(struct paths *f);

#endif
