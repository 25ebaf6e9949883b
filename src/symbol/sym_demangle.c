/* sym_demangle.c - demangle C++ and Rust names with libiberty.
 *
 * A short mangled name can describe gigabytes of text, because it may refer back to its own
 * parts.  libiberty bounds the depth of its recursion but not its output, so the callback that
 * collects the output jumps out when it is full.  SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "symbol/symbol.h"

enum { NAME_MAX_BYTES = 8192, OUT_MAX_BYTES = 16384 };

typedef int demangler(const char *name, int options, demangle_callbackref add, void *arg);

struct demangling {
    struct buf out;
    jmp_buf full;
    bool overflow;
};

/* The Rust demangler owns a heap buffer while it passes on a punycode identifier, and nothing
 * otherwise.  Jumping out at punctuation only therefore leaks nothing. */
static bool is_identifier(const char *text)
{
    return isalnum((unsigned char)*text) || *text == '_' || (unsigned char)*text >= 0x80;
}

static void add_rust(const char *text, size_t n, void *arg)
{
    struct demangling *d = arg;

    d->overflow |= n > OUT_MAX_BYTES - d->out.n;
    if (!d->overflow)
        buf_add(&d->out, text, n);
    else if (n && !is_identifier(text))
        longjmp(d->full, 1);
}

static void add_cxx(const char *text, size_t n, void *arg)
{
    struct demangling *d = arg;

    if (n > OUT_MAX_BYTES - d->out.n)
        longjmp(d->full, 1);
    buf_add(&d->out, text, n);
}

static bool run(struct demangling *d, demangler *f, demangle_callbackref add, const char *name)
{
    if (setjmp(d->full))
        return false;
    return f(name, DMGL_PARAMS | DMGL_ANSI, add, d) && !d->overflow && d->out.n;
}

static char *demangle(demangler *f, demangle_callbackref add, const char *name)
{
    struct demangling d = { .overflow = false };

    if (run(&d, f, add, name))
        return buf_text(&d.out);
    buf_release(&d.out);
    return NULL;
}

/* A binder in a Rust v0 name is `G` and a base-62 count of lifetimes, after `F` or `D`.  Where
 * libiberty prints nothing, it counts to that number, up to 2^64, without a limit.  Find a
 * count of three digits or more; crate hashes and identifiers can look like one. */
static const char *find_large_binder(const char *s)
{
    while ((s = strchr(s, 'G'))) {
        size_t digits = 0;

        while (isalnum((unsigned char)s[1 + digits]))
            digits++;
        if ((s[-1] == 'F' || s[-1] == 'D') && digits > 2 && s[1 + digits] == '_')
            return s;
        s++;
    }
    return NULL;
}

/* Demangle NAME with MASK in place of the G of each large binder. */
static char *demangle_masked(const char *name, char mask)
{
    char *copy = mem_strndup(name, strlen(name)), *plain;

    for (const char *at = copy; (at = find_large_binder(at));)
        copy[at - copy] = mask;
    plain = demangle(rust_demangle_callback, add_rust, copy);
    free(copy);
    return plain;
}

/* Masking breaks a real binder, does not show in a crate hash, and changes an identifier.  The
 * outputs of two masks differ in the letters to restore. */
static char *demangle_ambiguous(const char *name)
{
    char *a = demangle_masked(name, 'H'), *b = a ? demangle_masked(name, 'J') : NULL;
    bool same = b && strlen(a) == strlen(b);

    for (size_t i = 0; same && a[i]; i++)
        if (a[i] == 'H' && b[i] == 'J')
            a[i] = 'G';
        else
            same = a[i] == b[i];
    free(b);
    if (same)
        return a;
    free(a);
    return NULL;
}

char *sym_demangle(const char *name)
{
    char *plain = NULL;

    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
        strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
        return NULL;
    if (name[1] == 'R')
        return find_large_binder(name) ? demangle_ambiguous(name)
                                       : demangle(rust_demangle_callback, add_rust, name);
    if (strstr(name, "17h")) /* legacy Rust names end in a hash */
        plain = demangle(rust_demangle_callback, add_rust, name);
    return plain ? plain : demangle(cplus_demangle_v3_callback, add_cxx, name);
}
