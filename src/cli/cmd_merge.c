/* cmd_merge.c - merge several profiles into one.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"

struct merge_args {
    const char *output;
};

static int merge_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct merge_args *a = args;
    struct profile *p;
    int rc;

    if (!rest->n || rest->command)
        return err_set(e, ERR_USAGE, "no files: give the profiles to merge");
    if (!a->output)
        return err_set(e, ERR_USAGE, "no output: give -o FILE");
    p = input_open(rest, e);
    if (!p)
        return -1;
    rc = output_save(a->output, false, p, e);
    profile_free(p);
    return rc;
}

static const struct option merge_options[] = {
    { OPT_STR, 'o', "output", offsetof(struct merge_args, output), "FILE",
      "write the merged profile to FILE; - is standard output" },
    { 0 },
};

static const struct opts_table merge_tables[] = { { merge_options, 0 }, { 0 } };

const struct command cmd_merge = {
    .name = "merge",
    .summary = "merge several profiles into one",
    .usage = "merge FILE... -o OUT",
    .examples = "  fathom merge rank*.fathom -o all.fathom   the ranks of one job\n"
                "  fathom merge old.fathom perf.data -o both.fathom",
    .options = merge_tables,
    .args_size = sizeof(struct merge_args),
    .run = merge_run,
};
