/* command.h - the descriptor of a command.  To add one, write cmd_x.c with
 * `const struct command cmd_x`, one line in commands.def, and docs/cli/x.md; a test compares them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_COMMAND_H
#define FATHOM_CLI_COMMAND_H

#include "base/err.h"
#include "text/opts.h"

enum exit_status { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_THRESHOLD = 3,
                   EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 }; /* of a command to measure */

struct command {
    const char *name;
    const char *summary;              /* one line, lower case, no full stop */
    const char *usage;                /* "report [options] FILE | -- CMD..." ; \n between lines */
    const char *examples;             /* lines for help, each "command   what it does" */
    const struct opts_table *options; /* terminated by { 0 } */
    size_t args_size;                 /* size of the struct that options fill */
    const void *defaults;             /* initial value of the struct; NULL: all zero */
    int stop_at_operand;              /* the first operand starts a command line */
    /* Return an exit status, or -1 with *E set. */
    int (*run)(void *args, const struct opts_rest *rest, struct err *e);
};

extern const struct command *const commands[]; /* NULL-terminated, in help order */
const struct command *command_find(const char *name);
int command_main(const struct command *c, int argc, char **argv);

#endif
