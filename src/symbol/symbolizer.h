/* symbolizer.h - the interface of symbolizers, and the parts of a module that they may use.
 *
 * To add one: write sym_x.c with `const struct symbolizer symbolizer_x`, and put SYMBOLIZER(x) in
 * symbolizers.def.  They are tried in that order; the first that finds a name wins.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYMBOLIZER_H
#define FATHOM_SYMBOL_SYMBOLIZER_H

#include "base/hash.h"
#include "base/mem.h"
#include "symbol/sym_image.h"
#include "symbol/symbol.h"

enum { SYMBOLIZERS_MAX = 16, SYM_CHAIN_MAX = 256 };

struct sym_module {
    struct arena arena; /* strings of results */
    struct sym_request req;
    const char *base; /* last part of the path */
    char problem[400];
    char advice[400];
    bool looked, looked_debug, advised;
    bool ignored; /* a file with its names belongs to somebody else; see problem */
    struct sym_image *file;  /* the module itself, if it exists and its build id matches */
    struct sym_image *debug; /* its separate debug file, or NULL */
    VEC(struct sym_line) chain;
    bool opened[SYMBOLIZERS_MAX];
    void *state[SYMBOLIZERS_MAX]; /* NULL: no data for this module */
};

struct symbolizer {
    const char *name, *about;
    enum sym_source source; /* best source of its names */
    /* Called once, at the first lookup.  Returns state for the calls below, or NULL. */
    void *(*open)(struct sym_module *m);
    void (*close)(void *state);
    /* Add the functions at ADDRESS to m->chain and return true, or false. */
    bool (*find)(struct sym_module *m, void *state, uint64_t address);
    /* Optional: code bytes, and the best source of this module when it varies. */
    const unsigned char *(*code)(void *state, uint64_t address, size_t size);
    enum sym_source (*best)(void *state);
};
extern const struct symbolizer *const symbolizers[]; /* ends with NULL */

/* The module's own file (NULL: see m->problem) and its debug file (often NULL). */
struct sym_image *sym_module_file(struct sym_module *m);
struct sym_image *sym_module_debug(struct sym_module *m);
/* State of another symbolizer of the same module, or NULL. */
void *sym_module_state(struct sym_module *m, const struct symbolizer *s);
/* Record a problem, unless one is recorded. */
void sym_module_set_problem(struct sym_module *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool sym_module_is_file(const struct sym_module *m); /* not the kernel, JIT code or nothing */
/* NAME demangled, stored in the module; *LINKAGE is NAME if that differs, else NULL. */
const char *sym_module_name(struct sym_module *m, const char *name, const char **linkage);

/* Names by a key of the caller's, which demangles each once: many addresses are in a function. */
struct sym_name {
    const char *plain, *linkage; /* as of sym_module_name() */
};
struct sym_names {
    struct umap at; /* key -> number of the name */
    VEC(struct sym_name) v;
};
const struct sym_name *sym_names_find(const struct sym_names *n, uint64_t key); /* or NULL */
const struct sym_name *sym_names_add(struct sym_names *n, struct sym_module *m, uint64_t key,
                                     const char *name);
void sym_names_release(struct sym_names *n);
/* Sorted starts of functions from .eh_frame_hdr; NULL and 0 when there is none. */
const uint64_t *sym_ehframe_starts(struct sym_module *m, size_t *n);
/* Bytes of code from LOW to HIGH that .eh_frame describes, with the padding behind functions. */
uint64_t sym_ehframe_covers(struct sym_module *m, uint64_t low, uint64_t high);
/* Append an entry to the chain, for the caller to fill. */
struct sym_line *sym_module_add(struct sym_module *m);

#define SYMBOLIZER(id) extern const struct symbolizer symbolizer_##id;
#include "symbol/symbolizers.def"
#undef SYMBOLIZER

#endif
