/* cmd_export.c - export a profile to the format of another tool.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "analyze/an_tags.h"
#include "cli/command.h"
#include "cli/filters.h"
#include "cli/input.h"
#include "cli/output.h"

struct export_args {
    struct filters filters;
    const char *format, *output, *title;
    bool list;
};

static void print_list(void)
{
    struct out o = out_fd(STDOUT_FILENO);

    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->write)
            out_printf(&o, "%-12s %-18s %s\n", formats[i]->name,
                       formats[i]->extension ? formats[i]->extension : "", formats[i]->about);
    out_close(&o, NULL);
}

/* Find the format by the extension of PATH.  The longest extension wins, because ".json" is the
 * end of others. */
static const struct format *by_extension(const char *path)
{
    const struct format *best = NULL;
    size_t n = strlen(path), longest = 0;

    for (size_t i = 0; formats[i]; i++) {
        const char *ext = formats[i]->write ? formats[i]->extension : NULL;
        size_t k = ext ? strlen(ext) : 0;

        if (k > longest && k <= n && strcmp(path + n - k, ext) == 0) {
            best = formats[i];
            longest = k;
        }
    }
    return best;
}

static const struct format *choose(const struct export_args *a, struct err *e)
{
    const struct format *f = a->format ? format_find(a->format)
                             : a->output ? by_extension(a->output)
                                         : NULL;

    if (f && f->write)
        return f;
    if (a->format && f)
        err_set(e, ERR_USAGE, "--format: fathom can read %s but not write it", a->format);
    else if (a->format)
        err_set(e, ERR_USAGE, "--format: unknown format \"%s\"", a->format);
    else
        err_set(e, ERR_USAGE, "no format: give --format or an output file with a known extension");
    err_hint(e, "run fathom export --list to see the formats");
    return NULL;
}

static int export_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct export_args *a = args;
    const struct format *f;
    struct profile *p;
    struct filters filters = a->filters;
    struct export_options options = { .title = a->title };
    struct an_view v = { 0 };
    int rc;

    if (a->list) {
        print_list();
        return EXIT_DONE;
    }
    f = choose(a, e);
    if (!f)
        return -1;
    p = input_open(rest, e);
    if (!p)
        return -1;
    filters.samples.is_trace = f->has_spans;
    rc = filters_apply(&filters, p, f->view, &v, e);
    if (rc == 0 && filters.metric && f->all_metrics)
        an_view_narrow(&v, p);
    if (rc == 0 && !f->has_tags)
        an_waits_draw(p);
    if (rc == 0)
        rc = output_write(a->output, f, &v, &options, e);
    an_view_release(&v);
    profile_free(p);
    return rc;
}

static const struct option export_options[] = {
    { OPT_STR, 'f', "format", offsetof(struct export_args, format), "NAME",
      "output format (default: by the extension of OUT)" },
    { OPT_STR, 'o', "output", offsetof(struct export_args, output), "OUT",
      "write to OUT (default: standard output)" },
    { OPT_STR, 0, "title", offsetof(struct export_args, title), "TEXT",
      "title to store in the file, if the format has one" },
    { OPT_FLAG, 0, "list", offsetof(struct export_args, list), NULL, "list the formats" },
    { 0 },
};

static const struct opts_table export_tables[] = {
    { export_options, 0 },
    { filters_options, offsetof(struct export_args, filters) },
    { 0 },
};

const struct command cmd_export = {
    .name = "export",
    .summary = "write a profile for another tool",
    .usage = "export [options] [FILE...] -o OUT\nexport --list",
    .examples =
        "  fathom export -o cpu.pb.gz                     for pprof, by extension\n"
        "  fathom export --format chrome -o t.json        for Perfetto or chrome://tracing\n"
        "  fathom export perf.data -o x.speedscope.json   from perf to speedscope",
    .options = export_tables,
    .args_size = sizeof(struct export_args),
    .run = export_run,
};
