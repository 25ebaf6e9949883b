/* an_source.h - the cost of source lines and of the instructions below them.
 *
 * A listing covers a set of functions that share one file (one function, or all of a file).
 * A line's self cost is what was measured on it; its total adds what it called, each stack
 * counted once.  Instructions are those of the code kept in the profile; each belongs to the
 * innermost covered line of its inline chain.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ANALYZE_AN_SOURCE_H
#define FATHOM_ANALYZE_AN_SOURCE_H

#include <stdbool.h>

#include "base/mem.h"
#include "disasm/disasm.h"
#include "analyze/an_view.h"

struct an_source_line {
    uint32_t line;
    int64_t self, total;
    uint32_t first_inlined, n_inlined; /* into inlined[] */
    uint32_t first_instr, n_instr;     /* into instr[] */
};

struct an_inlined { /* cost of calls that the compiler put into a line */
    uint32_t line;
    uint32_t function;
    int64_t self;
};

struct an_instr {
    uint32_t line;
    uint32_t function, inner_line; /* innermost position of its inline chain */
    int64_t self;
    struct disasm_line d;
};

struct an_listing {
    const char *name, *file, *module; /* in the profile; "" when unknown */
    int64_t self, total;              /* of all its functions together */
    VEC(struct an_source_line) line;  /* by number; those with cost or code */
    VEC(struct an_inlined) inlined;   /* by line, dearest first */
    VEC(struct an_instr) instr;       /* by line, then address */
    const char *no_code;              /* "" or why there are no instructions */
    const char *no_source;            /* "" or why there is no text */
    const char *text;                 /* of the whole file, for lines without cost; or NULL */
    size_t text_size;
};

struct an_source_query {
    const struct profile *profile;
    struct an_view view;
};

/* Functions (ids) to list without being asked: the dearest by self cost until SHARE (0..1) of
 * the whole, one id for each name and file, at most MOST. */
size_t an_source_hottest(const struct an_source_query *q, double share, uint32_t *functions,
                         size_t most);
/* Functions called NAME: equal, else containing it.  One id for each name and file. */
size_t an_source_named(const struct an_source_query *q, const char *name, uint32_t *functions,
                       size_t most);
/* Functions whose name has the extended regular expression PATTERN in it. */
size_t an_source_like(const struct an_source_query *q, const char *pattern, uint32_t *functions,
                      size_t most);
/* Functions of the source file whose path is, or ends in, PATH. */
size_t an_source_of_file(const struct an_source_query *q, const char *path, uint32_t *functions,
                         size_t most);

/* Line NUMBER of the listing's file, *N bytes; NULL when not known. */
const char *an_listing_text(const struct an_listing *l, uint32_t number, size_t *n);

/* The listing of FUNCTION and all like-named ones of its file, or, with WHOLE_FILE, of every
 * function of that file. */
void an_listing_build(struct an_listing *l, const struct an_source_query *q, uint32_t function,
                      bool whole_file);
void an_listing_release(struct an_listing *l);
/* Sum of the metric over all samples. */
int64_t an_source_whole(const struct an_source_query *q);

#endif
