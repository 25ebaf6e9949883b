/* sym_table.h - named address ranges, sorted once and searched often.  Ranges may overlap:
 * the one that starts last wins, then the one with the higher rank.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_TABLE_H
#define FATHOM_SYMBOL_SYM_TABLE_H

#include "base/mem.h"

struct sym_entry {
    uint64_t start, end;
    uint32_t name;   /* defined by the owner: an offset or an index */
    uint16_t owner;  /* defined by the owner: which text table */
    uint16_t rank;   /* higher is preferred among equal starts */
};

struct sym_table {
    VEC(struct sym_entry) entry;
    uint64_t *reach; /* greatest end among entries [0 .. i] */
};

static inline void sym_table_add(struct sym_table *t, struct sym_entry e)
{
    vec_push(&t->entry, e);
}
/* Sort.  Entries with end <= start that are not inside another one extend to the next start or to
 * LIMIT(start), whichever is lower; without LIMIT they are empty. */
void sym_table_finish(struct sym_table *t, uint64_t (*limit)(void *arg, uint64_t start), void *arg);
/* Instead of finish, for code that is overwritten: where entries overlap, the last added wins.
 * Entries are split for this, so their name should be the index of the owner. */
void sym_table_finish_layers(struct sym_table *t);
/* Index of the entry that contains ADDRESS, or -1. */
long sym_table_find(const struct sym_table *t, uint64_t address);
void sym_table_release(struct sym_table *t);

#endif
