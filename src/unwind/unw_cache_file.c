/* unw_cache_file.c - compiled tables on disk, one file per build id and file size (a stripped
 * file has the id of the full one, but not its .debug_frame).  A file that is not exactly
 * what we would write is ignored.  SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cache.h"
#include "base/hash.h"
#include "base/map.h"
#include "unwind/unw_table.h"

enum { HASHED_FROM = 16 }; /* magic, version and the checksum itself are not in it */

static uint64_t checksum(const void *bytes, size_t size)
{
    return hash_bytes((const char *)bytes + HASHED_FROM, size - HASHED_FROM);
}

static bool pages_are_sound(const struct unw_body *b)
{
    const struct unw_header *h = b->header;

    for (uint32_t i = 0; i < h->n_pages; i++)
        if (b->pages[i] > b->pages[i + 1])
            return false;
    return b->pages[h->n_pages] == h->n_rows;
}

/* Rules are trusted by the walk only as far as their kinds go. */
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
        h->checksum != checksum(bytes, size))
        return false;
    b.rules = (const void *)((const char *)bytes + sizeof *h);
    b.pages = (const void *)((const char *)b.rules + rules);
    b.rows = (const void *)((const char *)b.pages + pages);
    if (!pages_are_sound(&b) || !rules_are_sound(&b))
        return false;
    *body = b;
    return true;
}

void unw_body_release(struct unw_body *body)
{
    if (body->mapped)
        munmap((void *)body->header, body->size);
    else
        free((void *)body->header);
    *body = (struct unw_body){ 0 };
}

bool unw_cache_file_path(char *path, size_t cap, const uint8_t *build_id, size_t n,
                         uint64_t file_size)
{
    size_t at;

    cache_dir(path, cap, "unwind");
    at = strlen(path);
    if (at == 0 || n == 0 || n > 64 || cap - at < n * 2 + 24)
        return false;
    path[at++] = '/';
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(path + at, cap - at, "%02x", build_id[i]);
    snprintf(path + at, cap - at, "-%llx", (unsigned long long)file_size);
    return true;
}

bool unw_cache_file_load(struct unw_body *body, const char *path, uint64_t key)
{
    struct map m = { 0 };

    if (map_open(&m, path, NULL) < 0)
        return false;
    if (!m.mapped || !unw_table_check(body, m.data, m.size, key)) {
        map_close(&m);
        return false;
    }
    body->mapped = true; /* the mapping is BODY's now */
    return true;
}

void unw_cache_file_store(const struct unw_body *body, const char *path, uint64_t key)
{
    struct unw_header *h = (struct unw_header *)body->header; /* malloc'd by the compiler */

    h->key = key;
    h->checksum = checksum(h, body->size);
    cache_store(path, h, body->size);
}
