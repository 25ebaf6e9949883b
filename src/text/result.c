/* result.c - see result.h; the printers are in result_print.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct result_group *new_group(struct result *r)
{
    return arena_zalloc(&r->arena, sizeof(struct result_group));
}

void result_init(struct result *r)
{
    memset(r, 0, sizeof *r);
    r->facts = new_group(r);
}

void result_release(struct result *r)
{
    for (size_t i = 0; i < r->table.n; i++)
        vec_release(&r->table.v[i]->cell);
    vec_release(&r->table);
    vec_release(&r->top);
    buf_release(&r->head);
    buf_release(&r->tail);
    arena_release(&r->arena);
}

const char *result_copy(struct result *r, const char *s)
{
    return arena_strndup(&r->arena, s, strlen(s));
}

const char *result_printf(struct result *r, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return result_copy(r, text);
}

struct result_value result_list(struct result *r)
{
    return (struct result_value){ .kind = RESULT_LIST, .group = new_group(r) };
}

struct result_value result_object(struct result *r)
{
    return (struct result_value){ .kind = RESULT_OBJECT, .group = new_group(r) };
}

/* Copy the text of V: that of the caller may be on its stack. */
static struct result_value keep(struct arena *a, struct result_value v)
{
    if (v.kind == RESULT_TEXT)
        v.s = arena_strndup(a, v.s, strlen(v.s));
    return v;
}

static void append(struct result *r, struct result_group *g, const char *key,
                   struct result_value v)
{
    struct result_member *m = arena_zalloc(&r->arena, sizeof *m);

    *m = (struct result_member){ key, keep(&r->arena, v), NULL };
    if (g->last)
        g->last->next = m;
    else
        g->first = m;
    g->last = m;
}

void result_put(struct result *r, struct result_value group, const char *key,
                struct result_value v)
{
    append(r, group.group, key, v);
}

void result_fact(struct result *r, const char *key, struct result_value v)
{
    append(r, r->facts, key, v);
}

static struct result_table *new_table(struct result *r, const char *key,
                                      const struct result_column *columns, size_t n)
{
    struct result_table *t = arena_zalloc(&r->arena, sizeof *t);

    t->key = key;
    t->column = columns;
    t->n_columns = n;
    t->arena = &r->arena;
    t->before = t->after = "";
    t->text_rows = SIZE_MAX;
    vec_push(&r->table, t);
    return t;
}

struct result_table *result_table(struct result *r, const char *key,
                                  const struct result_column *columns, size_t n)
{
    struct result_table *t = new_table(r, key, columns, n);

    vec_push(&r->top, t);
    return t;
}

struct result_value result_rows(struct result *r, const struct result_column *columns, size_t n,
                                struct result_table **made)
{
    *made = new_table(r, NULL, columns, n);
    return result_rows_of(*made);
}

void result_cell(struct result_table *t, struct result_value v)
{
    vec_push(&t->cell, ((struct result_cell){ .value = keep(t->arena, v) }));
}

void result_show(struct result_table *t, const char *shown)
{
    t->cell.v[t->cell.n - 1].shown = arena_strndup(t->arena, shown, strlen(shown));
}

void result_style(struct result_table *t, enum term_style s)
{
    t->cell.v[t->cell.n - 1].style = s;
}

void result_below(struct result_table *t, const char *text)
{
    t->cell.v[t->cell.n - 1].below = arena_strndup(t->arena, text, strlen(text));
}

size_t result_count(const struct result_table *t)
{
    return t->cell.n / t->n_columns;
}
