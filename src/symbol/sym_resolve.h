/* sym_resolve.h - for producers: name every frame of an intern.
 *
 *     struct sym_resolve s;
 *     sym_resolve_init(&s, &intern);
 *     sym_resolve_where(&s, module, "/proc/PID/root", pid, ns_pid);   // if known
 *     sym_resolve_run(&s);             // defines functions, resolves frames
 *     sym_resolve_release(&s);
 *
 * Frames that already have a name and frames outside any module are not touched.  An address that
 * no symbolizer can name becomes a function with the name of the module.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_RESOLVE_H
#define FATHOM_SYMBOL_SYM_RESOLVE_H

#include "profile/intern.h"
#include "symbol/symbol.h"

struct sym_resolve_module {
    struct sym_module *open; /* NULL until one of its frames is looked up */
    const char *root;        /* in the resolver's arena; NULL is "" */
    const struct named_user *user;
    int64_t pid, ns_pid;
    int file;
    const struct sym_variant *variant;
    size_t n_variants;
    bool quick;
    uint64_t frames;    /* addresses looked up */
    uint64_t unnamed;   /* of those, without any name */
    uint64_t by_start;  /* of those, named only by the start of the function */
};

struct sym_resolve {
    struct intern *in;
    struct arena arena;
    VEC(struct sym_resolve_module) module; /* by module id - 1 */
    uint32_t frames_done;
    bool no_linkage; /* omit linkage names, a third of the names of a C++ program */
    bool is_past;    /* the processes have ended, as those of a file have */
    struct umap text; /* address of a module's text -> string id */
};

void sym_resolve_init(struct sym_resolve *s, struct intern *in);
void sym_resolve_release(struct sym_resolve *s);
/* Set root and pids of MODULE's process; the last call for a module wins. */
void sym_resolve_where(struct sym_resolve *s, uint32_t module, const char *root, int64_t pid,
                       int64_t ns_pid);
/* Open what MODULE names as USER, who must exist until the resolver is released. */
void sym_resolve_user(struct sym_resolve *s, uint32_t module, const struct named_user *user);
/* Use FILE for MODULE; it must stay open until the resolver is released. */
void sym_resolve_file(struct sym_resolve *s, uint32_t module, int file);
/* Name the N functions at V in MODULE after their resolvers; V must stay until the release. */
void sym_resolve_variants(struct sym_resolve *s, uint32_t module, const struct sym_variant *v,
                          size_t n);
/* Use OPEN, already opened, for MODULE; the resolver closes it. */
void sym_resolve_opened(struct sym_resolve *s, uint32_t module, struct sym_module *open);
/* Do not decompress the debug information of MODULE: function names suffice. */
void sym_resolve_quick(struct sym_resolve *s, uint32_t module);
/* Resolve every frame defined since the last call. */
void sym_resolve_run(struct sym_resolve *s);
/* Write ROW of the line table with the source functions at its address. */
void sym_resolve_line(struct sym_resolve *s, const struct line_row *row);
/* Write the source of each module's names, problems and advice; once, after the last run.  Advice
 * is written only for modules with unnamed addresses. */
void sym_resolve_modules(struct sym_resolve *s);
const struct sym_resolve_module *sym_resolve_facts(const struct sym_resolve *s, uint32_t module);

#endif
