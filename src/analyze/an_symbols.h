/* an_symbols.h - what the frames of a profile are called, for every view.
 *
 * A symbol is a function as it appears in a stack: inlined or not, native, kernel, Python ...
 * Each frame stands for a chain of symbols, outermost first: one, or more where calls were
 * inlined.  A frame without a name becomes a symbol of its module and address.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_SYMBOLS_H
#define FATHOM_ANALYZE_AN_SYMBOLS_H

#include <stdbool.h>

#include "profile/profile.h"

struct an_symbol {
    const char *name;  /* never empty; in the profile's or this table's arena */
    uint32_t function; /* id in the profile; 0 when unresolved */
    uint32_t module;   /* id, 0 when unknown */
    uint8_t kind;      /* enum frame_kind */
    bool inlined;
};

struct an_symbols {
    const struct profile *profile;
    struct arena arena;
    VEC(struct an_symbol) symbol; /* index 0 is the root: "all" */
    VEC(uint32_t) chain;
    VEC(struct profile_chain) frame; /* frame id - 1: chain[first .. first + n), n >= 1 */
};

void an_symbols_init(struct an_symbols *s, const struct profile *p);
void an_symbols_release(struct an_symbols *s);

/* The last part of a module's path: "libc.so.6"; "" when unknown. */
const char *an_module_name(const struct profile *p, uint32_t module);

#endif
