/* doc_build.h - how a binary was built, read from its debug information and from its code.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DOCTOR_DOC_BUILD_H
#define FATHOM_DOCTOR_DOC_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/symbolizer.h"

/* From DW_AT_producer of the compilation units.  Strings are "" if unknown. */
struct doc_producer {
    char compiler[96];   /* of most units */
    char level[16];      /* -O level of most units, "-O2" */
    char march[64];      /* "-march=..." of most units */
    size_t units, with_level, optimized; /* all units; those that record a level; above -O0 */
    bool lto, pg, keeps_frame_pointer, sanitized;
};
/* DEBUG, the file of M or its debug file, holds the DWARF. */
void doc_producer_read(struct doc_producer *p, struct sym_module *m, struct sym_image *debug);

/* From the first instructions of the functions. */
struct doc_code {
    size_t functions;      /* inspected: functions with a call */
    size_t frame_pointers; /* of those, with a frame pointer */
    size_t spills;         /* of those, store the first argument on the stack at entry: -O0 */
    uint64_t bytes, covered; /* size of the code; the part of it that .eh_frame describes */
};
void doc_code_read(struct doc_code *c, struct sym_module *m);

#endif
