/* pages.h - let go of the pages of a mapped input that were read, so that a large file does not
 * stay in memory beside what is made of it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_PAGES_H
#define FATHOM_FORMATS_PAGES_H

#include "formats/formats.h"

/* Everything before AT has been read.  *DROPPED starts from 0.  Bytes that were let go of may
 * still be read: they come from the file again. */
void pages_drop(const struct import_input *in, const void *at, size_t *dropped);

#endif
