/* input.h - the input of commands that read profiles: files ("-" is standard input), a command to
 * record first, or by default profile.fathom.  Several files are merged.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_INPUT_H
#define FATHOM_CLI_INPUT_H

#include "profile/profile.h"
#include "text/opts.h"

#define INPUT_DEFAULT "profile.fathom"

/* Open the profile named by REST.  The caller frees it with profile_free(). */
struct profile *input_open(const struct opts_rest *rest, struct err *e);
/* Record COMMAND into memory, with default options. */
struct profile *input_record(char **command, struct err *e);

#endif
