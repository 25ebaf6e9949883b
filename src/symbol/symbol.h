/* symbol.h - from a module and an address to functions, files and lines.
 *
 * A symbolizer is opened for one module of a recording and resolves any of its addresses.  A result
 * is a chain of inlined calls, outermost first.  Files are found under the target's own root, by
 * build id and debuglink, in debuginfod's cache, and checked against the build id.  What a file of
 * the target names is opened with the permissions of the target's user (base/named.h); no other
 * program is started.  Opening does no work: files are read at the first lookup, and DWARF per
 * compilation unit.  Not thread-safe.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYMBOL_H
#define FATHOM_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/named.h"
#include "profile/sink.h"

/* Sources of names, worst to best; reports advise the user on how to get better ones. */
enum sym_source {
    SYM_NONE,
    SYM_EH_FRAME,
    SYM_DYNSYM,
    SYM_MINI,
    SYM_SYMTAB,
    SYM_DWARF,
    SYM_KALLSYMS,
    SYM_JIT,
};
const char *sym_source_name(enum sym_source s); /* "symtab", "dwarf" ... */

struct sym_line { /* one function of an inline chain; strings live as long as the module */
    const char *name;         /* demangled, never NULL or empty */
    const char *linkage_name; /* as linked, or NULL when the same */
    const char *file;         /* of this position, NULL when unknown */
    uint32_t line;            /* of this position; 0 when unknown */
    uint32_t decl_line;
    const char *decl_file;    /* where the function is declared, NULL when unknown */
    uint64_t start, end;      /* of the enclosing symbol (outermost entry only; 0 if unknown) */
    enum sym_source source;   /* how this name was found */
};

/* A function at START that the resolver (STT_GNU_IFUNC) at RESOLVER returned in a process. */
struct sym_variant {
    uint64_t start, resolver;
};

struct sym_request {
    const char *path;          /* as the target saw it; "[kernel]", "[vdso]", "[jit]" ... */
    enum module_kind kind;     /* decides which symbolizers are asked */
    const char *root;          /* "/proc/PID/root" or "" (NULL is "") */
    const struct named_user *user; /* opens what the module names; NULL: ourselves */
    const uint8_t *build_id;   /* NULL or size 0 when unknown */
    size_t build_id_size;
    int64_t pid;               /* for perf-PID.map and jitdump, 0 otherwise */
    int64_t ns_pid;            /* the same in the target's own pid namespace; 0: look it up */
    int file;                  /* the file itself, open and owned by the caller; or 0 */
    const struct sym_variant *variant; /* seen in its processes; owned by the caller */
    size_t n_variants;
    bool is_past;              /* process PID has ended; its pid may belong to another one */
    bool quick;                /* do not decompress debug information */
};

struct sym_module;
/* Never fails: a module that cannot be read returns SYM_NONE and a problem.  R and its strings are
 * copied. */
struct sym_module *sym_module_open(const struct sym_request *r);
/* The same for a copy of the bytes of an ELF file. */
struct sym_module *sym_module_open_memory(const void *image, size_t size, const char *path);
void sym_module_close(struct sym_module *m);
/* The best kind of names this module has. */
enum sym_source sym_module_source(struct sym_module *m);
/* "" or a sentence; complete after the first lookup or sym_module_source(). */
const char *sym_module_problem(struct sym_module *m);
/* Advice on packages and debuginfod for better names; "" if none is needed. */
const char *sym_module_advice(struct sym_module *m);

/* Functions at ADDRESS (file virtual address; for return addresses the caller passes
 * address - 1).  Returns the number of entries in *CHAIN, 0 when nothing is found.  *CHAIN is
 * valid until the next call on M. */
size_t sym_module_find(struct sym_module *m, uint64_t address, const struct sym_line **chain);
/* Code bytes of [ADDRESS, ADDRESS+SIZE) from the file, or NULL. */
const unsigned char *sym_module_code(struct sym_module *m, uint64_t address, size_t size);

/* Demangle C++ and Rust; returns a malloc'd string, or NULL when NAME is not mangled. */
char *sym_demangle(const char *name);

#endif
