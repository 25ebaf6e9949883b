/* an_flat.c - see an_flat.h.
 *
 * Add the weights to the nodes of the stack tree.  Then walk the tree once and count for every row
 * how often it is on the current path; a subtree is added to a row at its outermost occurrence.
 * No stack of a single sample is walked.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_flat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct an_sum an_sum_of(const struct an_view *v)
{
    const struct profile *p = v->profile;
    struct an_sum all = { 0 };
    double squares = 0;
    uint32_t stack;
    unsigned kind;

    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];
        double w = (double)m->weight;

        if (!an_view_takes(v, m, &stack, &kind))
            continue;
        all.weight += m->weight;
        all.samples += m->count;
        squares += m->count > 1 ? w * w / (double)m->count : w * w;
    }
    all.effective = stats_effective((double)all.weight, squares);
    return all;
}

double an_share_pct(int64_t weight, const struct an_sum *all)
{
    return all->weight ? 100.0 * (double)weight / (double)all->weight : 0;
}

struct interval an_share_interval(int64_t weight, const struct an_sum *all)
{
    double share = an_share_pct(weight, all) / 100;
    struct interval i = stats_wilson(share * all->effective, all->effective);

    i.low *= 100;
    i.high *= 100;
    return i;
}

/* The rows of each frame, outermost first; the last one gets the self cost. */
struct rows_of {
    VEC(struct profile_chain) frame; /* by frame id - 1 */
    VEC(uint32_t) row;
    struct umap seen;
};

static uint32_t row_for(struct an_flat *f, struct rows_of *rows, uint64_t key,
                        const struct an_row *made)
{
    uint32_t id = umap_find(&rows->seen, key);

    if (!id) {
        vec_push(&f->row, *made);
        id = (uint32_t)f->row.n;
        umap_put(&rows->seen, key, id);
    }
    return id - 1;
}

/* The top bits keep the keys of different kinds of rows distinct. */
#define KEY_BARE (1ull << 62)
#define KEY_MODULE (1ull << 63)

static uint32_t module_row(struct an_flat *f, struct rows_of *rows, const struct profile *p,
                           uint32_t module)
{
    const char *name = an_module_name(p, module);

    return row_for(f, rows, KEY_MODULE | module,
                   &(struct an_row){ .name = *name ? name : "[unknown]", .module = module });
}

static uint32_t function_row(struct an_flat *f, struct rows_of *rows, const struct an_symbols *s,
                             uint32_t symbol, uint32_t frame_module, uint32_t line, enum an_by by)
{
    const struct an_symbol *y = &s->symbol.v[symbol];
    struct an_row made = { .name = y->name, .function = y->function, .line = line,
                           .module = y->module ? y->module : frame_module };

    if (!y->function)
        return row_for(f, rows, KEY_BARE | symbol, &made);
    if (by == AN_BY_LINE)
        return row_for(f, rows, (uint64_t)y->function << 28 | (line & 0xfffffff), &made);
    made.line = s->profile->function.v[y->function - 1].line;
    return row_for(f, rows, y->function, &made);
}

static void add_frame_rows(struct an_flat *f, struct rows_of *rows, const struct an_symbols *s,
                           uint32_t i, enum an_by by)
{
    const struct profile *p = s->profile;
    struct profile_chain symbols = s->frame.v[i], places = p->chain.v[i];
    struct profile_chain *own = vec_add(&rows->frame);

    own->first = (uint32_t)rows->row.n;
    own->n = by == AN_BY_MODULE ? 1 : symbols.n;
    if (by == AN_BY_MODULE) {
        uint32_t module = p->frame.v[i].module;

        if (!module)
            module = s->symbol.v[s->chain.v[symbols.first]].module;
        vec_push(&rows->row, module_row(f, rows, p, module));
        return;
    }
    for (uint32_t k = 0; k < symbols.n; k++) {
        uint32_t line = k < places.n ? p->location.v[places.first + k].line : 0;

        vec_push(&rows->row, function_row(f, rows, s, s->chain.v[symbols.first + k],
                                          p->frame.v[i].module, line, by));
    }
}

struct node {
    int64_t self, total;
    int64_t wait; /* waiting part of total */
    uint64_t samples;
    uint32_t child, next; /* only nodes with samples */
    bool used;
};

/* [0] is for samples without a stack, and is the parent of the roots. */
static struct node *weigh(const struct an_view *v)
{
    const struct profile *p = v->profile;
    struct node *node = mem_zalloc((p->stack.n + 1) * sizeof *node);
    uint32_t stack;
    unsigned kind;

    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];

        if (!an_view_takes(v, m, &stack, &kind))
            continue;
        node[stack].self += m->weight;
        node[stack].wait += kind ? m->weight : 0;
        node[stack].samples += m->count;
        node[stack].used = true;
    }
    for (size_t id = p->stack.n; id > 0; id--) {
        uint32_t parent = p->stack.v[id - 1].parent;

        if (!node[id].used)
            continue;
        node[id].total += node[id].self;
        node[id].next = node[parent].child;
        node[parent].child = (uint32_t)id;
        node[parent].used = true;
        node[parent].total += node[id].total;
        node[parent].wait += parent ? node[id].wait : 0; /* [0] keeps its own */
    }
    return node;
}

struct walk {
    const struct profile *p;
    const struct node *node;
    const struct rows_of *rows;
    struct an_row *row;
    uint32_t *on_path; /* by row */
};

static void enter(const struct walk *w, uint32_t id)
{
    struct profile_chain c = w->rows->frame.v[w->p->stack.v[id - 1].frame - 1];
    const uint32_t *rows = &w->rows->row.v[c.first];

    for (uint32_t k = 0; k < c.n; k++)
        if (w->on_path[rows[k]]++ == 0) {
            w->row[rows[k]].total += w->node[id].total;
            w->row[rows[k]].wait_total += w->node[id].wait;
        }
    w->row[rows[c.n - 1]].self += w->node[id].self;
    w->row[rows[c.n - 1]].samples += w->node[id].samples;
}

static void leave(const struct walk *w, uint32_t id)
{
    struct profile_chain c = w->rows->frame.v[w->p->stack.v[id - 1].frame - 1];

    for (uint32_t k = 0; k < c.n; k++)
        w->on_path[w->rows->row.v[c.first + k]]--;
}

static void walk_tree(const struct walk *w)
{
    uint32_t at = w->node[0].child;

    while (at) {
        enter(w, at);
        if (w->node[at].child) {
            at = w->node[at].child;
            continue;
        }
        while (at && !w->node[at].next) {
            leave(w, at);
            at = w->p->stack.v[at - 1].parent;
        }
        if (at) {
            leave(w, at);
            at = w->node[at].next;
        }
    }
}

static int64_t *new_kinds(struct an_flat *f)
{
    return arena_zalloc(&f->arena, AN_KINDS * sizeof(int64_t));
}

/* Add up the wait kinds of each row; those of samples without a stack go to *BARE. */
static void add_kinds(struct an_flat *f, const struct rows_of *rows, const struct an_view *v,
                      int64_t **bare)
{
    const struct profile *p = v->profile;

    for (size_t i = 0; v->waiting && i < p->sample.n; i++) {
        struct profile_chain c = { 0 };
        struct an_row *row = NULL;
        int64_t **kinds = bare;
        uint32_t stack;
        unsigned kind;

        if (!an_view_takes(v, &p->sample.v[i], &stack, &kind) || !kind)
            continue;
        if (stack) {
            c = rows->frame.v[p->stack.v[stack - 1].frame - 1];
            row = &f->row.v[rows->row.v[c.first + c.n - 1]];
            row->wait += p->sample.v[i].weight;
            kinds = &row->kind;
        }
        if (!*kinds)
            *kinds = new_kinds(f);
        (*kinds)[kind] += p->sample.v[i].weight;
    }
}

/* Drop the rows of frames that occur in no sample. */
static void drop_untouched(struct an_flat *f)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->row.n; i++)
        if (f->row.v[i].total || f->row.v[i].self || f->row.v[i].samples)
            f->row.v[kept++] = f->row.v[i];
    f->row.n = kept;
}

void an_flat_build(struct an_flat *f, const struct an_symbols *s, const struct an_view *v,
                   enum an_by by)
{
    const struct profile *p = s->profile;
    struct rows_of rows = { 0 };
    struct node *node = weigh(v);
    struct walk w = { .p = p, .node = node, .rows = &rows };
    int64_t *bare = NULL;

    *f = (struct an_flat){ .all = an_sum_of(v) };
    for (uint32_t i = 0; i < p->frame.n; i++)
        add_frame_rows(f, &rows, s, i, by);
    w.row = f->row.v;
    w.on_path = mem_zalloc((f->row.n + 1) * sizeof *w.on_path);
    walk_tree(&w);
    add_kinds(f, &rows, v, &bare);
    drop_untouched(f);
    if (node[0].samples || node[0].self)
        vec_push(&f->row, ((struct an_row){ .name = "[no stack]", .self = node[0].self,
                                            .total = node[0].self, .samples = node[0].samples,
                                            .wait = node[0].wait, .wait_total = node[0].wait,
                                            .kind = bare }));
    free(w.on_path);
    free(node);
    vec_release(&rows.frame);
    vec_release(&rows.row);
    umap_release(&rows.seen);
}

void an_flat_release(struct an_flat *f)
{
    vec_release(&f->row);
    arena_release(&f->arena);
}

const char *an_row_place(const struct profile *p, const struct an_row *r, char *text, size_t cap)
{
    const char *file = r->function
                           ? profile_string(p, p->function.v[r->function - 1].file) : "";
    const char *slash = strrchr(file, '/');

    file = slash && slash[1] ? slash + 1 : file;
    if (*file && r->line)
        snprintf(text, cap, "%s:%u", file, r->line);
    else
        snprintf(text, cap, "%s", file);
    return text;
}

enum column { BY_SELF, BY_TOTAL, BY_SAMPLES, BY_NAME, BY_MODULE };
static const struct {
    const char *name;
    enum column column;
} columns[] = {
    { "self", BY_SELF },     { "total", BY_TOTAL }, { "samples", BY_SAMPLES },
    { "function", BY_NAME }, { "name", BY_NAME },   { "module", BY_MODULE },
};

static int find_column(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (strcmp(columns[i].name, name) == 0)
            return (int)columns[i].column;
    return -1;
}

bool an_flat_can_sort(const char *column)
{
    return find_column(column) >= 0;
}

struct order {
    const struct profile *p;
    enum column column;
};

static int backwards(int64_t a, int64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Largest first; then by the other cost, name, module and line, so that the order is stable. */
static int compare(const void *a, const void *b, void *context)
{
    const struct an_row *x = a, *y = b;
    const struct order *o = context;
    int by = o->column == BY_SELF      ? backwards(x->self, y->self)
             : o->column == BY_TOTAL   ? backwards(x->total, y->total)
             : o->column == BY_SAMPLES ? backwards((int64_t)x->samples, (int64_t)y->samples)
             : o->column == BY_MODULE
                 ? strcmp(an_module_name(o->p, x->module), an_module_name(o->p, y->module))
                 : 0;

    if (!by && o->column != BY_NAME)
        by = backwards(x->self, y->self);
    if (!by && o->column != BY_NAME)
        by = backwards(x->total, y->total);
    if (!by)
        by = strcmp(x->name, y->name);
    if (!by)
        by = strcmp(an_module_name(o->p, x->module), an_module_name(o->p, y->module));
    return by ? by : -backwards(x->line, y->line);
}

void an_flat_sort(struct an_flat *f, const struct profile *p, const char *column)
{
    struct order o = { p, (enum column)find_column(column) };

    if (f->row.n)
        qsort_r(f->row.v, f->row.n, sizeof *f->row.v, compare, &o);
}
