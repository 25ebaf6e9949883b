/* cfi_stored.c - compiled tables on disk, one file per build id and file size (a stripped file has
 * the build id of the full one, but not its .debug_frame).  A file that is not exactly what we
 * would write is ignored.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cache.h"
#include "base/map.h"
#include "cfi/cfi_table.h"

static const char FOLDER[] = "unwind";

void cfi_body_release(struct unw_body *body)
{
    map_close(&(struct map){ (const void *)body->header, body->size, body->mapped, 0 });
    *body = (struct unw_body){ 0 };
}

bool cfi_stored_name(char *name, size_t cap, const uint8_t *build_id, size_t n,
                     uint64_t file_size)
{
    size_t at = 0;

    if (n == 0 || n > 64 || cap < n * 2 + 24)
        return false;
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(name + at, cap - at, "%02x", build_id[i]);
    snprintf(name + at, cap - at, "-%llx", (unsigned long long)file_size);
    return true;
}

bool cfi_stored_load(struct unw_body *body, const char *name, uint64_t key)
{
    struct map m = { 0 };

    if (!cache_load(&m, FOLDER, name))
        return false;
    if (!m.mapped || !unw_table_check(body, m.data, m.size, key)) {
        map_close(&m);
        return false;
    }
    body->mapped = true; /* the mapping is BODY's now */
    return true;
}

void cfi_stored_save(const struct unw_body *body, const char *name, uint64_t key)
{
    struct unw_header *h = (struct unw_header *)body->header; /* malloc'd by the compiler */

    h->key = key;
    h->checksum = unw_table_checksum(h, body->size);
    cache_store(FOLDER, name, h, body->size, NULL);
}
