/* unw_table.h - the compiled table of one module: layout and look-up.
 *
 *     header | rules[n_rules] | pages[n_pages + 1] | rows[n_rows]
 *
 * Page P covers the 64 KB from low + P * 65536; its rows are rows[pages[P] .. pages[P + 1]),
 * sorted by low address, each in force until the next.  A rule in force across a page border
 * is repeated at the next page's start, so a look-up never leaves its page.  Bytes are as on
 * disk (docs/internals/unwind.md).  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_UNWIND_UNW_TABLE_H
#define FATHOM_UNWIND_UNW_TABLE_H

#include <stddef.h>

#include "unwind/unw_rule.h"

enum {
    UNW_TABLE_VERSION = 3,
    UNW_MAX_RULE = 0x7fff,
};
#define UNW_TABLE_MAGIC 0x574e5546u /* "FUNW" */
#define UNW_TABLE_SPAN ((uint64_t)1 << 34) /* of addresses in one module */

struct unw_header { /* 64 bytes */
    uint32_t magic, version;
    uint64_t checksum; /* hash_fixed_bytes of all that follows */
    uint64_t key;      /* hash_fixed_bytes of the build id */
    uint32_t arch, n_rules, n_pages, n_rows;
    uint64_t low;      /* multiple of 65536 */
    uint64_t start, end; /* first address covered; first one after */
};

struct unw_row {
    uint16_t low, rule; /* rule 0: none */
};

struct unw_body { /* one allocation or mapping: the bytes of a cache file */
    const struct unw_header *header;
    const struct unw_rule *rules;
    const uint32_t *pages;
    const struct unw_row *rows;
    size_t size;
    bool mapped;
};

struct unw_table {
    struct unw_body body; /* header NULL: not loaded yet */
    /* Fills body at the first look-up.  NULL where look-ups happen in signal handlers; there a
     * table that is not loaded has no rules. */
    void (*load)(struct unw_table *t);
    /* Copy the N bytes of code at ADDRESS (file virtual); false when they cannot be read.  NULL:
     * never. */
    bool (*code)(const struct unw_table *t, uint64_t address, void *to, size_t n);
};

/* The table of a file that cannot be read: it has no rules. */
extern const struct unw_table unw_table_empty;

/* Point BODY into SIZE bytes of a cache file.  Returns false, with BODY untouched, unless all is
 * valid.  KEY is the hash of the build id. */
bool unw_table_check(struct unw_body *body, const void *bytes, size_t size, uint64_t key);
uint64_t unw_table_checksum(const void *bytes, size_t size);

/* The row in force at ADDRESS (file virtual), or NULL. */
static inline const struct unw_row *unw_body_row(const struct unw_body *b, uint64_t address)
{
    uint64_t at = address - b->header->low;
    uint16_t low = (uint16_t)at;
    const struct unw_row *row;
    uint32_t n;

    if (at >> 16 >= b->header->n_pages)
        return NULL;
    row = b->rows + b->pages[at >> 16];
    n = b->pages[(at >> 16) + 1] - b->pages[at >> 16];
    if (n == 0 || row->low > low)
        return NULL;
    while (n > 1) { /* the result is in row[0 .. n) */
        uint32_t half = n / 2;

        row = row[half].low <= low ? row + half : row;
        n -= half;
    }
    return row;
}

/* The rule in force at ADDRESS (file virtual) of T; NULL when there is none. */
const struct unw_rule *unw_table_rule(const struct unw_table *t, uint64_t address);

/* Whether R says anything. */
static inline bool unw_rule_is_set(const struct unw_rule *r)
{
    return r->cfa != UNW_CFA_NONE || unw_rule_at(r, UNW_PC) == UNW_AT_ROOT;
}

#endif
