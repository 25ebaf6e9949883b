/* an_annotate.c - see an_annotate.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_annotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { MOST_LISTINGS = 256, DECIMALS = 4 };

/* Find the ids of the functions to list, and whether to list their whole files. */
static size_t choose(const struct an_annotate_query *q, const struct an_source_query *source,
                     uint32_t *functions, bool *whole_file)
{
    size_t most = q->functions < MOST_LISTINGS ? (size_t)q->functions : MOST_LISTINGS;
    size_t n;

    *whole_file = false;
    if (!q->name)
        return an_source_hottest(source, q->share_pct / 100, functions, most);
    n = an_source_named(source, q->name, functions, MOST_LISTINGS);
    if (n)
        return n;
    n = an_source_of_file(source, q->name, functions, MOST_LISTINGS);
    *whole_file = n > 0;
    if (n)
        return 1; /* one listing covers every function of the file */
    return an_source_like(source, q->name, functions, most);
}

/* Convert a date with time zone to seconds since the epoch. */
static time_t when_s(struct tm *t)
{
    long zone = t->tm_gmtoff;

    return timegm(t) - zone;
}

/* Profiles of other tools, and those recorded with --no-source, contain no source text.  Read the
 * file of that name on this machine, unless it was modified after the recording. */
static void read_text(const struct profile *p, struct an_listing *l, struct map *disk)
{
    const char *date = profile_meta(p, "date");
    struct tm when = { 0 };
    struct stat st;

    if (l->text || l->file[0] != '/' || stat(l->file, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    if (*date && strptime(date, "%Y-%m-%dT%H:%M:%S%z", &when) &&
        st.st_mtime > when_s(&when)) {
        l->no_source = "the file changed after the recording";
        return;
    }
    if (map_open(disk, l->file, NULL) < 0)
        return;
    l->text = (const char *)disk->data;
    l->text_size = disk->size;
    l->no_source = "";
}

static int nothing_to_list(const struct an_annotate *a, const char *name, struct err *e)
{
    if (a->whole == 0)
        return err_set(e, ERR_MISSING, "the profile has no samples%s%s",
                       *a->metric_name ? " of " : "", a->metric_name);
    if (name)
        return err_set(e, ERR_MISSING, "no function or source file \"%s\" in the profile", name);
    return err_set(e, ERR_MISSING, "the profile has no named function with any cost");
}

int an_annotate_build(struct an_annotate *a, struct profile *p, const struct an_view *v,
                      const struct an_annotate_query *q, struct err *e)
{
    uint32_t functions[MOST_LISTINGS];
    size_t n;

    *a = (struct an_annotate){ .source = { p, *v }, .code = q->code };
    a->whole = an_source_total(&a->source);
    a->metric_name = an_view_name(v);
    a->unit = an_view_unit(v);
    n = choose(q, &a->source, functions, &a->whole_file);
    if (!n)
        return nothing_to_list(a, q->name, e);
    if (q->code && !p->code.n)
        an_code_read(p, functions, n);
    for (size_t i = 0; i < n; i++) {
        struct an_annotate_listing *l = vec_add(&a->v);

        *l = (struct an_annotate_listing){ 0 };
        an_listing_build(&l->listing, &a->source, functions[i], a->whole_file);
        read_text(p, &l->listing, &l->disk);
    }
    return 0;
}

void an_annotate_release(struct an_annotate *a)
{
    for (size_t i = 0; i < a->v.n; i++) {
        an_listing_release(&a->v.v[i].listing);
        map_close(&a->v.v[i].disk);
    }
    vec_release(&a->v);
}

/* --- JSON ------------------------------------------------------------------------------- */

static const struct result_column inlined_columns[] = {
    { NULL, "name" }, { NULL, "self" }, { NULL, "self_pct" },
};
static const struct result_column instr_columns[] = {
    { NULL, "address" }, { NULL, "text" }, { NULL, "self" }, { NULL, "self_pct" },
    { NULL, "target" },
};
static const struct result_column line_columns[] = {
    { NULL, "line" }, { NULL, "text" }, { NULL, "self" }, { NULL, "self_pct" },
    { NULL, "total" }, { NULL, "total_pct" }, { NULL, "inlined" }, { NULL, "instructions" },
};
static const struct result_column function_columns[] = {
    { NULL, "name" }, { NULL, "file" }, { NULL, "module" }, { NULL, "self" }, { NULL, "self_pct" },
    { NULL, "total" }, { NULL, "total_pct" }, { NULL, "lines" },
};

static void put_cost(const struct an_annotate *a, struct result_table *t, int64_t x)
{
    result_cell(t, result_int(x));
    result_cell(t, result_real(a->whole ? 100.0 * (double)x / (double)a->whole : 0, DECIMALS));
}

static struct result_value hex(struct result *r, uint64_t address)
{
    return result_text(result_printf(r, "0x%" PRIx64, address));
}

static struct result_value inlined_rows(const struct an_annotate *a, const struct an_listing *l,
                                        const struct an_source_line *line, struct result *r)
{
    const struct profile *p = a->source.profile;
    struct result_table *t;
    struct result_value v = result_rows(r, inlined_columns, ARRAY_LEN(inlined_columns), &t);

    for (uint32_t i = 0; i < line->n_inlined; i++) {
        const struct an_inlined *in = &l->inlined.v[line->first_inlined + i];

        result_cell(t, result_text(profile_string(p, p->function.v[in->function - 1].name)));
        put_cost(a, t, in->self);
    }
    return v;
}

static struct result_value instr_rows(const struct an_annotate *a, const struct an_listing *l,
                                      const struct an_source_line *line, struct result *r)
{
    struct result_table *t;
    struct result_value v = result_rows(r, instr_columns, ARRAY_LEN(instr_columns), &t);

    for (uint32_t i = 0; i < line->n_instr; i++) {
        const struct an_instr *in = &l->instr.v[line->first_instr + i];

        result_cell(t, hex(r, in->d.address));
        result_cell(t, result_text(in->d.text));
        put_cost(a, t, in->self);
        result_cell(t, in->d.target ? hex(r, in->d.target) : result_none());
    }
    return v;
}

static struct result_value line_rows(const struct an_annotate *a, const struct an_listing *l,
                                     struct result *r)
{
    struct result_table *t;
    struct result_value v = result_rows(r, line_columns, ARRAY_LEN(line_columns), &t);

    for (size_t i = 0; i < l->line.n; i++) {
        const struct an_source_line *line = &l->line.v[i];
        size_t n;
        const char *s = an_listing_text(l, line->line, &n);

        result_cell(t, result_uint(line->line));
        result_cell(t, s ? result_text(arena_strndup(&r->arena, s, n)) : result_null());
        put_cost(a, t, line->self);
        put_cost(a, t, line->total);
        result_cell(t, inlined_rows(a, l, line, r));
        result_cell(t, a->code ? instr_rows(a, l, line, r) : result_none());
    }
    return v;
}

void an_annotate_result(const struct an_annotate *a, struct result *r)
{
    struct result_table *t = result_table(r, "functions", function_columns,
                                          ARRAY_LEN(function_columns));

    r->main = t;
    r->pretty = true;
    result_fact(r, "metric", result_text(a->metric_name));
    result_fact(r, "unit", result_text(a->unit));
    result_fact(r, "total", result_int(a->whole));
    for (size_t i = 0; i < a->v.n; i++) {
        const struct an_listing *l = &a->v.v[i].listing;

        result_cell(t, result_text(a->whole_file ? "" : l->name));
        result_cell(t, result_text(l->file));
        result_cell(t, result_text(l->module));
        put_cost(a, t, l->self);
        put_cost(a, t, l->total);
        result_cell(t, line_rows(a, l, r));
    }
}
