/* disasm.h - disassemble machine code, one instruction at a time, to text or to what the
 * instruction does with the stack.  Bytes are untrusted; nothing is
 * allocated. disasm_x86.c uses Zydis; disasm_none.c is for builds without Zydis.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DISASM_DISASM_H
#define FATHOM_DISASM_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum disasm_kind {
    DISASM_OTHER,
    DISASM_JUMP,    /* unconditional */
    DISASM_BRANCH,  /* conditional */
    DISASM_CALL,
    DISASM_RETURN,
    DISASM_BAD,     /* not an instruction: one byte is skipped */
};

struct disasm_line {
    uint64_t address;
    uint64_t target; /* of a direct jump, branch or call; 0 otherwise */
    uint8_t size;
    uint8_t kind;    /* enum disasm_kind */
    bool sets_frame; /* writes the frame pointer from the stack pointer */
    bool is_vector;  /* uses vector registers with more than one element */
    char text[108];
};

/* What an instruction does to registers and stack, as far as stack heights depend on it. */
enum disasm_op {
    DISASM_PLAIN, /* nothing but WRITES and STORES */
    DISASM_PUSH,  /* REG, or another value of VALUE bytes */
    DISASM_POP,   /* to REG, or elsewhere, VALUE bytes */
    DISASM_SET,   /* REG = BASE + VALUE; VALUE if there is no BASE */
    DISASM_ADD,   /* REG += BASE */
    DISASM_ALIGN, /* REG &= VALUE, a negative number */
    DISASM_LOAD,  /* REG = *(BASE + VALUE) */
    DISASM_TABLE, /* REG = entry of the table at BASE + VALUE, of SCALE bytes: 4, signed, or 8;
                     or at INDEX + VALUE, if the compiler swapped them */
    DISASM_EXTEND, /* REG = low half of BASE, extended by its sign */
    DISASM_LIMIT, /* something is compared with VALUE, or REG masked with it */
    DISASM_LEAVE,
    DISASM_SYSCALL, /* WRITES too */
    DISASM_GO,    /* KIND is a jump, branch, call or return; TARGET, or REG, or a DISASM_TABLE */
    DISASM_STOP,  /* does not continue */
};

enum { DISASM_NO_REGISTER = 16 }; /* registers have the numbers of the instruction set, rax = 0 */

struct disasm_effect {
    uint8_t size, op;
    uint8_t kind;      /* of DISASM_GO: enum disasm_kind */
    uint8_t reg, base, index; /* or DISASM_NO_REGISTER */
    uint8_t scale;     /* of a table, or 0 */
    uint8_t stored;    /* register that is stored whole in memory, or DISASM_NO_REGISTER */
    uint8_t store_base, store_size; /* memory is written at STORE_BASE + STORE_AT; size 0: not */
    uint16_t writes;   /* registers written otherwise, a bit each */
    int32_t store_at;
    int64_t value;     /* of DISASM_GO: the bytes a return pops */
    uint64_t target;   /* of a direct jump, branch or call; 0 otherwise */
};

/* "" if this build can disassemble code of MACHINE ("x86_64", "aarch64"), else the reason. */
const char *disasm_refusal(const char *machine);
/* Decode the instruction at BYTES (N left), which runs at ADDRESS.  False when N is 0. */
bool disasm_one(const unsigned char *bytes, size_t n, uint64_t address, struct disasm_line *line);
/* The effect of the instruction at BYTES; false when it is none. */
bool disasm_effect(const unsigned char *bytes, size_t n, uint64_t address,
                   struct disasm_effect *effect);

#endif
