/* annotate_text.c - print a listing to a terminal or pipe.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_jumps.h"
#include "text/human.h"
#include "text/table.h"
#include "text/term.h"

enum { HOT_PCT = 10, WARM_PCT = 2, TAB = 4 };

struct printer {
    struct out *o;
    struct term term;
    const struct an_annotate *a;
    const struct an_listing *l;
    const struct an_shown *shown;
};

static double pct(const struct printer *w, int64_t x)
{
    return an_shown_pct(x, w->a->whole);
}

static enum term_style heat(double p)
{
    return p >= HOT_PCT ? TERM_HOT : p >= WARM_PCT ? TERM_WARM : TERM_PLAIN;
}

/* Print a share in seven columns; blank if it would round to zero. */
static void put_pct(struct printer *w, int64_t x)
{
    double p = pct(w, x);

    if (!an_shown_is_visible(p)) {
        out_str(w->o, "       ");
        return;
    }
    term_begin(&w->term, w->o, heat(p));
    out_printf(w->o, "%7.2f", p);
    term_end(&w->term, w->o, heat(p));
}

/* Print source text: expand tabs and replace all other control characters. */
static void put_source(struct printer *w, const char *s, size_t n, size_t before)
{
    struct buf b = { 0 };
    size_t width = w->term.width > 0 ? (size_t)w->term.width : SIZE_MAX;
    size_t room = width > before ? width - before : 0;

    for (size_t i = 0; i < n && s[i] != '\r'; i++)
        if (s[i] == '\t')
            do
                buf_u8(&b, ' ');
            while (b.n % TAB);
        else
            buf_u8(&b, (uint8_t)s[i]);
    term_clean((char *)b.data, b.n);
    while (b.n && term_columns((char *)b.data, b.n) > room)
        b.n--;
    out_add(w->o, b.data, b.n);
    buf_release(&b);
}

/* Print the rest of a line, cut at the width of the terminal.  Cleans TEXT. */
static void put_cut(struct printer *w, char *text, size_t before)
{
    size_t room = w->term.width > 0 ? (size_t)w->term.width : SIZE_MAX;
    struct buf b = { 0 };

    term_clean(text, strlen(text));
    table_cut(&b, text, strlen(text), room > before ? room - before : 0);
    out_add(w->o, b.data, b.n);
    buf_release(&b);
}

/* Print a name as a part of a line. */
static void put_name(struct printer *w, const char *name)
{
    struct buf b = { 0 };

    buf_printf_clean(&b, "%s", name);
    out_add(w->o, b.data, b.n);
    buf_release(&b);
}

static void put_inlined(struct printer *w, const struct an_shown_line *line)
{
    struct buf text = { 0 };

    for (uint32_t i = 0; i < line->n_inlined; i++) {
        const struct an_inlined *in = w->shown->inlined.v[line->first_inlined + i];
        const struct function *f = &w->a->source.profile->function.v[in->function - 1];

        out_str(w->o, "  ");
        put_pct(w, in->self);
        out_str(w->o, "                ");
        text.n = 0;
        buf_printf(&text, "inlined %s", profile_string(w->a->source.profile, f->name));
        if (f->file)
            buf_printf(&text, "  %s:%u", profile_string(w->a->source.profile, f->file), f->line);
        term_begin(&w->term, w->o, TERM_DIM);
        put_cut(w, buf_text(&text), 25);
        term_end(&w->term, w->o, TERM_DIM);
        out_char(w->o, '\n');
    }
    buf_release(&text);
}

static void put_instr(struct printer *w, const struct an_instr *in, const char *gutter)
{
    out_str(w->o, "  ");
    put_pct(w, in->self);
    term_begin(&w->term, w->o, TERM_DIM);
    out_printf(w->o, " %c%12" PRIx64 " ", pct(w, in->self) >= HOT_PCT ? '>' : ' ', in->d.address);
    term_end(&w->term, w->o, TERM_DIM);
    out_printf(w->o, "%s ", gutter);
    put_name(w, in->d.text);
    out_char(w->o, '\n');
}

/* Print the sum of the hidden instructions, so that the figures add up to the cost of the line. */
static void put_hidden(struct printer *w, int64_t cost, size_t n)
{
    if (!an_shown_is_visible(pct(w, cost)))
        return;
    out_str(w->o, "  ");
    put_pct(w, cost);
    term_begin(&w->term, w->o, TERM_DIM);
    out_printf(w->o, "                in %zu other instruction%s; --all-code shows %s\n", n,
               n == 1 ? "" : "s", n == 1 ? "it" : "all");
    term_end(&w->term, w->o, TERM_DIM);
}

/* Print the instructions of a line; dots mark hidden ones. */
static void put_code(struct printer *w, const struct an_shown_line *line)
{
    const struct an_instr *all = &w->l->instr.v[line->cost->first_instr], *last = NULL;
    char (*gutter)[AN_JUMPS_BYTES] = an_jumps_draw(all, line->cost->n_instr);

    for (uint32_t i = 0; i < line->n_instr; i++) {
        const struct an_instr *in = w->shown->instr.v[line->first_instr + i];

        if (last && last->d.address + last->d.size != in->d.address)
            out_str(w->o, "                        ...\n");
        put_instr(w, in, gutter[in - all]);
        last = in;
    }
    put_hidden(w, line->hidden, line->n_hidden);
    free(gutter);
}

static void put_line(struct printer *w, const struct an_shown_line *line)
{
    int64_t self = line->cost ? line->cost->self : 0;
    size_t n;
    const char *s = an_listing_text(w->l, line->number, &n);

    out_str(w->o, "  ");
    put_pct(w, self);
    out_char(w->o, ' ');
    put_pct(w, line->cost ? line->cost->total : 0);
    out_printf(w->o, " %c%5u  ", pct(w, self) >= HOT_PCT ? '>' : ' ', line->number);
    put_source(w, s ? s : "", n, 26);
    out_char(w->o, '\n');
    put_inlined(w, line);
    if (line->n_instr || line->n_hidden)
        put_code(w, line);
}

/* Dots mark hidden lines. */
static void put_lines(struct printer *w)
{
    for (size_t i = 0; i < w->shown->line.n; i++) {
        const struct an_shown_line *line = &w->shown->line.v[i];

        if (i && line->number != line[-1].number + 1)
            out_str(w->o, "                         ...\n");
        put_line(w, line);
    }
}

/* Print the name and its file: on one line if they fit, otherwise on two. */
static void put_heading(struct printer *w)
{
    const struct an_listing *l = w->l;
    const char *what = w->a->whole_file && *l->file ? l->file : l->name;
    const char *where = w->a->whole_file ? "" : *l->file ? l->file : l->module;
    size_t room = w->term.width > 0 ? (size_t)w->term.width : SIZE_MAX;
    struct buf name = { 0 };

    buf_str(&name, what);
    term_begin(&w->term, w->o, TERM_BOLD);
    put_cut(w, buf_text(&name), 0);
    term_end(&w->term, w->o, TERM_BOLD);
    if (*where) {
        out_str(w->o, strlen(what) + 2 + strlen(where) > room ? "\n" : "  ");
        put_name(w, where);
    }
    out_char(w->o, '\n');
    buf_release(&name);
}

static void put_reason(struct printer *w, const char *what, const char *why)
{
    out_printf(w->o, "  (%s: ", what);
    put_name(w, why);
    out_str(w->o, ")\n");
}

static void put_listing(struct printer *w)
{
    const struct an_annotate *a = w->a;
    const struct an_listing *l = w->l;

    put_heading(w);
    out_printf(w->o, "self %s (%.2f %%), total %s (%.2f %%) of %s ",
               human_weight((double)l->self, a->unit).s, pct(w, l->self),
               human_weight((double)l->total, a->unit).s, pct(w, l->total),
               human_weight((double)a->whole, a->unit).s);
    put_name(w, a->metric_name);
    out_str(w->o, "\n\n");
    if (w->shown->has_lines) {
        out_str(w->o, "   self %  total %   line\n");
        put_lines(w);
    } else if (a->code && l->instr.n) {
        out_str(w->o, "   self %       address\n");
        put_code(w, &w->shown->line.v[0]);
    }
    if (*l->no_source)
        put_reason(w, "no source", l->no_source);
    if (a->code && *l->no_code)
        put_reason(w, "no code", l->no_code);
}

void annotate_text(const struct an_annotate *a, struct out *o, int fd)
{
    for (size_t i = 0; i < a->v.n; i++) {
        struct printer w = { o, term_of(fd), a, &a->v.v[i].listing, &a->v.v[i].shown };

        if (i)
            out_char(o, '\n');
        put_listing(&w);
    }
}
