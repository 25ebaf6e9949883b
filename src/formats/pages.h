/* pages.h - drop the pages of a mapped input after reading, so that a large file does not stay in
 * memory next to the profile.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_PAGES_H
#define FATHOM_FORMATS_PAGES_H

#include "formats/formats.h"

/* Drop everything before AT. *DROPPED starts at 0.  Dropped bytes may still be read: the kernel
 * loads them from the file again. */
void pages_drop(const struct import_input *in, const void *at, size_t *dropped);

#endif
