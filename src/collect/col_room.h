/* col_room.h - executable bytes of a process that nobody uses: behind the code of a file, up to the
 * end of its last page.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_ROOM_H
#define FATHOM_COLLECT_COL_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "collect/col_image.h"

/* The address of N unused bytes, or of bytes that are CODE already; 0: there are none. */
uint64_t col_room_find(const struct col_image *m, const void *code, size_t n);

#endif
