/* collapsed.h - import collapsed stacks; for fmt_collapsed.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_COLLAPSED_H
#define FATHOM_FORMATS_COLLAPSED_H

#include "formats/formats.h"

int collapsed_recognize(const struct import_input *in);
int collapsed_import(const struct import_input *in, struct sink *out, struct err *e);

#endif
