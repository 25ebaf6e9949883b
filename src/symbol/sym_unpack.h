/* sym_unpack.h - compressed debug sections made readable, and kept so.
 *
 * Distributions ship debug files with zlib-compressed sections; to inflate those of the C
 * library takes longer than naming a whole recording.  The sections that names and lines need
 * are put into a small ELF file of their own, which is kept in the cache folder by build id,
 * packed with zstd (five times as fast to read, a third of the size).  zstd-compressed
 * sections, which libdw of elfutils 0.188 cannot read, are read the same way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_UNPACK_H
#define FATHOM_SYMBOL_SYM_UNPACK_H

#include "symbol/sym_image.h"

/* The debug sections of IM alone, unpacked; NULL when IM is not of a kind this can do (then
 * libdw may). */
struct sym_image *sym_unpack(struct sym_image *im);

#endif
