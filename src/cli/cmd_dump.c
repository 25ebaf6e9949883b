/* cmd_dump.c - every record of a .fathom file in words.  SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/map.h"
#include "cli/command.h"
#include "store/store_dump.h"

static int dump_run(void *args, const struct opts_rest *rest, struct err *e)
{
    struct map file = { 0 };
    struct out o = out_fd(STDOUT_FILENO);
    int rc;

    if (rest->n != 1 || rest->command)
        return err_set(e, ERR_USAGE, "one file is needed");
    if (map_open(&file, rest->v[0], e) < 0)
        return -1;
    rc = store_dump(file.data, file.size, args, &o, e);
    if (rc < 0)
        err_wrap(e, "%s", rest->v[0]);
    map_close(&file);
    if (out_close(&o, e) < 0)
        rc = -1;
    return rc;
}

static const struct option dump_options[] = {
    { OPT_FLAG, 'j', "json", offsetof(struct store_dump_options, json), NULL,
      "one JSON object a line" },
    { OPT_FLAG, 0, "chunks", offsetof(struct store_dump_options, chunks), NULL,
      "the heads of chunks instead of their records" },
    { OPT_STR, 0, "only", offsetof(struct store_dump_options, only), "KIND",
      "records of one kind: string, frame, stack, sample ..." },
    { 0 },
};
static const struct opts_table dump_tables[] = { { dump_options, 0 }, { 0 } };

const struct command cmd_dump = {
    .name = "dump",
    .summary = "print every record of a .fathom file",
    .usage = "dump [options] FILE",
    .examples = "  fathom dump --only sample profile.fathom   every sample, one a line\n"
                "  fathom dump --chunks profile.fathom        where the bytes went",
    .options = dump_tables,
    .args_size = sizeof(struct store_dump_options),
    .run = dump_run,
};
