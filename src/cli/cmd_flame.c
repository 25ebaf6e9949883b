/* cmd_flame.c - draw a flame graph as an interactive page or a picture.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "cli/command.h"
#include "cli/filters.h"
#include "cli/input.h"
#include "cli/output.h"
#include "text/notice.h"

struct flame_args {
    struct filters filters;
    const char *output, *title;
    bool inverted;
    double min_pct; /* negative: not given */
};

static const struct option flame_options[] = {
    { OPT_STR, 'o', "output", offsetof(struct flame_args, output), "FILE",
      "write X.html (interactive page) or X.svg (picture); - is standard output" },
    { OPT_FLAG, 'i', "inverted", offsetof(struct flame_args, inverted), NULL,
      "draw an inverted graph: functions first, then their callers" },
    { OPT_STR, 0, "title", offsetof(struct flame_args, title), "TEXT", "heading of the graph" },
    { OPT_DOUBLE, 0, "min", offsetof(struct flame_args, min_pct), "PCT",
      "picture: omit boxes below PCT percent; 0 draws everything" },
    { 0 },
};

static const struct opts_table flame_tables[] = {
    { flame_options, 0 },
    { filters_options, offsetof(struct flame_args, filters) },
    { 0 },
};

static const struct flame_args flame_defaults = { .min_pct = -1 };

static const char *ending(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && !strchr(dot, '/') ? dot : "";
}

static const struct format *choose_format(const char *output, struct err *e)
{
    if (strcmp(ending(output), ".svg") == 0)
        return format_find("svg");
    if (strcmp(output, "-") == 0 || strcmp(ending(output), ".html") == 0 ||
        strcmp(ending(output), ".htm") == 0)
        return format_find("html");
    err_set(e, ERR_USAGE, "\"%s\" does not end in .html or .svg", output);
    return NULL;
}

static int flame_run(void *args, const struct opts_rest *rest, struct err *e)
{
    struct flame_args *a = args;
    const char *output = a->output ? a->output : "flame.html";
    const struct format *f = choose_format(output, e);
    struct export_options opt = { .inverted = a->inverted, .all = a->min_pct == 0 };
    struct profile *p;
    struct an_view v = { 0 };
    int rc = -1;

    if (!f)
        return -1;
    if (a->min_pct >= 0 && f != format_find("svg"))
        return err_set(e, ERR_USAGE, "--min is for pictures: the page holds the whole profile");
    p = input_open(rest, e);
    if (p && filters_apply(&a->filters, p, AN_VIEW_KINDS, &v, e) == 0) {
        an_waits_draw(p);
        opt.title = a->title ? a->title : profile_meta(p, "command");
        opt.min_pct = a->min_pct > 0 ? a->min_pct : 0;
        rc = output_write(output, f, &v, &opt, e);
    }
    if (rc == 0 && (!a->output || rest->command) && strcmp(output, "-") != 0)
        notice("wrote %s", output);
    an_view_release(&v);
    profile_free(p);
    return rc < 0 ? -1 : EXIT_DONE;
}

const struct command cmd_flame = {
    .name = "flame",
    .summary = "draw a flame graph",
    .usage = "flame [options] [-o X.html|X.svg] [FILE...]\n"
             "flame [options] [-o X.html|X.svg] -- CMD...",
    .examples = "  fathom flame                       draw profile.fathom as flame.html\n"
                "  fathom flame -o x.svg -- ./prog    record ./prog and draw a picture\n"
                "  fathom flame -i -o x.svg FILE      draw an inverted graph",
    .options = flame_tables,
    .args_size = sizeof(struct flame_args),
    .defaults = &flame_defaults,
    .run = flame_run,
};
