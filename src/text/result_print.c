/* result_print.c - print a result as text, JSON or CSV.  SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/human.h"
#include "text/json.h"
#include "text/result.h"

enum { COLUMNS_MOST = 32 };

/* --- text ------------------------------------------------------------------------------- */

/* The text of a cell that has only a value. */
static const char *usual_text(const struct result_value *v, struct human *h)
{
    switch (v->kind) {
    case RESULT_TEXT:
        return v->s;
    case RESULT_INT:
        *h = human_count(v->i);
        return h->s;
    case RESULT_UINT:
        *h = human_u64(v->u);
        return h->s;
    case RESULT_BOOL:
        return v->truth ? "yes" : "no";
    case RESULT_REAL:
        snprintf(h->s, sizeof h->s, "%.*f", v->decimals, v->x);
        return isfinite(v->x) ? h->s : "-";
    default:
        return "";
    }
}

static bool is_in_text(const struct result_column *c, const struct term *term)
{
    return c->title && (!term->width || term->width >= c->min_width);
}

static void add_cells(struct table *text, const struct result_table *t, size_t row,
                      const struct term *term)
{
    struct human h;

    for (size_t i = 0; i < t->n_columns; i++) {
        const struct result_cell *c = &t->cell.v[row * t->n_columns + i];

        if (!is_in_text(&t->column[i], term))
            continue;
        table_text(text, c->shown ? c->shown : usual_text(&c->value, &h));
        table_style(text, c->style);
    }
}

/* Add the line below a row, if a cell has one. */
static void add_below(struct table *text, const struct result_table *t, size_t row,
                      const struct term *term)
{
    const struct result_cell *c = &t->cell.v[row * t->n_columns];
    bool any = false;

    for (size_t i = 0; i < t->n_columns; i++)
        any = any || c[i].below;
    for (size_t i = 0; any && i < t->n_columns; i++)
        if (is_in_text(&t->column[i], term))
            table_text(text, c[i].below ? c[i].below : "");
}

static void print_table(const struct result_table *t, struct out *o, const struct term *term)
{
    struct table_column columns[COLUMNS_MOST];
    size_t n = 0, rows = result_count(t);
    struct table text;

    for (size_t i = 0; i < t->n_columns; i++)
        if (is_in_text(&t->column[i], term))
            columns[n++] = (struct table_column){ t->column[i].title, t->column[i].kind };
    table_init(&text, columns, n);
    text.indent = t->indent;
    for (size_t i = 0; i < rows && i < t->text_rows; i++) {
        add_cells(&text, t, i, term);
        add_below(&text, t, i, term);
    }
    table_print(&text, o, term);
    table_release(&text);
}

static void print_title(const char *title, struct out *o, const struct term *term)
{
    if (o->written + o->buf.n)
        out_char(o, '\n');
    term_begin(term, o, TERM_BOLD);
    out_str(o, title);
    term_end(term, o, TERM_BOLD);
    out_char(o, '\n');
}

static void print_text(const struct result *r, struct out *o, const struct term *term)
{
    out_add(o, r->head.data, r->head.n);
    for (size_t i = 0; i < r->top.n; i++) {
        const struct result_table *t = r->top.v[i];

        if (!t->text_rows || (!result_count(t) && !*t->after))
            continue;
        if (t->title)
            print_title(t->title, o, term);
        out_str(o, t->before);
        if (result_count(t)) /* without rows, the line below says why */
            print_table(t, o, term);
        out_str(o, t->after);
    }
    out_add(o, r->tail.data, r->tail.n);
}

/* --- JSON ------------------------------------------------------------------------------- */

/* The code that fills a result bounds the nesting, not the input. */
static void put_json(struct json *j, const struct result_value *v);

static void put_members(struct json *j, const struct result_group *g)
{
    for (const struct result_member *m = g->first; m; m = m->next) {
        if (m->value.kind == RESULT_NONE)
            continue;
        if (m->key)
            json_key(j, m->key);
        put_json(j, &m->value);
    }
}

static void put_rows(struct json *j, const struct result_table *t)
{
    json_array(j);
    for (size_t i = 0; i < t->cell.n; i++) {
        const struct result_column *c = &t->column[i % t->n_columns];

        if (i % t->n_columns == 0)
            json_object(j);
        if (c->key && t->cell.v[i].value.kind != RESULT_NONE) {
            json_key(j, c->key);
            put_json(j, &t->cell.v[i].value);
        }
        if ((i + 1) % t->n_columns == 0)
            json_end_object(j);
    }
    json_end_array(j);
}

static void put_json(struct json *j, const struct result_value *v)
{
    switch (v->kind) {
    case RESULT_BOOL:
        json_bool(j, v->truth);
        break;
    case RESULT_INT:
        json_i64(j, v->i);
        break;
    case RESULT_UINT:
        json_u64(j, v->u);
        break;
    case RESULT_REAL:
        json_num(j, v->x, v->decimals);
        break;
    case RESULT_TEXT:
        json_str(j, v->s);
        break;
    case RESULT_LIST:
        json_array(j);
        put_members(j, v->group);
        json_end_array(j);
        break;
    case RESULT_OBJECT:
        json_object(j);
        put_members(j, v->group);
        json_end_object(j);
        break;
    case RESULT_ROWS:
        put_rows(j, v->rows);
        break;
    default:
        json_null(j);
    }
}

static void print_json(const struct result *r, struct out *o)
{
    struct json j = { .out = o, .pretty = r->pretty };

    json_object(&j);
    put_members(&j, r->facts);
    for (size_t i = 0; i < r->top.n; i++)
        if (r->top.v[i]->key) {
            json_key(&j, r->top.v[i]->key);
            put_rows(&j, r->top.v[i]);
        }
    json_end_object(&j);
    out_char(o, '\n');
}

/* --- CSV -------------------------------------------------------------------------------- */

static void put_plain(struct buf *b, const struct result_value *v)
{
    switch (v->kind) {
    case RESULT_BOOL:
        buf_str(b, v->truth ? "true" : "false");
        break;
    case RESULT_INT:
        buf_printf(b, "%" PRId64, v->i);
        break;
    case RESULT_UINT:
        buf_printf(b, "%" PRIu64, v->u);
        break;
    case RESULT_REAL:
        if (isfinite(v->x))
            buf_printf(b, "%.*f", v->decimals, v->x);
        break;
    case RESULT_TEXT:
        buf_str(b, v->s);
        break;
    case RESULT_LIST:
    case RESULT_OBJECT: /* "futex=12;sleep=3" */
        for (const struct result_member *m = v->group->first; m; m = m->next) {
            if (m != v->group->first)
                buf_u8(b, ';');
            if (m->key)
                buf_printf(b, "%s=", m->key);
            put_plain(b, &m->value);
        }
        break;
    default:
        break;
    }
}

/* Omit columns without any value, unless the table is empty. */
static bool is_in_csv(const struct result_table *t, size_t column)
{
    if (!t->column[column].key)
        return false;
    for (size_t i = column; i < t->cell.n; i += t->n_columns)
        if (t->cell.v[i].value.kind != RESULT_NONE)
            return t->cell.v[i].value.kind != RESULT_ROWS;
    return !t->cell.n;
}

static void print_csv(const struct result_table *t, struct out *o)
{
    struct buf text = { 0 };
    bool shown[COLUMNS_MOST], first = true;

    for (size_t i = 0; i < t->n_columns; i++) {
        shown[i] = is_in_csv(t, i);
        if (shown[i])
            table_csv_cell(o, t->column[i].key, first);
        first = first && !shown[i];
    }
    for (size_t i = 0; i < t->cell.n; i++) {
        if (i % t->n_columns == 0) {
            out_char(o, '\n');
            first = true;
        }
        if (!shown[i % t->n_columns])
            continue;
        text.n = 0;
        put_plain(&text, &t->cell.v[i].value);
        table_csv_cell(o, buf_text(&text), first);
        first = false;
    }
    out_char(o, '\n');
    buf_release(&text);
}

void result_print(const struct result *r, enum result_form form, struct out *o,
                  const struct term *term)
{
    if (form == RESULT_AS_JSON)
        print_json(r, o);
    else if (form == RESULT_AS_CSV)
        print_csv(r->main, o);
    else
        print_text(r, o, term);
}
