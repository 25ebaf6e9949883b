/* an_annotate.c - see an_annotate.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_annotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/named.h"

enum { MOST_LISTINGS = 256, DECIMALS = 4, MOST_TEXT = 64 << 20 };

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
    int fd = -1;

    if (!l->text && l->file[0] == '/')
        fd = named_open("", l->file, NULL, 0, NULL);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && *date && strptime(date, "%Y-%m-%dT%H:%M:%S%z", &when) &&
        st.st_mtime > when_s(&when)) {
        l->no_source = "the file changed after the recording";
    } else if (map_copy(disk, fd, MOST_TEXT, NULL) == 0) {
        an_listing_set_text(l, (const char *)disk->data, disk->size);
        l->no_source = "";
    }
    close(fd);
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
    struct an_shown_query shown = { .min_pct = q->min_pct, .code = q->code,
                                    .all_code = q->all_code };
    uint32_t functions[MOST_LISTINGS];
    size_t n;

    *a = (struct an_annotate){ .source = { p, *v }, .code = q->code };
    shown.whole = a->whole = an_source_total(&a->source);
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
        an_shown_select(&l->shown, &l->listing, &shown);
    }
    return 0;
}

void an_annotate_release(struct an_annotate *a)
{
    for (size_t i = 0; i < a->v.n; i++) {
        an_shown_release(&a->v.v[i].shown);
        an_listing_release(&a->v.v[i].listing);
        map_close(&a->v.v[i].disk);
    }
    vec_release(&a->v);
}

/* --- JSON and CSV ----------------------------------------------------------------------- */

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
    { NULL, "hidden_instructions" }, { NULL, "hidden_self" },
};
static const struct result_column function_columns[] = {
    { NULL, "name" }, { NULL, "file" }, { NULL, "module" }, { NULL, "self" }, { NULL, "self_pct" },
    { NULL, "total" }, { NULL, "total_pct" }, { NULL, "lines" },
};
static const struct result_column row_columns[] = { /* CSV */
    { NULL, "row" }, { NULL, "function" }, { NULL, "file" }, { NULL, "module" }, { NULL, "line" },
    { NULL, "address" }, { NULL, "text" }, { NULL, "self" }, { NULL, "self_pct" },
    { NULL, "total" }, { NULL, "total_pct" },
};

struct writer {
    const struct an_annotate *a;
    const struct an_annotate_listing *l;
    struct result *r;
    struct result_table *rows; /* of CSV */
};

static void put_cost(const struct writer *w, struct result_table *t, int64_t x)
{
    result_cell(t, result_int(x));
    result_cell(t, result_real(an_shown_pct(x, w->a->whole), DECIMALS));
}

static struct result_value hex(struct result *r, uint64_t address)
{
    return result_text(result_printf(r, "0x%" PRIx64, address));
}

static const char *listing_name(const struct writer *w)
{
    return w->a->whole_file ? "" : w->l->listing.name;
}

/* Add a row to CSV, up to its self cost.  The caller adds the total. */
static void put_row(const struct writer *w, const char *row, uint32_t line,
                    struct result_value address, struct result_value text, int64_t self)
{
    result_cell(w->rows, result_text(row));
    result_cell(w->rows, result_text(listing_name(w)));
    result_cell(w->rows, result_text(w->l->listing.file));
    result_cell(w->rows, result_text(w->l->listing.module));
    result_cell(w->rows, result_uint(line));
    result_cell(w->rows, address);
    result_cell(w->rows, text);
    put_cost(w, w->rows, self);
}

static void put_no_total(const struct writer *w)
{
    result_cell(w->rows, result_none());
    result_cell(w->rows, result_none());
}

static struct result_value inlined_rows(const struct writer *w, const struct an_shown_line *line)
{
    const struct profile *p = w->a->source.profile;
    struct result_table *t;
    struct result_value v = result_rows(w->r, inlined_columns, ARRAY_LEN(inlined_columns), &t);

    for (uint32_t i = 0; i < line->n_inlined; i++) {
        const struct an_inlined *in = w->l->shown.inlined.v[line->first_inlined + i];
        struct result_value name =
            result_text(profile_string(p, p->function.v[in->function - 1].name));

        result_cell(t, name);
        put_cost(w, t, in->self);
        put_row(w, "inlined", line->number, result_none(), name, in->self);
        put_no_total(w);
    }
    return v;
}

static struct result_value instr_rows(const struct writer *w, const struct an_shown_line *line)
{
    struct result_table *t;
    struct result_value v = result_rows(w->r, instr_columns, ARRAY_LEN(instr_columns), &t);

    for (uint32_t i = 0; i < line->n_instr; i++) {
        const struct an_instr *in = w->l->shown.instr.v[line->first_instr + i];

        result_cell(t, hex(w->r, in->d.address));
        result_cell(t, result_text(in->d.text));
        put_cost(w, t, in->self);
        result_cell(t, in->d.target ? hex(w->r, in->d.target) : result_none());
        put_row(w, "instruction", line->number, hex(w->r, in->d.address), result_text(in->d.text),
                in->self);
        put_no_total(w);
    }
    if (line->n_hidden) {
        put_row(w, "hidden", line->number, result_none(),
                result_text(result_printf(w->r, "%u instructions", line->n_hidden)),
                line->hidden);
        put_no_total(w);
    }
    return v;
}

static void put_line(const struct writer *w, struct result_table *t,
                     const struct an_shown_line *line)
{
    int64_t self = line->cost ? line->cost->self : 0, total = line->cost ? line->cost->total : 0;
    size_t n;
    const char *s = an_listing_text(&w->l->listing, line->number, &n);
    struct result_value text =
        s ? result_text(arena_strndup(&w->r->arena, s, n)) : result_null();

    put_row(w, "line", line->number, result_none(), text, self);
    put_cost(w, w->rows, total);
    result_cell(t, result_uint(line->number));
    result_cell(t, text);
    put_cost(w, t, self);
    put_cost(w, t, total);
    result_cell(t, inlined_rows(w, line));
    result_cell(t, w->a->code ? instr_rows(w, line) : result_none());
    result_cell(t, line->n_hidden ? result_uint(line->n_hidden) : result_none());
    result_cell(t, line->n_hidden ? result_int(line->hidden) : result_none());
}

static struct result_value line_rows(const struct writer *w)
{
    struct result_table *t;
    struct result_value v = result_rows(w->r, line_columns, ARRAY_LEN(line_columns), &t);

    for (size_t i = 0; i < w->l->shown.line.n; i++)
        put_line(w, t, &w->l->shown.line.v[i]);
    return v;
}

void an_annotate_result(const struct an_annotate *a, struct result *r)
{
    struct result_table *t = result_table(r, "functions", function_columns,
                                          ARRAY_LEN(function_columns));
    struct writer w = { .a = a, .r = r };

    r->main = w.rows = result_table(r, NULL, row_columns, ARRAY_LEN(row_columns));
    r->pretty = true;
    result_fact(r, "metric", result_text(a->metric_name));
    result_fact(r, "unit", result_text(a->unit));
    result_fact(r, "total", result_int(a->whole));
    for (size_t i = 0; i < a->v.n; i++) {
        const struct an_listing *l = &a->v.v[i].listing;

        w.l = &a->v.v[i];
        result_cell(t, result_text(listing_name(&w)));
        result_cell(t, result_text(l->file));
        result_cell(t, result_text(l->module));
        put_cost(&w, t, l->self);
        put_cost(&w, t, l->total);
        result_cell(t, line_rows(&w));
    }
}
