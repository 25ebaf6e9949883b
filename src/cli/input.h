/* input.h - what a reading command reads: a file, "-" for standard input, a command to record
 * first, or profile.fathom.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_INPUT_H
#define FATHOM_CLI_INPUT_H

#include "profile/profile.h"
#include "text/opts.h"

#define INPUT_DEFAULT "profile.fathom"

/* The profile that REST names; at most one operand.  For profile_free(). */
struct profile *input_open(const struct opts_rest *rest, struct err *e);
/* The same with the file's name given by the caller; NULL means the default. */
struct profile *input_open_path(const char *path, struct err *e);
/* Record COMMAND with the defaults into memory. */
struct profile *input_record(char **command, struct err *e);

#endif
