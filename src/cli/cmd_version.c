/* cmd_version.c - print the version.  SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/command.h"

static int version_run(void *args, const struct opts_rest *rest, struct err *e)
{
    struct out o = out_fd(STDOUT_FILENO);

    out_str(&o, "fathom " FATHOM_VERSION "\n");
    return out_close(&o, e) < 0 ? -1 : EXIT_DONE;
}

static const struct opts_table no_options[] = { { 0 } };

const struct command cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "version",
    .options = no_options,
    .run = version_run,
};
