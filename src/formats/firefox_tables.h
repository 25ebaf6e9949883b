/* firefox_tables.h - the tables of one thread of the Firefox Profiler's processed profile: strings,
 * functions, frames and stacks.  Rows are added at their first use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_FIREFOX_TABLES_H
#define FATHOM_FORMATS_FIREFOX_TABLES_H

#include "analyze/an_symbols.h"
#include "base/trie.h"
#include "profile/intern.h"
#include "text/json.h"

struct firefox_frame { /* a function at a line and inline depth */
    uint32_t symbol, line, depth, module, idle;
    uint32_t padding_; /* 0: rows are compared as bytes */
    uint64_t address;
};

struct firefox_tables { /* indexes from 0 */
    const struct an_symbols *symbols;
    struct intern strings; /* index + 1 */
    struct sink nowhere;
    struct trie stacks; /* node - 1 is the index; keys are frame rows */
    VEC(struct firefox_frame) frame;
    struct index frames;
    VEC(uint32_t) func;     /* symbols */
    VEC(uint32_t) resource; /* modules */
    struct umap func_of, resource_of; /* -> index + 1 */
    struct umap node_of_stack;
};

void firefox_tables_init(struct firefox_tables *t, const struct an_symbols *symbols);
void firefox_tables_release(struct firefox_tables *t);
uint64_t firefox_string(struct firefox_tables *t, const char *s);
/* The index of STACK's row + 1; 0 for no stack.  WAITING: its innermost frame is the
 * wait kind. */
uint32_t firefox_stack(struct firefox_tables *t, uint32_t stack, bool waiting);
/* Write all tables as members of the thread; add no rows after this. */
void firefox_tables_put(struct firefox_tables *t, struct json *j);

/* Write the categories of frames as a member of meta. */
void firefox_categories_put(struct json *j);

/* Write a column of N values; PUT writes value i. */
#define firefox_column(j, name, n, put)  \
    do {                                 \
        json_key((j), name);             \
        json_array(j);                   \
        for (size_t i = 0; i < (n); i++) \
            put;                         \
        json_end_array(j);               \
    } while (0)

#endif
