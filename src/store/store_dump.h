/* store_dump.h - every record of a .fathom file in words, as they are in the file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_DUMP_H
#define FATHOM_STORE_STORE_DUMP_H

#include "store/store.h"
#include "text/out.h"

struct store_dump_options {
    bool json;        /* one object a line */
    bool chunks;      /* heads of chunks instead of records */
    const char *only; /* records of this kind, NULL for all */
};
/* -1 with *E when this is no such file, or ONLY names no kind of record. */
int store_dump(const void *data, size_t size, const struct store_dump_options *o, struct out *out,
               struct err *e);

#endif
