/* an_shown.c - see an_shown.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_shown.h"

#include <stdlib.h>

#include "base/sat.h"

enum { CONTEXT = 2 };

struct selection {
    struct an_shown *s;
    const struct an_listing *l;
    const struct an_shown_query *q;
};

static double pct(const struct selection *x, int64_t cost)
{
    return an_shown_pct(cost, x->q->whole);
}

static bool is_visible(const struct selection *x, const struct an_source_line *line)
{
    return an_shown_is_visible(pct(x, line->self)) || an_shown_is_visible(pct(x, line->total));
}

static bool is_hot(const struct selection *x, const struct an_source_line *line)
{
    double least = x->q->min_pct;

    return pct(x, line->self) >= least || (line->n_inlined && pct(x, line->total) >= least);
}

static void select_inlined(struct selection *x, struct an_shown_line *row)
{
    const struct an_inlined *in = x->l->inlined.v + row->cost->first_inlined;

    for (uint32_t i = 0; i < row->cost->n_inlined; i++)
        if (pct(x, in[i].self) >= x->q->min_pct) {
            vec_push(&x->s->inlined, &in[i]);
            row->n_inlined++;
        }
}

/* Minimum cost of an expensive instruction: the minimum share, or a tenth of the cost of all INSTR
 * if that is less. */
static int64_t least_of(const struct selection *x, const struct an_instr *instr, uint32_t n)
{
    double least = x->q->min_pct / 100 * (double)x->q->whole, sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (double)instr[i].self;
    return sat_of(sum / 10 < least ? sum / 10 : least);
}

/* Select the expensive instructions and their neighbors.  Add up the others, so that the figures
 * add up to the cost of the line. */
static void select_code(struct selection *x, struct an_shown_line *row)
{
    const struct an_instr *instr = x->l->instr.v + row->cost->first_instr;
    uint32_t n = row->cost->n_instr;
    int64_t least = least_of(x, instr, n);

    for (uint32_t i = 0; i < n; i++) {
        bool near = x->q->all_code;

        for (uint32_t k = i > CONTEXT ? i - CONTEXT : 0; k < n && k <= i + CONTEXT; k++)
            near = near || (instr[k].self && instr[k].self >= least);
        if (near) {
            vec_push(&x->s->instr, &instr[i]);
            row->n_instr++;
        } else {
            row->hidden += instr[i].self;
            row->n_hidden += instr[i].self != 0;
        }
    }
}

static void add_line(struct selection *x, const struct an_source_line *line, bool hot)
{
    struct an_shown_line row = { .number = line->line, .cost = line,
                                 .first_inlined = (uint32_t)x->s->inlined.n,
                                 .first_instr = (uint32_t)x->s->instr.n };

    if (hot) {
        select_inlined(x, &row);
        if (x->q->code)
            select_code(x, &row);
    }
    vec_push(&x->s->line, row);
}

/* Add the lines FROM to UNTIL, as far as the file has them. */
static void add_context(struct selection *x, uint32_t from, uint32_t until)
{
    size_t n;

    for (uint32_t k = from; k <= until && an_listing_text(x->l, k, &n); k++)
        vec_push(&x->s->line, ((struct an_shown_line){ .number = k }));
}

static bool has_lines(const struct an_listing *l)
{
    for (size_t i = 0; i < l->line.n; i++)
        if (l->line.v[i].line)
            return true;
    return false;
}

void an_shown_select(struct an_shown *s, const struct an_listing *l,
                     const struct an_shown_query *q)
{
    struct selection x = { s, l, q };
    const struct an_source_line *last = NULL;

    *s = (struct an_shown){ .has_lines = has_lines(l) };
    for (size_t i = 0; i < l->line.n; i++) {
        const struct an_source_line *line = &l->line.v[i];
        uint32_t from = line->line > CONTEXT ? line->line - CONTEXT : 1;

        if (s->has_lines && !is_visible(&x, line))
            continue;
        if (last && last->line) {
            uint32_t after = last->line + 1, until = last->line + CONTEXT;

            add_context(&x, after, until < line->line ? until : line->line - 1);
            from = from > until ? from : until + 1;
        }
        if (line->line)
            add_context(&x, from, line->line - 1);
        add_line(&x, line, !s->has_lines || is_hot(&x, line));
        last = line;
    }
    if (last && last->line)
        add_context(&x, last->line + 1, last->line + CONTEXT);
}

void an_shown_release(struct an_shown *s)
{
    vec_release(&s->line);
    vec_release(&s->inlined);
    vec_release(&s->instr);
}
