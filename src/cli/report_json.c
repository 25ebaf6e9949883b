/* report_json.c - the report for programs: JSON (docs/json.md) and CSV, with the same figures.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_quality.h"
#include "cli/report.h"
#include "text/json.h"
#include "text/table.h"

static const char *file_of(const struct report *r, uint32_t function)
{
    return function ? profile_string(r->p, r->p->function.v[function - 1].file) : "";
}

static void put_facts(const struct report *r, struct json *j)
{
    json_put_u64(j, "version", 1);
    json_key(j, "metric");
    json_object(j);
    json_put_str(j, "name", an_view_name(&r->view));
    json_put_str(j, "unit", r->unit);
    json_put_bool(j, "exact", an_view_is_exact(&r->view));
    json_end_object(j);
    json_key(j, "metrics");
    json_array(j);
    for (size_t i = 0; i < r->p->metric.n; i++)
        json_str(j, profile_string(r->p, r->p->metric.v[i].name));
    json_end_array(j);
    json_put_i64(j, "total", r->all.weight);
    json_put_u64(j, "samples", r->all.samples);
    json_put_num(j, "effective_samples", r->all.effective, 1);
    json_put_str(j, "damage", r->p->damage);
    json_put_u64(j, "missing_bytes", r->p->missing_bytes);
    json_key(j, "meta");
    json_object(j);
    for (size_t i = 0; i < r->p->meta.n; i++)
        json_put_str(j, r->p->meta.v[i].key, r->p->meta.v[i].value);
    json_end_object(j);
}

static void put_interval(const struct report *r, struct json *j, int64_t weight,
                         const char *low, const char *high)
{
    struct interval i = an_share_interval(weight, &r->all);

    if (r->exact)
        return;
    json_put_num(j, low, i.low, 4);
    json_put_num(j, high, i.high, 4);
}

static void put_kinds(const struct report *r, struct json *j, const int64_t *kind)
{
    json_key(j, "waits_for");
    json_object(j);
    for (unsigned i = 1; kind && i < r->view.n_kinds; i++)
        if (kind[i])
            json_put_i64(j, r->view.kind[i], kind[i]);
    json_end_object(j);
}

/* SELF with what of it was waiting, and for what; nothing where waits are not seen by kind. */
static void put_times(const struct report *r, struct json *j, int64_t self, int64_t wait,
                      const int64_t *kind)
{
    if (!report_has_waits(r))
        return;
    json_put_i64(j, "running", self - wait);
    json_put_i64(j, "waiting", wait);
    put_kinds(r, j, kind);
}

static void put_threads(const struct report *r, struct json *j)
{
    const struct an_threads *t = &r->threads;

    json_put_i64(j, "running", t->kind[0]);
    json_put_i64(j, "waiting", t->waiting);
    put_kinds(r, j, t->kind);
    json_put_i64(j, "waiting_guessed", t->guessed);
    json_key(j, "threads");
    json_array(j);
    for (size_t i = 0; i < t->v.n; i++) {
        const struct an_thread *x = &t->v.v[i];
        const struct thread *of = x->thread ? &r->p->thread.v[x->thread - 1] : NULL;

        json_object(j);
        json_put_str(j, "name", of ? profile_string(r->p, of->name) : "");
        json_put_i64(j, "tid", of ? of->tid : 0);
        json_put_i64(j, "running", x->kind[0]);
        json_put_i64(j, "waiting", x->waiting);
        put_kinds(r, j, x->kind);
        json_put_bool(j, "idle", x->idle);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_functions(const struct report *r, struct json *j)
{
    size_t n = report_flat_rows(r);

    json_key(j, "functions");
    json_array(j);
    for (size_t i = 0; i < n; i++) {
        const struct an_row *row = &r->flat.row.v[i];

        json_object(j);
        json_put_str(j, "name", row->name);
        json_put_str(j, "module", an_module_name(r->p, row->module));
        json_put_str(j, "file", file_of(r, row->function));
        json_put_u64(j, "line", row->line);
        json_put_i64(j, "self", row->self);
        json_put_num(j, "self_pct", an_share_pct(row->self, &r->all), 4);
        put_interval(r, j, row->self, "self_low_pct", "self_high_pct");
        json_put_i64(j, "total", row->total);
        json_put_num(j, "total_pct", an_share_pct(row->total, &r->all), 4);
        json_put_u64(j, "samples", row->samples);
        put_times(r, j, row->self, row->wait, row->kind);
        if (report_has_waits(r))
            json_put_i64(j, "total_waiting", row->wait_total);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_groups(const struct report *r, struct json *j)
{
    json_key(j, "groups");
    json_array(j);
    for (size_t i = 0; i < r->groups.group.n && i < r->rows; i++) {
        const struct an_group *g = &r->groups.group.v[i];

        json_object(j);
        json_put_str(j, "by", an_by_name(r->levels.by[g->depth]));
        json_put_str(j, "name", g->name);
        json_put_u64(j, "depth", g->depth);
        json_put_i64(j, "parent", g->parent == UINT32_MAX ? -1 : (int64_t)g->parent);
        json_put_str(j, "file", file_of(r, g->function));
        json_put_u64(j, "line", g->line);
        json_put_i64(j, "weight", g->weight);
        json_put_num(j, "pct", an_share_pct(g->weight, &r->all), 4);
        put_interval(r, j, g->weight, "low_pct", "high_pct");
        json_put_u64(j, "samples", g->samples);
        put_times(r, j, g->weight, g->wait, g->kind);
        if (g->idle)
            json_put_bool(j, "idle", true);
        json_end_object(j);
    }
    json_end_array(j);
}

static const struct an_symbol *symbol_of(const struct report *r, const struct an_line *l)
{
    return &r->symbols.symbol.v[r->trees.trie.node.v[l->node].key];
}

static void put_tree(const struct report *r, struct json *j)
{
    json_key(j, "tree");
    json_array(j);
    for (size_t i = 0; i < r->list.line.n && i < r->rows; i++) {
        const struct an_line *l = &r->list.line.v[i];
        const struct an_symbol *y = symbol_of(r, l);

        json_object(j);
        json_put_str(j, "name", y->name);
        json_put_str(j, "module", an_module_name(r->p, y->module));
        json_put_bool(j, "inlined", y->inlined);
        json_put_u64(j, "depth", l->depth);
        json_put_i64(j, "parent", l->parent == UINT32_MAX ? -1 : (int64_t)l->parent);
        if (r->args->tree)
            json_put_i64(j, "self", l->self);
        json_put_i64(j, "total", l->total);
        json_put_num(j, "total_pct", an_share_pct(l->total, &r->all), 4);
        if (report_has_waits(r))
            json_put_i64(j, "total_waiting", l->wait);
        if (r->node_kinds)
            put_kinds(r, j, &r->node_kinds[(size_t)l->node * AN_KINDS]);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_unnamed(const struct report *r, struct json *j)
{
    struct an_unnamed_list list;

    an_quality_unnamed(&r->view, &list);
    json_key(j, "without_symbols");
    json_array(j);
    for (size_t i = 0; i < list.v.n; i++) {
        const struct an_unnamed *u = &list.v.v[i];

        json_object(j);
        json_put_str(j, "module", profile_string(r->p, r->p->module.v[u->module - 1].path));
        json_put_i64(j, "self", u->weight);
        json_put_num(j, "self_pct", an_share_pct(u->weight, &r->all), 4);
        json_put_str(j, "source", u->source);
        json_put_str(j, "advice", u->advice);
        json_end_object(j);
    }
    json_end_array(j);
    vec_release(&list.v);
}

void report_json(const struct report *r, struct out *o)
{
    struct json j = { .out = o };

    json_object(&j);
    put_facts(r, &j);
    if (report_has_waits(r))
        put_threads(r, &j);
    put_functions(r, &j);
    if (report_has_groups(r))
        put_groups(r, &j);
    if (report_has_tree(r))
        put_tree(r, &j);
    put_unnamed(r, &j);
    json_end_object(&j);
    out_char(o, '\n');
}

/* The end of a line: how much was waiting, and for what; KIND may be NULL. */
static void csv_times(const struct report *r, struct out *o, int64_t wait, const int64_t *kind)
{
    struct buf text = { 0 };

    if (report_has_waits(r)) {
        out_printf(o, ",%" PRId64, wait);
        table_csv_cell(o, report_kinds(r, kind, &text), false);
    }
    out_char(o, '\n');
    buf_release(&text);
}

static void csv_titles(const struct report *r, struct out *o, const char *titles, const char *wait)
{
    out_printf(o, "%s%s\n", titles, report_has_waits(r) ? wait : "");
}

static void csv_tree(const struct report *r, struct out *o)
{
    csv_titles(r, o, "depth,function,module,self,total,total_pct", ",total_waiting,waits_for");
    for (size_t i = 0; i < r->list.line.n && i < r->rows; i++) {
        const struct an_line *l = &r->list.line.v[i];

        out_printf(o, "%u", l->depth);
        table_csv_cell(o, symbol_of(r, l)->name, false);
        table_csv_cell(o, an_module_name(r->p, symbol_of(r, l)->module), false);
        out_printf(o, ",%" PRId64 ",%" PRId64 ",%.4f", l->self, l->total,
                   an_share_pct(l->total, &r->all));
        csv_times(r, o, l->wait,
                  r->node_kinds ? &r->node_kinds[(size_t)l->node * AN_KINDS] : NULL);
    }
}

static void csv_groups(const struct report *r, struct out *o)
{
    csv_titles(r, o, "depth,by,name,file,line,weight,pct,samples", ",waiting,waits_for");
    for (size_t i = 0; i < r->groups.group.n && i < r->rows; i++) {
        const struct an_group *g = &r->groups.group.v[i];

        out_printf(o, "%u,%s", g->depth, an_by_name(r->levels.by[g->depth]));
        table_csv_cell(o, g->name, false);
        table_csv_cell(o, file_of(r, g->function), false);
        out_printf(o, ",%u,%" PRId64 ",%.4f,%" PRIu64, g->line, g->weight,
                   an_share_pct(g->weight, &r->all), g->samples);
        csv_times(r, o, g->wait, g->kind);
    }
}

void report_csv(const struct report *r, struct out *o)
{
    if (report_has_tree(r)) {
        csv_tree(r, o);
        return;
    }
    if (report_has_groups(r)) {
        csv_groups(r, o);
        return;
    }
    csv_titles(r, o, "name,module,file,line,self,self_pct,total,total_pct,samples",
               ",waiting,waits_for");
    for (size_t i = 0, n = report_flat_rows(r); i < n; i++) {
        const struct an_row *row = &r->flat.row.v[i];

        table_csv_cell(o, row->name, true);
        table_csv_cell(o, an_module_name(r->p, row->module), false);
        table_csv_cell(o, file_of(r, row->function), false);
        out_printf(o, ",%u,%" PRId64 ",%.4f,%" PRId64 ",%.4f,%" PRIu64, row->line, row->self,
                   an_share_pct(row->self, &r->all), row->total,
                   an_share_pct(row->total, &r->all), row->samples);
        csv_times(r, o, row->wait, row->kind);
    }
}
