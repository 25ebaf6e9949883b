/* input.h - what a reading command reads: files ("-" is standard input), a command to record
 * first, or profile.fathom.  Several files are merged.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_INPUT_H
#define FATHOM_CLI_INPUT_H

#include "profile/profile.h"
#include "text/opts.h"

#define INPUT_DEFAULT "profile.fathom"

/* The profile that REST names.  For profile_free(). */
struct profile *input_open(const struct opts_rest *rest, struct err *e);
/* Record COMMAND with the defaults into memory. */
struct profile *input_record(char **command, struct err *e);

#endif
