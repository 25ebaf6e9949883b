/* disasm.h - disassemble machine code, one instruction at a time.  Bytes are untrusted; nothing is
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

/* "" if this build can disassemble code of MACHINE ("x86_64", "aarch64"), else the reason. */
const char *disasm_refusal(const char *machine);
/* Decode the instruction at BYTES (N left), which runs at ADDRESS.  False when N is 0. */
bool disasm_one(const unsigned char *bytes, size_t n, uint64_t address, struct disasm_line *line);

#endif
