/* an_source.h - the cost of source lines and their instructions.
 *
 * A listing covers one function, or all functions of a file.  The self cost of a line is that of
 * the samples taken on it; the total includes its callees, and counts each stack once.
 * Instructions come from the code stored in the profile; each belongs to the innermost covered
 * line of its inline chain.  SPDX-License-Identifier: Apache-2.0 */
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

struct an_inlined { /* cost of a function inlined into a line */
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
    int64_t self, total;              /* sum of all its functions */
    VEC(struct an_source_line) line;  /* by number; only lines with cost or code */
    VEC(struct an_inlined) inlined;   /* by line, most expensive first */
    VEC(struct an_instr) instr;       /* by line, then address */
    const char *no_code;              /* why there are no instructions, or "" */
    const char *no_source;            /* why there is no source text, or "" */
    const char *text;                 /* source text of the whole file, or NULL */
    size_t text_size;
    VEC(size_t) mark;                 /* where some of its lines begin */
};

struct an_source_query {
    const struct profile *profile;
    struct an_view view;
};

/* Find the most expensive functions by self cost, until they cover SHARE (0..1) of the whole: one
 * id for each name and file, at most MOST. */
size_t an_source_hottest(const struct an_source_query *q, double share, uint32_t *functions,
                         size_t most);
/* Find the functions named NAME, or if there are none, those whose name contains it.  One id for
 * each name and file. */
size_t an_source_named(const struct an_source_query *q, const char *name, uint32_t *functions,
                       size_t most);
/* Find the functions whose name matches the extended regular expression PATTERN. */
size_t an_source_like(const struct an_source_query *q, const char *pattern, uint32_t *functions,
                      size_t most);
/* Find the functions of the source file whose path is PATH or ends in it. */
size_t an_source_of_file(const struct an_source_query *q, const char *path, uint32_t *functions,
                         size_t most);

/* TEXT must stay valid as long as the listing. */
void an_listing_set_text(struct an_listing *l, const char *text, size_t size);
/* Return line NUMBER of the file, *N bytes, at most LIMIT_LINE; NULL when unknown. */
const char *an_listing_text(const struct an_listing *l, uint32_t number, size_t *n);

/* Build the listing of FUNCTION and all functions of the same name in its file, or with WHOLE_FILE,
 * of every function of that file. */
void an_listing_build(struct an_listing *l, const struct an_source_query *q, uint32_t function,
                      bool whole_file);
void an_listing_release(struct an_listing *l);
/* Sum of the metric over all samples. */
int64_t an_source_total(const struct an_source_query *q);

#endif
