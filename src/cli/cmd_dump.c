/* cmd_dump.c - print every record of a .fathom file.  SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/map.h"
#include "cli/command.h"
#include "store/store_dump.h"
#include "text/json.h"

/* Print a record with the name of a file before its dump, if there are several files. */
static void put_name(const struct store_dump_options *opt, const char *path, struct out *o)
{
    struct json j = { .out = o };
    struct buf text = { 0 };

    if (!opt->json) {
        buf_printf_clean(&text, "file path=%s", path);
        out_add(o, text.data, text.n);
        out_char(o, '\n');
        buf_release(&text);
        return;
    }
    json_object(&j);
    json_put_str(&j, "record", "file");
    json_put_str(&j, "path", path);
    json_end_object(&j);
    out_char(o, '\n');
}

static int dump_file(const struct store_dump_options *opt, const char *path, struct out *o,
                     struct err *e)
{
    struct map file = { 0 };
    int rc;

    if (map_open(&file, path, e) < 0)
        return -1;
    rc = store_dump(file.data, file.size, opt, o, e);
    if (rc == 0 && map_was_truncated(&file))
        rc = err_set(e, ERR_FORMAT, "the file was truncated while it was read");
    if (rc < 0)
        err_wrap(e, "%s", path);
    map_close(&file);
    return rc;
}

static int dump_run(void *args, const struct opts_rest *rest, struct err *e)
{
    struct out o = out_fd(STDOUT_FILENO);
    int rc = 0;

    if (!rest->n || rest->command)
        return err_set(e, ERR_USAGE, "no file: give a .fathom file to dump");
    for (int i = 0; i < rest->n && rc == 0; i++) {
        if (rest->n > 1)
            put_name(args, rest->v[i], &o);
        rc = dump_file(args, rest->v[i], &o, e);
    }
    if (out_close(&o, e) < 0)
        rc = -1;
    return rc;
}

static const struct option dump_options[] = {
    { OPT_FLAG, 'j', "json", offsetof(struct store_dump_options, json), NULL,
      "print one JSON object per line" },
    { OPT_FLAG, 0, "chunks", offsetof(struct store_dump_options, chunks), NULL,
      "print chunk headers instead of records" },
    { OPT_STR, 0, "only", offsetof(struct store_dump_options, only), "KIND",
      "print one kind of record: string, frame, stack, sample ..." },
    { 0 },
};
static const struct opts_table dump_tables[] = { { dump_options, 0 }, { 0 } };

const struct command cmd_dump = {
    .name = "dump",
    .summary = "print every record of a .fathom file",
    .usage = "dump [options] FILE...",
    .examples = "  fathom dump --only sample profile.fathom   one sample per line\n"
                "  fathom dump --chunks profile.fathom        type and size of each chunk",
    .options = dump_tables,
    .args_size = sizeof(struct store_dump_options),
    .run = dump_run,
};
