/* cfi_flow.h - where the frame of a function is, derived from its instructions.
 *
 * A state says what each register and some words of the stack hold, relative to the canonical frame
 * address (CFA) of the function.  Instructions change the state; where paths meet, only what holds
 * on all of them remains.  For x86-64 only.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_FLOW_H
#define FATHOM_CFI_CFI_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "disasm/disasm.h"
#include "unwind/unw_rule.h"

enum { FLOW_REGISTERS = 16, FLOW_SLOTS = 12, FLOW_RBX = 3, FLOW_RSP = 4, FLOW_RBP = 5 };

enum flow_kind {
    FLOW_UNKNOWN,
    FLOW_CFA,      /* CFA + n */
    FLOW_ALIGNED,  /* the stack pointer after it was aligned + n */
    FLOW_ENTRY,    /* what register n held at the entry */
    FLOW_NUMBER,   /* n */
    FLOW_OFFSET,   /* a signed 4-byte word of the table at n */
    FLOW_TARGET,   /* the same plus n: where a jump table points */
    FLOW_POINTER,  /* an 8-byte word of the table at n */
};

struct flow_value {
    uint8_t kind; /* enum flow_kind */
    int32_t n;
};

struct flow_slot { /* a word of the stack */
    struct flow_value at, value;
};

struct flow_state {
    struct flow_value reg[FLOW_REGISTERS];
    struct flow_slot slot[FLOW_SLOTS];
    uint8_t n_slots;
    bool aligned;    /* FLOW_ALIGNED is defined */
    bool in_syscall; /* a system call was made: clone returns twice */
    bool root;       /* there is no caller */
    int32_t bound;   /* of the last comparison or mask: entries in a jump table, or 0 */
};

/* The state at the first instruction; ROOT: nothing calls the function. */
void flow_enter(struct flow_state *s, bool root);
/* Apply an instruction.  Jumps and returns change nothing; a call ends with its return. */
void flow_step(struct flow_state *s, const struct disasm_effect *e);

enum flow_merge { FLOW_SAME, FLOW_CHANGED, FLOW_CONFLICT };
/* Keep in INTO what holds in FROM too.  FLOW_CONFLICT: the stack pointers differ; INTO is then
 * unchanged unless FORCE is set, and otherwise its stack pointer becomes unknown. */
enum flow_merge flow_merge(struct flow_state *into, const struct flow_state *from, bool force);

/* Whether a function may return, or jump to another one, in this state. */
enum flow_return { FLOW_RETURNS, FLOW_UNSURE, FLOW_CANNOT_RETURN };
enum flow_return flow_returns(const struct flow_state *s);

/* The unwind rule of the state; all zero when the frame is unknown. */
struct unw_rule flow_rule(const struct flow_state *s);

#endif
