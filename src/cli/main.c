/* main.c - find the command and run it.  SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "text/nearest.h"
#include "text/notice.h"
#include "text/remedy.h"

static void print_overview(int fd)
{
    struct out o = out_fd(fd);

    out_str(&o, "fathom - why is this program slow, and did a change help?\n\n"
                "usage: fathom COMMAND [options]\n\n");
    for (size_t i = 0; commands[i]; i++)
        out_printf(&o, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    out_str(&o, "\nRun fathom COMMAND -h for the options of a command, or man fathom-COMMAND.\n");
    out_close(&o, NULL);
}

static void complain(const char *name)
{
    struct nearest n = nearest_to(name, strlen(name));

    for (size_t i = 0; commands[i]; i++)
        nearest_offer(&n, commands[i]->name);
    if (n.best)
        notice("fathom: unknown command \"%s\"; did you mean %s?", name, n.best);
    else
        notice("fathom: unknown command \"%s\"; run fathom -h to list the commands", name);
}

static int help_with(char *name)
{
    const struct command *c = command_find(name);

    if (c)
        return command_main(c, 2, (char *[]){ name, (char[]){ "-h" }, NULL });
    complain(name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    const struct command *c;

    remedy_survive_file_limit();
    if (argc < 2) {
        print_overview(STDERR_FILENO);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "help") == 0) {
        if (argc > 2)
            return help_with(argv[2]);
        print_overview(STDOUT_FILENO);
        return EXIT_DONE;
    }
    c = command_find(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
    if (!c) {
        complain(argv[1]);
        return EXIT_USAGE;
    }
    return command_main(c, argc - 1, argv + 1);
}
