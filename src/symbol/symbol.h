/* symbol.h - from a module and an address to functions, files and lines.
 *
 * A symboliser is opened for one module of a recording and answers for any of its addresses.
 * Answers are sets of inlined calls, outermost first.  Files are found under the target's own
 * root, by build id and debuglink, in debuginfod's cache, and checked against the build id;
 * nothing here starts another program.  Not thread-safe.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYMBOL_H
#define FATHOM_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sym_line { /* one function of an inline chain; strings live as long as the module */
    const char *name;         /* demangled, never NULL or empty */
    const char *linkage_name; /* as linked, or NULL when the same */
    const char *file;         /* NULL when unknown */
    uint32_t line;            /* of this position; 0 when unknown */
    uint32_t decl_line;
    uint64_t start, end;      /* of the enclosing symbol (outermost entry only; 0 if unknown) */
};

/* How names were found; reports tell the user what would give better ones. */
enum sym_source { SYM_NONE, SYM_EH_FRAME, SYM_DYNSYM, SYM_MINI, SYM_SYMTAB, SYM_DWARF, SYM_KALLSYMS, SYM_JIT };

struct sym_request {
    const char *path;          /* as the target saw it */
    const char *root;          /* "/proc/PID/root" or "" */
    const uint8_t *build_id;   /* NULL or size 0 when unknown */
    size_t build_id_size;
    int64_t pid;               /* for perf-PID.map and jitdump, 0 otherwise */
};

struct sym_module;
/* Never fails: a module that cannot be read answers with SYM_NONE and says why. */
struct sym_module *sym_module_open(const struct sym_request *r);
void sym_module_close(struct sym_module *m);
enum sym_source sym_module_source(const struct sym_module *m);
const char *sym_module_problem(const struct sym_module *m); /* "" or a sentence */
/* Debian package and debuginfod advice that would supply better names; "" when none needed. */
const char *sym_module_advice(struct sym_module *m);

/* Functions at ADDRESS (file virtual address; for return addresses the caller passes
 * address - 1).  Returns the number of entries in *CHAIN, 0 when nothing is known.  *CHAIN is
 * valid until the next call on M. */
size_t sym_module_find(struct sym_module *m, uint64_t address, const struct sym_line **chain);
/* Code bytes of [ADDRESS, ADDRESS+SIZE) from the file, or NULL. */
const unsigned char *sym_module_code(struct sym_module *m, uint64_t address, size_t size);

/* Demangle C++ and Rust; returns a malloc'd string, or NULL when NAME is not mangled. */
char *sym_demangle(const char *name);

#endif
