/* unw_aarch64.c - what is aarch64's own in unwinding.  SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>

#include "unwind/unw_machine.h"

enum { X29 = 29, SP = 31 };

/* Offsets from sp in the frame the kernel makes for a signal: 128 bytes of siginfo, then a
 * ucontext whose machine context starts at 176 with fault_address, x0..x30, sp, pc. */
enum { CONTEXT = 128 + 176 + 8, SAVED_X29 = CONTEXT + X29 * 8, SAVED_SP = CONTEXT + SP * 8,
       SAVED_PC = SAVED_SP + 8 };

static bool arm_expression(struct cursor c, struct unw_rule *r)
{
    return false;
}

/* The vDSO's own CFI finds x29 and x30 but neither the interrupted pc nor sp. */
static void arm_signal_frame(struct unw_rule *r)
{
    *r = (struct unw_rule){ .cfa = UNW_CFA_SP_DEREF, .flags = UNW_RULE_SIGNAL,
                            .where = UNW_WHERE(UNW_AT_SP, UNW_AT_SP), .cfa_off = SAVED_SP,
                            .fp_off = SAVED_X29, .pc_off = SAVED_PC };
}

static uint64_t arm_search(const struct unw_rule *r, const struct unw_regs *regs,
                           const struct unw_stack *stack, unw_is_code *is_code, const void *arg)
{
    return 0;
}

const struct unw_machine unw_aarch64 = {
    .arch = UNW_AARCH64,
    .elf_machine = EM_AARCH64,
    .sp = SP,
    .fp = X29,
    .pc_mask = ((uint64_t)1 << 48) - 1, /* above: pointer authentication */
    .initial = { .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_SAME) },
    .leaf = { .cfa = UNW_CFA_SP, .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_SAME) },
    .fp_chain = { .cfa = UNW_CFA_FP, .where = UNW_WHERE(UNW_AT_CFA, UNW_AT_CFA),
                  .cfa_off = 16, .fp_off = -16, .pc_off = -8 },
    .expression = arm_expression,
    .signal_frame = arm_signal_frame,
    .search = arm_search,
};
