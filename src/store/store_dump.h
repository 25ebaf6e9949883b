/* store_dump.h - print the records of a .fathom file as they are stored.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STORE_STORE_DUMP_H
#define FATHOM_STORE_STORE_DUMP_H

#include "store/store.h"
#include "text/out.h"

struct store_dump_options {
    bool json;        /* one object per line */
    bool chunks;      /* heads of chunks instead of records */
    const char *only; /* records of this type, NULL for all */
};
/* Return -1 with *E if the data is no .fathom file or ONLY is not a record type. */
int store_dump(const void *data, size_t size, const struct store_dump_options *o, struct out *out,
               struct err *e);

#endif
