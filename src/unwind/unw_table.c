/* unw_table.c - look up addresses in a compiled table, and validate a table from a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unwind/unw_table.h"

#include "base/hash.h"
#include "unwind/unwind.h"

const struct unw_table unw_table_empty = { .load = NULL };

const struct unw_rule *unw_table_rule(const struct unw_table *t, uint64_t address)
{
    const struct unw_row *row;
    unsigned id;

    if (!t->body.header) {
        if (!t->load)
            return NULL;
        t->load((struct unw_table *)t); /* lazy loading does not change T logically */
    }
    row = unw_body_row(&t->body, address);
    id = row ? row->rule : 0;
    return id && id < t->body.header->n_rules ? &t->body.rules[id] : NULL;
}

enum { HASHED_FROM = 16 }; /* excludes magic, version and checksum */

uint64_t unw_table_checksum(const void *bytes, size_t size)
{
    return hash_fixed_bytes((const char *)bytes + HASHED_FROM, size - HASHED_FROM);
}

static bool pages_are_sound(const struct unw_body *b)
{
    const struct unw_header *h = b->header;

    for (uint32_t i = 0; i < h->n_pages; i++)
        if (b->pages[i] > b->pages[i + 1])
            return false;
    return b->pages[h->n_pages] == h->n_rows;
}

/* The walk relies only on the kinds in a rule being valid. */
static bool rules_are_sound(const struct unw_body *b)
{
    for (uint32_t i = 0; i < b->header->n_rules; i++) {
        if (b->rules[i].cfa >= UNW_CFA_KINDS)
            return false;
        for (unsigned c = 0; c < UNW_COLUMNS; c++)
            if (unw_rule_at(&b->rules[i], c) >= UNW_AT_KINDS)
                return false;
    }
    return true;
}

bool unw_table_check(struct unw_body *body, const void *bytes, size_t size, uint64_t key)
{
    const struct unw_header *h = bytes;
    struct unw_body b = { .header = h, .size = size };
    uint64_t rules, pages;

    if (size < sizeof *h || (uintptr_t)bytes % 8 || h->magic != UNW_TABLE_MAGIC ||
        h->version != UNW_TABLE_VERSION || h->key != key || h->arch > UNW_AARCH64 ||
        h->n_rules > UNW_MAX_RULE + 1u || h->n_pages > UNW_TABLE_SPAN >> 16)
        return false;
    rules = (uint64_t)h->n_rules * sizeof(struct unw_rule);
    pages = ((uint64_t)h->n_pages + 1) * sizeof(uint32_t);
    if (sizeof *h + rules + pages + (uint64_t)h->n_rows * sizeof(struct unw_row) != size ||
        h->checksum != unw_table_checksum(bytes, size))
        return false;
    b.rules = (const void *)((const char *)bytes + sizeof *h);
    b.pages = (const void *)((const char *)b.rules + rules);
    b.rows = (const void *)((const char *)b.pages + pages);
    if (!pages_are_sound(&b) || !rules_are_sound(&b))
        return false;
    *body = b;
    return true;
}
