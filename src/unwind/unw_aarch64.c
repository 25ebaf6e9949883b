/* unw_aarch64.c - unwinding specific to aarch64.  SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>

#include "unwind/unw_machine.h"

enum { X29 = 29, SP = 31 };

/* Offsets from sp in the kernel's signal frame: 128 bytes of siginfo, then a ucontext whose
 * machine context starts at 176 with fault_address, x0..x30, sp, pc. */
enum { CONTEXT = 128 + 176 + 8, SAVED_X29 = CONTEXT + X29 * 8, SAVED_SP = CONTEXT + SP * 8,
       SAVED_PC = SAVED_SP + 8 };

static bool arm_expression(struct cursor c, struct unw_rule *r)
{
    return false;
}

/* The CFI of the vDSO describes x29 and x30, but neither the interrupted pc nor sp. */
static void arm_signal_frame(struct unw_rule *r)
{
    *r = (struct unw_rule){ .cfa = UNW_CFA_SP_DEREF, .flags = UNW_RULE_SIGNAL,
                            .cfa_off = SAVED_SP,
                            .off = { [UNW_FP] = SAVED_X29 / 8, [UNW_PC] = SAVED_PC / 8 },
                            .where = UNW_WHERE(UNW_AT_SP, UNW_AT_SP, UNW_AT_SAME) };
}

static bool arm_follows_call(const unsigned char *end, size_t n, int64_t *target)
{
    uint32_t word;

    *target = 0;
    if (n < sizeof word)
        return false;
    memcpy(&word, end - sizeof word, sizeof word);
    if (word >> 26 == 0x25) { /* bl: 26 bits, in words, from the instruction itself */
        *target = ((int64_t)((uint64_t)word << 38) >> 38) * 4 - 4;
        return true;
    }
    return (word & 0xfffffc1f) == 0xd63f0000 || /* blr */
           (word & 0xfefff800) == 0xd63f0800;   /* blraa and its kin */
}

const struct unw_machine unw_aarch64 = {
    .arch = UNW_AARCH64,
    .elf_machine = EM_AARCH64,
    .sp = SP,
    .fp = X29,
    .pc_mask = ((uint64_t)1 << 48) - 1, /* above: pointer authentication */
    .bx = UNW_NO_REGISTER,
    .r10 = UNW_NO_REGISTER,
    .initial = { .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_SAME, UNW_AT_SAME) },
    .leaf = { .cfa = UNW_CFA_SP, .where = UNW_WHERE(UNW_AT_SAME, UNW_AT_SAME, UNW_AT_SAME) },
    .fp_chain = { .cfa = UNW_CFA_FP, .cfa_off = 16, .off = { [UNW_FP] = -2, [UNW_PC] = -1 },
                  .where = UNW_WHERE(UNW_AT_CFA, UNW_AT_CFA, UNW_AT_SAME) },
    .expression = arm_expression,
    .signal_frame = arm_signal_frame,
    .follows_call = arm_follows_call,
};
