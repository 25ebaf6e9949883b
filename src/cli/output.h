/* output.h - where a command writes a profile to: a file, or "-" for standard output.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_OUTPUT_H
#define FATHOM_CLI_OUTPUT_H

#include "formats/formats.h"

/* Write P as F to PATH; NULL is standard output.  A file that could not be finished is removed. */
int output_write(const char *path, const struct format *f, const struct profile *p,
                 const struct export_options *opt, struct err *e);

#endif
