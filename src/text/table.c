/* table.c - see table.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"

enum {
    GAP = 2,         /* columns between two columns */
    NAME_LEAST = 12, /* a name column is not cut below this */
    NAME_PAD = 48,   /* without a width: pad names to this; a longer name shifts its line */
};

void table_init(struct table *t, const struct table_column *columns, size_t n)
{
    *t = (struct table){ .column = columns, .n_columns = n };
}

void table_release(struct table *t)
{
    arena_release(&t->arena);
    vec_release(&t->cell);
}

void table_text(struct table *t, const char *s)
{
    size_t n = strlen(s);
    char *copy = arena_strndup(&t->arena, s, n);

    term_clean(copy, n);
    vec_push(&t->cell, ((struct table_cell){ copy, (uint32_t)n,
                                             (uint32_t)term_columns(copy, n), TERM_PLAIN }));
}

void table_printf(struct table *t, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    table_text(t, text);
}

void table_style(struct table *t, enum term_style s)
{
    t->cell.v[t->cell.n - 1].style = s;
}

/* Bytes at the start of S that fill at most COLUMNS. */
static size_t head_bytes(const char *s, size_t n, size_t columns)
{
    size_t at = 0;

    while (at < n) {
        int wide;
        size_t len = term_char(s + at, n - at, &wide);

        if ((size_t)wide > columns)
            break;
        columns -= (size_t)wide;
        at += len;
    }
    return at;
}

void table_cut(struct buf *out, const char *s, size_t n, size_t columns)
{
    size_t all = term_columns(s, n), head, skip;

    if (all <= columns) {
        buf_add(out, s, n);
        return;
    }
    if (columns < 3) {
        buf_add(out, s, head_bytes(s, n, columns));
        return;
    }
    /* The end of a name (method, file name) is more informative than its start. */
    head = head_bytes(s, n, (columns - 1) * 2 / 5);
    skip = all - (columns - 1 - term_columns(s, head));
    buf_add(out, s, head);
    buf_str(out, "…");
    for (size_t at = 0, seen = 0; at < n;) {
        int wide;
        size_t len = term_char(s + at, n - at, &wide);

        if (seen >= skip) {
            buf_add(out, s + at, n - at);
            return;
        }
        seen += (size_t)wide;
        at += len;
    }
}

struct layout {
    size_t width[32];
    size_t n; /* columns that are shown, last */
};

static void measure(const struct table *t, struct layout *l)
{
    for (size_t i = 0; i < t->n_columns; i++)
        l->width[i] = 0;
    for (size_t i = 0; i < t->cell.n; i++) {
        size_t c = i % t->n_columns;

        if (t->cell.v[i].columns > l->width[c])
            l->width[c] = t->cell.v[i].columns;
    }
    for (size_t i = 0; i < t->n_columns; i++) {
        size_t title = term_columns(t->column[i].title, strlen(t->column[i].title));

        if (l->width[i] && l->width[i] < title)
            l->width[i] = title;
        if (l->width[i])
            l->n = i + 1;
    }
}

/* Take EXCESS columns from the widest name columns, one at a time. */
static void shrink(const struct table *t, struct layout *l, size_t excess)
{
    while (excess--) {
        size_t widest = 0, at = SIZE_MAX;

        for (size_t i = 0; i < t->n_columns; i++)
            if (t->column[i].kind == TABLE_NAME && l->width[i] > widest) {
                widest = l->width[i];
                at = i;
            }
        if (at == SIZE_MAX || widest <= NAME_LEAST)
            return;
        l->width[at]--;
    }
}

static void fit(const struct table *t, struct layout *l, const struct term *term)
{
    size_t all = (size_t)t->indent;

    for (size_t i = 0; i < t->n_columns; i++)
        all += l->width[i] ? l->width[i] + GAP : 0;
    all -= all > GAP ? GAP : 0;
    if (term->width && all > (size_t)term->width)
        shrink(t, l, all - (size_t)term->width);
    for (size_t i = 0; !term->width && i < t->n_columns; i++)
        if (t->column[i].kind == TABLE_NAME && l->width[i] > NAME_PAD)
            l->width[i] = NAME_PAD;
}

static void pad(struct out *o, size_t n)
{
    while (n--)
        out_char(o, ' ');
}

static void put_cell(const struct table *t, struct out *o, const struct term *term,
                     const struct table_cell *cell, size_t column, size_t width, bool last)
{
    struct buf text = { 0 };
    size_t used;

    if (term->width && t->column[column].kind == TABLE_NAME)
        table_cut(&text, cell->s, cell->n, width);
    else
        buf_add(&text, cell->s, cell->n);
    used = term_columns((const char *)text.data, text.n);
    if (t->column[column].kind == TABLE_NUMBER && used < width)
        pad(o, width - used);
    term_begin(term, o, cell->style);
    out_add(o, text.data, text.n);
    term_end(term, o, cell->style);
    if (t->column[column].kind != TABLE_NUMBER && used < width && !last)
        pad(o, width - used);
    buf_release(&text);
}

/* Empty cells after the last full one print no blanks. */
static size_t last_full(const struct table_cell *row, const struct layout *l)
{
    size_t n = l->n;

    while (n > 0 && row[n - 1].n == 0)
        n--;
    return n;
}

static void put_row(const struct table *t, struct out *o, const struct term *term,
                    const struct table_cell *row, const struct layout *l)
{
    size_t n = last_full(row, l);
    bool any = false;

    pad(o, n ? (size_t)t->indent : 0);
    for (size_t i = 0; i < n; i++) {
        if (!l->width[i])
            continue;
        if (any)
            pad(o, GAP);
        any = true;
        put_cell(t, o, term, &row[i], i, l->width[i], i + 1 == n);
    }
    out_char(o, '\n');
}

void table_print(const struct table *t, struct out *o, const struct term *term)
{
    struct layout l = { 0 };
    struct table_cell title[32];
    bool titled = false;

    measure(t, &l);
    fit(t, &l, term);
    for (size_t i = 0; i < t->n_columns; i++) {
        const char *s = t->column[i].title;

        title[i] = (struct table_cell){ s, (uint32_t)strlen(s), 0, TERM_DIM };
        titled |= *s && l.width[i];
    }
    if (titled)
        put_row(t, o, term, title, &l);
    for (size_t i = 0; i + t->n_columns <= t->cell.n; i += t->n_columns)
        put_row(t, o, term, &t->cell.v[i], &l);
}

void table_csv_cell(struct out *o, const char *s, bool first)
{
    size_t n = strlen(s);
    const char *quote;

    if (!first)
        out_char(o, ',');
    quote = escape_csv_needs_quotes(s) ? "\"" : "";
    out_str(o, quote);
    out_str(o, escape_csv_start(s));
    for (struct escaped e; n; s += e.taken, n -= e.taken) {
        e = escape_csv(s, n);
        out_add(o, escaped_text(&e), e.n);
    }
    out_str(o, quote);
}
