/* input_record.c - a reading command that was given a command line records it first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

struct profile *input_record(char **command, struct err *e)
{
    err_set(e, ERR_MISSING, "cannot record %s: this build has no recorder", command[0]);
    return NULL;
}
