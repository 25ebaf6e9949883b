/* cmd_import.c - import other tools' profiles as a .fathom file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "formats/formats.h"
#include "text/notice.h"

struct import_args {
    const char *output;
    bool list;
};

static void print_list(void)
{
    struct out o = out_fd(STDOUT_FILENO);

    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->import)
            out_printf(&o, "%-12s %s\n", formats[i]->name, formats[i]->about);
    out_close(&o, NULL);
}

static int import_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct import_args *a = args;
    struct profile *p;
    int rc;

    if (a->list) {
        print_list();
        return EXIT_DONE;
    }
    if (!rest->n || rest->command)
        return err_set(e, ERR_USAGE, "no files: give the files to import");
    p = input_open(rest, e);
    if (!p)
        return -1;
    rc = output_save(a->output ? a->output : INPUT_DEFAULT, !a->output, p, e);
    if (rc == 0 && *p->damage)
        notice("fathom import: %s", p->damage);
    profile_free(p);
    return rc;
}

static const struct option import_options[] = {
    { OPT_STR, 'o', "output", offsetof(struct import_args, output), "FILE",
      "write to FILE (default: " INPUT_DEFAULT ")" },
    { OPT_FLAG, 0, "list", offsetof(struct import_args, list), NULL,
      "list the formats" },
    { 0 },
};

static const struct opts_table import_tables[] = { { import_options, 0 }, { 0 } };

const struct command cmd_import = {
    .name = "import",
    .summary = "import other tools' profiles as a .fathom file",
    .usage = "import [options] FILE...\nimport --list",
    .examples =
        "  fathom import perf.data -o p.fathom       a recording of perf, with names and lines\n"
        "  perf script | fathom import - -o p.fathom",
    .options = import_tables,
    .args_size = sizeof(struct import_args),
    .run = import_run,
};
