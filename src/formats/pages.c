/* pages.c - see pages.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/pages.h"

#include <sys/mman.h>

enum { PAGE = 4096, DROP_BYTES = 8 << 20 };

void pages_drop(const struct import_input *in, const void *at, size_t *dropped)
{
    size_t done = (size_t)((const unsigned char *)at - in->data) & ~(size_t)(PAGE - 1);

    if (!in->mapped || done > in->size || done < *dropped + DROP_BYTES)
        return;
    madvise((void *)(in->data + *dropped), done - *dropped, MADV_DONTNEED);
    *dropped = done;
}
