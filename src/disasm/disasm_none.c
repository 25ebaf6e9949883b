/* disasm_none.c - a build without Zydis.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "disasm/disasm.h"

const char *disasm_refusal(const char *machine)
{
    return "this fathom was built without Zydis (package libzydis-dev)";
}

bool disasm_one(const unsigned char *bytes, size_t n, uint64_t address, struct disasm_line *line)
{
    if (n == 0)
        return false;
    *line = (struct disasm_line){ .address = address, .size = 1, .kind = DISASM_BAD };
    snprintf(line->text, sizeof line->text, ".byte 0x%02x", bytes[0]);
    return true;
}

bool disasm_effect(const unsigned char *bytes, size_t n, uint64_t address,
                   struct disasm_effect *effect)
{
    return false;
}
