/* cmd_annotate.c - source lines and instructions with their cost.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "cli/annotate.h"
#include "cli/command.h"
#include "cli/filters.h"
#include "cli/input.h"
#include "formats/formats.h"

enum { MOST_LISTINGS = 256 };

struct annotate_args {
    struct filters filters;
    uint64_t functions;
    double share_pct;
    bool no_code, all_code, json;
};

static const struct option annotate_options[] = {
    { OPT_U64, 'n', "functions", offsetof(struct annotate_args, functions), "N",
      "list at most N functions when no name is given" },
    { OPT_DOUBLE, 0, "share", offsetof(struct annotate_args, share_pct), "PCT",
      "list functions until PCT percent of the cost" },
    { OPT_FLAG, 0, "no-code", offsetof(struct annotate_args, no_code), NULL, "source lines only" },
    { OPT_FLAG, 0, "all-code", offsetof(struct annotate_args, all_code), NULL,
      "every instruction of a hot line" },
    { OPT_FLAG, 'j', "json", offsetof(struct annotate_args, json), NULL, "print JSON" },
    { 0 },
};

/* Ids of the functions to list, and whether they stand for their whole files. */
static size_t choose(const struct annotate_args *a, const struct an_source_query *q,
                     const char *name, uint32_t *functions, bool *whole_file)
{
    size_t most = a->functions < MOST_LISTINGS ? (size_t)a->functions : MOST_LISTINGS;
    size_t n;

    *whole_file = false;
    if (!name)
        return an_source_hottest(q, a->share_pct / 100, functions, most);
    n = an_source_named(q, name, functions, MOST_LISTINGS);
    if (n)
        return n;
    n = an_source_of_file(q, name, functions, MOST_LISTINGS);
    *whole_file = n > 0;
    if (n)
        return 1; /* one listing covers every function of the file */
    return an_source_like(q, name, functions, most);
}

/* The moment that a date with its zone stands for. */
static time_t when_s(struct tm *t)
{
    long zone = t->tm_gmtoff;

    return timegm(t) - zone;
}

/* A profile of another tool, or one recorded with --no-source, holds no text: the file of that
 * name on this machine has to do, unless it was written after the recording. */
static void read_text(const struct profile *p, struct an_listing *l, struct map *disk)
{
    const char *date = profile_meta(p, "date");
    struct tm when = { 0 };
    struct stat st;

    if (l->text || l->file[0] != '/' || stat(l->file, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    if (*date && strptime(date, "%Y-%m-%dT%H:%M:%S%z", &when) &&
        st.st_mtime > when_s(&when)) {
        l->no_source = "the file was changed after the recording";
        return;
    }
    if (map_open(disk, l->file, NULL) < 0)
        return;
    l->text = (const char *)disk->data;
    l->text_size = disk->size;
    l->no_source = "";
}

static void print_all(const struct annotate_args *a, struct annotate_view *v,
                      const struct an_source_query *q, const uint32_t *functions, size_t n)
{
    struct out o = out_fd(STDOUT_FILENO);
    struct json j = { .out = &o, .pretty = true };
    struct map disk = { 0 };

    if (a->json) {
        json_object(&j);
        json_put_str(&j, "metric", v->metric_name);
        json_put_str(&j, "unit", v->unit);
        json_put_i64(&j, "total", v->whole);
        json_key(&j, "functions");
        json_array(&j);
    }
    for (size_t i = 0; i < n; i++) {
        struct an_listing l;

        an_listing_build(&l, q, functions[i], v->whole_file);
        read_text(q->profile, &l, &disk);
        if (a->json) {
            annotate_json(v, &l, &j);
        } else {
            if (i)
                out_char(&o, '\n');
            annotate_text(v, &l, &o, STDOUT_FILENO);
        }
        an_listing_release(&l);
        map_close(&disk);
    }
    if (a->json) {
        json_end_array(&j);
        json_end_object(&j);
    }
    out_close(&o, NULL);
}

static int annotate(const struct annotate_args *a, struct profile *p, const char *name,
                    struct err *e)
{
    uint32_t functions[MOST_LISTINGS];
    struct an_source_query q = { .profile = p };
    struct annotate_view v = { .profile = p, .min_pct = a->filters.min_pct,
                               .code = !a->no_code, .all_code = a->all_code };
    size_t n;

    if (filters_apply(&a->filters, p, AN_VIEW_PLAIN, &q.view, e) < 0)
        return -1;
    q.view.keep_notes = false; /* a note has no line: a wait belongs to the one that waits */
    v.whole = an_source_whole(&q);
    v.metric_name = an_view_name(&q.view);
    v.unit = an_view_unit(&q.view);
    n = choose(a, &q, name, functions, &v.whole_file);
    if (n && v.code && !p->code.n)
        annotate_read_code(p, functions, n);
    if (n)
        print_all(a, &v, &q, functions, n);
    else if (v.whole == 0)
        err_set(e, ERR_MISSING, "the profile has no samples%s%s", *v.metric_name ? " of " : "",
                v.metric_name);
    else if (name)
        err_set(e, ERR_MISSING, "no function or source file \"%s\" in the profile", name);
    else
        err_set(e, ERR_MISSING, "the profile has no named functions with cost");
    an_view_release(&q.view);
    return n ? EXIT_DONE : -1;
}

static bool is_file(const char *path)
{
    struct stat st;

    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISDIR(st.st_mode));
}

/* The number of operands that name profiles.  The last is a name unless it is a profile: one
 * operand that is a file is taken for one, so that a broken profile is called broken. */
static int count_profiles(const struct opts_rest *rest)
{
    const char *last = rest->n ? rest->v[rest->n - 1] : "";

    if (!rest->n || (rest->n == 1 ? is_file(last) : format_knows(last)))
        return rest->command ? 0 : rest->n;
    return rest->n - 1;
}

static int annotate_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct annotate_args *a = args;
    struct opts_rest input = *rest;
    const char *name;
    struct profile *p;
    int rc;

    input.n = count_profiles(rest);
    if (rest->n - input.n > 1)
        return err_set(e, ERR_USAGE, "unexpected argument \"%s\"", rest->v[0]);
    name = input.n < rest->n ? rest->v[rest->n - 1] : NULL;
    p = input_open(&input, e);
    rc = p ? annotate(a, p, name, e) : -1;
    profile_free(p);
    return rc;
}

static const struct opts_table tables[] = {
    { annotate_options, 0 },
    { filters_options, offsetof(struct annotate_args, filters) },
    { 0 },
};
static const struct annotate_args defaults = {
    .functions = 10, .share_pct = 80, .filters.min_pct = 1
};

const struct command cmd_annotate = {
    .name = "annotate",
    .summary = "show what each source line and instruction costs",
    .usage = "annotate [options] [FILE...] [FUNCTION | SOURCE FILE]\n"
             "annotate [options] [FUNCTION] -- CMD...",
    .examples = "  fathom annotate                       the hottest functions of profile.fathom\n"
                "  fathom annotate p.fathom parse_line   one function\n"
                "  fathom annotate p.fathom src/lex.c    one source file\n"
                "  fathom annotate -- ./prog             record first",
    .options = tables,
    .args_size = sizeof(struct annotate_args),
    .defaults = &defaults,
    .run = annotate_run,
};
