/* store_damage.c - describe damage as a sentence.  SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "store/store.h"

static void append(char *text, size_t size, size_t *at, const char *what, uint64_t n)
{
    int put;

    if (*at >= size)
        return;
    put = snprintf(text + *at, size - *at, "%s", *at ? "; " : "");
    *at += put > 0 ? (size_t)put : 0;
    put = *at < size ? snprintf(text + *at, size - *at, what, n) : 0;
    *at += put > 0 ? (size_t)put : 0;
}

void store_damage_text(const struct store_damage *d, char *text, size_t size)
{
    size_t at = 0;

    text[0] = 0;
    if (d->missing_bytes)
        append(text, size, &at,
               "the file is truncated: its last chunk of %" PRIu64 " bytes is incomplete",
               d->missing_bytes);
    else if (d->unfinished)
        append(text, size, &at, "the file is unfinished or truncated between two chunks", 0);
    if (d->bad_chunks)
        append(text, size, &at, "%" PRIu64 " damaged chunks were skipped", d->bad_chunks);
    if (d->lost_samples)
        append(text, size, &at, "%" PRIu64 " samples are lost", d->lost_samples);
    if (d->lost_references)
        append(text, size, &at, "%" PRIu64 " references point to lost records", d->lost_references);
}
