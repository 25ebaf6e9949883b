/* disasm.h - machine code to text, one instruction at a time.  Bytes are untrusted; nothing is
 * allocated. disasm_x86.c does the work with Zydis; disasm_none.c serves builds without Zydis and
 * code of other machines.  SPDX-License-Identifier: Apache-2.0 */
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
    bool is_vector;  /* works on vector registers with more than one element */
    char text[108];
};

/* "" when code of MACHINE ("x86_64", "aarch64") can be disassembled by this build, else why not. */
const char *disasm_refusal(const char *machine);
/* Decode the instruction at BYTES (N left), which runs at ADDRESS.  False when N is 0. */
bool disasm_one(const unsigned char *bytes, size_t n, uint64_t address, struct disasm_line *line);

#endif
