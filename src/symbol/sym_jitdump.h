/* sym_jitdump.h - the records of a jitdump file.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_JITDUMP_H
#define FATHOM_SYMBOL_SYM_JITDUMP_H

#include <stdbool.h>

#include "base/mem.h"

struct sym_jitdump_line {
    uint64_t address;
    const char *file; /* in the dump */
    uint32_t line;
};

struct sym_jitdump_code {
    uint64_t start, end;
    const char *name;           /* in the dump, NUL-terminated */
    const unsigned char *bytes; /* in the dump, end - start of them */
    uint64_t index;             /* the compiler's number for it */
    size_t first_line, n_lines; /* sorted by address */
};

struct sym_jitdump {
    VEC(struct sym_jitdump_code) code; /* in time order */
    VEC(struct sym_jitdump_line) line;
};

/* Read DATA (untrusted), up to the first truncated or invalid record.  False when it is not a
 * jitdump.  Texts and bytes point into DATA. */
bool sym_jitdump_parse(struct sym_jitdump *d, const unsigned char *data, size_t size);
void sym_jitdump_release(struct sym_jitdump *d);

#endif
