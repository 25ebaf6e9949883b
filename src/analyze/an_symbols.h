/* an_symbols.h - the names of the frames of a profile.
 *
 * A symbol is a function as it appears in a stack: inlined or not, native, kernel, Python ...
 * Each frame has a chain of symbols, outermost first: one, or several where calls were inlined.
 * The symbol of a frame without a name is its module and address.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_SYMBOLS_H
#define FATHOM_ANALYZE_AN_SYMBOLS_H

#include <stdbool.h>

#include "profile/profile.h"

struct an_symbol {
    const char *name;  /* never empty; in the arena of the profile or of this table */
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

/* Return the last part of the path of a module, "libc.so.6"; "" when unknown. */
const char *an_module_name(const struct profile *p, uint32_t module);

#endif
