/* cmd_version.c - print the version.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/command.h"

static int version_run(void *args, const struct opts_rest *rest, struct err *e)
{
    printf("fathom " FATHOM_VERSION "\n");
    return EXIT_DONE;
}

static const struct opts_table no_options[] = { { 0 } };

const struct command cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "version",
    .options = no_options,
    .run = version_run,
};
