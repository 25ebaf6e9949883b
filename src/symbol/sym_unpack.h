/* sym_unpack.h - decompress debug sections and cache the result.
 *
 * Distributions ship debug files with zlib-compressed sections; decompressing those of the C
 * library takes longer than symbolizing a whole recording.  The sections needed for names and lines
 * are written to a small ELF file, which is cached by build id and compressed with zstd (five times
 * as fast to read, a third of the size). zstd-compressed sections, which libdw of elfutils 0.188
 * cannot read, are read the same way.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_UNPACK_H
#define FATHOM_SYMBOL_SYM_UNPACK_H

#include "symbol/sym_image.h"

/* Only the debug sections of IM, decompressed; NULL if IM is of an unsupported kind (libdw may
 * support it). */
struct sym_image *sym_unpack(struct sym_image *im);

#endif
