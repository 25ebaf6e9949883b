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
    const struct metric *m = r->metric ? &r->p->metric.v[r->metric - 1] : NULL;

    json_put_u64(j, "version", 1);
    json_key(j, "metric");
    json_object(j);
    json_put_str(j, "name", m ? profile_string(r->p, m->name) : "");
    json_put_str(j, "unit", r->unit);
    json_put_bool(j, "exact", r->exact);
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
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_unnamed(const struct report *r, struct json *j)
{
    struct an_unnamed_list list;

    an_quality_unnamed(r->p, r->metric, &list);
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
    put_functions(r, &j);
    if (report_has_groups(r))
        put_groups(r, &j);
    if (report_has_tree(r))
        put_tree(r, &j);
    put_unnamed(r, &j);
    json_end_object(&j);
    out_char(o, '\n');
}

static void csv_tree(const struct report *r, struct out *o)
{
    out_str(o, "depth,function,module,self,total,total_pct\n");
    for (size_t i = 0; i < r->list.line.n && i < r->rows; i++) {
        const struct an_line *l = &r->list.line.v[i];

        out_printf(o, "%u", l->depth);
        table_csv_cell(o, symbol_of(r, l)->name, false);
        table_csv_cell(o, an_module_name(r->p, symbol_of(r, l)->module), false);
        out_printf(o, ",%" PRId64 ",%" PRId64 ",%.4f\n", l->self, l->total,
                   an_share_pct(l->total, &r->all));
    }
}

static void csv_groups(const struct report *r, struct out *o)
{
    out_str(o, "depth,by,name,file,line,weight,pct,samples\n");
    for (size_t i = 0; i < r->groups.group.n && i < r->rows; i++) {
        const struct an_group *g = &r->groups.group.v[i];

        out_printf(o, "%u,%s", g->depth, an_by_name(r->levels.by[g->depth]));
        table_csv_cell(o, g->name, false);
        table_csv_cell(o, file_of(r, g->function), false);
        out_printf(o, ",%u,%" PRId64 ",%.4f,%" PRIu64 "\n", g->line, g->weight,
                   an_share_pct(g->weight, &r->all), g->samples);
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
    out_str(o, "name,module,file,line,self,self_pct,total,total_pct,samples\n");
    for (size_t i = 0, n = report_flat_rows(r); i < n; i++) {
        const struct an_row *row = &r->flat.row.v[i];

        table_csv_cell(o, row->name, true);
        table_csv_cell(o, an_module_name(r->p, row->module), false);
        table_csv_cell(o, file_of(r, row->function), false);
        out_printf(o, ",%u,%" PRId64 ",%.4f,%" PRId64 ",%.4f,%" PRIu64 "\n", row->line, row->self,
                   an_share_pct(row->self, &r->all), row->total,
                   an_share_pct(row->total, &r->all), row->samples);
    }
}
