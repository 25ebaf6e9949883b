/* commands.c - the table of commands, generated from commands.def.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "text/notice.h"
#include "text/remedy.h"

#define COMMAND(id) extern const struct command cmd_##id;
#include "cli/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(id) &cmd_##id,
#include "cli/commands.def"
#undef COMMAND
    NULL,
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void print_usage_lines(struct out *o, const char *usage)
{
    const char *before = "usage: fathom ";

    while (*usage) {
        size_t n = strcspn(usage, "\n");

        out_printf(o, "%s%.*s\n", before, (int)n, usage);
        before = "       fathom ";
        usage += n + (usage[n] == '\n');
    }
}

static void print_help(const struct command *c)
{
    struct out o = out_fd(STDOUT_FILENO);

    print_usage_lines(&o, c->usage);
    out_printf(&o, "\n%s\n", c->summary);
    if (c->options->options) {
        out_str(&o, "\noptions\n");
        opts_help(c->options, &o);
    }
    if (c->examples)
        out_printf(&o, "\nexamples\n%s\n", c->examples);
    out_close(&o, NULL);
}

static int wants_help(const struct command *c, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
            return 1;
        if (c->stop_at_operand && argv[i][0] != '-')
            return 0;
    }
    return 0;
}

static int complain(const struct command *c, const struct err *e)
{
    notice("fathom %s: %s", c->name, e->msg);
    if (e->hint[0])
        notice("  %s", e->hint);
    remedy_print(e->sys);
    if (e->code == ERR_COMMAND) /* as shells do */
        return e->sys == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
    if (e->code != ERR_USAGE)
        return EXIT_FAILED;
    notice("  run fathom %s -h for help", c->name);
    return EXIT_USAGE;
}

int command_main(const struct command *c, int argc, char **argv)
{
    struct opts_rest rest;
    struct err e = { 0 };
    void *args = mem_zalloc(c->args_size);
    int rc;

    if (wants_help(c, argc, argv)) {
        print_help(c);
        free(args);
        return EXIT_DONE;
    }
    if (c->defaults)
        memcpy(args, c->defaults, c->args_size);
    rc = opts_parse(argc, argv, c->options, args, c->stop_at_operand, &rest, &e);
    if (rc == 0)
        rc = c->run(args, &rest, &e);
    if (rc < 0)
        rc = complain(c, &e);
    free(args);
    return rc;
}
