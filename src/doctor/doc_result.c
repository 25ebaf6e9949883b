/* doc_result.c - see doc_result.h; docs/json.md describes the members.
 * SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doc_result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text/human.h"

enum { INDENT = 2, BAR = 36 };

static struct result_table *add_table(struct result *r, const char *key, const char *title,
                                      const struct result_column *columns, size_t n)
{
    struct result_table *t = result_table(r, key, columns, n);

    t->title = title;
    t->indent = INDENT;
    return t;
}

static void put_text(struct result_table *t, const char *shown)
{
    result_cell(t, result_none());
    result_show(t, shown);
}

/* --- facts and rungs -------------------------------------------------------------------- */

static const struct result_column fact_columns[] = {
    { NULL, "key" }, { "", NULL, TABLE_TEXT }, { "", "value", TABLE_TEXT }, { NULL, "state" },
    { NULL, "advice" },
};

static struct result_table *add_facts(struct result *r, const char *key, const char *title,
                                      const struct doc_facts *f)
{
    static const char *const states[] = { "plain", "good", "poor" };
    static const enum term_style styles[] = { TERM_PLAIN, TERM_GOOD, TERM_WARM };
    struct result_table *t = add_table(r, key, title, fact_columns, ARRAY_LEN(fact_columns));

    for (size_t i = 0; i < f->v.n; i++) {
        const struct doc_fact *x = &f->v.v[i];

        result_cell(t, result_text(x->key));
        put_text(t, x->label);
        result_cell(t, result_text(x->value));
        result_style(t, styles[x->state]);
        if (*x->advice)
            result_below(t, result_printf(r, "-> %s", x->advice));
        result_cell(t, result_text(states[x->state]));
        result_cell(t, result_text(x->advice));
    }
    return t;
}

static void add_rungs(struct result *r, const struct doc_rungs *rungs)
{
    static const struct result_column columns[] = {
        { "", "name", TABLE_TEXT }, { "", "holds", TABLE_TEXT }, { "", NULL, TABLE_TEXT },
        { NULL, "gives" }, { NULL, "why" }, { NULL, "remedy" },
    };
    struct result_table *t = add_table(r, "ladder", "what can be recorded", columns,
                                       ARRAY_LEN(columns));

    for (size_t i = 0; i < rungs->v.n; i++) {
        const struct doc_rung *x = &rungs->v.v[i];

        result_cell(t, result_text(x->name));
        result_cell(t, result_bool(x->holds));
        result_style(t, x->holds ? TERM_GOOD : TERM_WARM);
        put_text(t, x->holds ? x->gives : x->why);
        if (*x->remedy)
            result_below(t, result_printf(r, "-> %s", x->remedy));
        result_cell(t, result_text(x->gives));
        result_cell(t, result_text(x->why));
        result_cell(t, result_text(x->remedy));
    }
}

static void add_line(struct buf *b, const char *before, const char *names)
{
    buf_str(b, "  ");
    buf_printf_clean(b, "%s%s", before, names);
    buf_u8(b, '\n');
}

static void add_binary(struct result *r, const struct doc_findings *f)
{
    const struct doc_binary *b = &f->binary;
    struct result_value v = result_object(r);
    struct buf after = { 0 };
    char title[512];
    struct result_table *t;

    snprintf(title, sizeof title, "%s%s", b->is_process ? "process " : "", f->target);
    term_clean(title, strlen(title));
    t = add_facts(r, NULL, result_copy(r, title), &b->facts);
    buf_u8(&after, '\n');
    add_line(&after, "", b->verdict);
    add_line(&after, "record it with: ", b->command);
    t->after = result_copy(r, buf_text(&after));
    buf_release(&after);
    result_put(r, v, "target", result_text(f->target));
    result_put(r, v, "verdict", result_text(b->verdict));
    result_put(r, v, "fast", result_bool(b->fast));
    result_put(r, v, "instrumented", result_bool(b->instrumented));
    result_put(r, v, "command", result_text(b->command));
    result_put(r, v, "facts", result_rows_of(t));
    result_fact(r, "binary", v);
}

/* --- latencies -------------------------------------------------------------------------- */

/* A logarithmic bar that starts at 0.1 ns: each decade has the same length. */
static void bar_of(double ns, double longest, char *text)
{
    double share = log10(ns / 0.1) / log10(longest / 0.1);
    int n = share > 0 ? (int)(share * BAR + 0.5) : 0;

    text[0] = 0;
    for (int i = 0; i < n && i < BAR; i++)
        memcpy(text + 3 * i, "█", 4);
}

static void put_latency(struct result *r, struct result_table *t, const struct doc_latency *l,
                        double cycle, double longest)
{
    bool is_time = isfinite(l->value) && strcmp(l->unit, "ns") == 0;
    char bar[3 * BAR + 1] = "";

    if (is_time)
        bar_of(l->value, longest, bar);
    result_cell(t, result_text(l->key));
    result_cell(t, result_text(l->label));
    result_cell(t, result_text(l->unit));
    result_cell(t, result_real(l->value, 3)); /* null if it could not be measured */
    if (is_time)
        result_show(t, human_ns(l->value).s);
    else if (isfinite(l->value))
        result_show(t, result_printf(r, "%.1f GB/s", l->value));
    put_text(t, is_time ? human_count((int64_t)(l->value / cycle + 0.5)).s : "");
    put_text(t, bar);
    result_cell(t, result_text(l->note));
}

static void add_latencies(struct result *r, const struct doc_findings *f)
{
    static const struct result_column columns[] = {
        { NULL, "key" }, { "", "label", TABLE_TEXT }, { NULL, "unit" }, { "time", "value" },
        { "cycles", NULL }, { "logarithmic scale", NULL, TABLE_TEXT }, { "", "note", TABLE_TEXT },
    };
    struct result_table *t = add_table(r, "latencies", "measured on this machine", columns,
                                       ARRAY_LEN(columns));
    const struct doc_latency *l = f->latencies.v.v;
    double cycle = isfinite(l[0].value) ? l[0].value : 1, longest = 1;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct buf after = { 0 };

    for (size_t i = 0; i < f->latencies.v.n; i++)
        if (strcmp(l[i].unit, "ns") == 0 && isfinite(l[i].value) && l[i].value > longest)
            longest = l[i].value;
    for (size_t i = 0; i < f->latencies.v.n; i++)
        put_latency(r, t, &l[i], cycle, longest);
    if (f->load > (double)cpus / 2)
        buf_printf(&after, "\n  the machine was busy (load %.1f on %ld CPUs); "
                           "results are slower than on an idle one\n",
                   f->load, cpus);
    if (*f->saved) {
        buf_u8(&after, '\n');
        add_line(&after, "saved to ", f->saved);
    }
    t->after = result_copy(r, buf_text(&after));
    buf_release(&after);
    result_fact(r, "saved", result_text(f->saved));
}

/* --- overhead --------------------------------------------------------------------------- */

static const struct result_column cost_columns[] = {
    { "stacks", "call_graph", TABLE_TEXT }, { "Hz", "hz" }, { NULL, "refused" },
    { "target CPU", "cpu_pct" }, { "interval", NULL }, { NULL, "cpu_low_pct" },
    { NULL, "cpu_high_pct" }, { "target wall", "wall_pct" }, { NULL, "wall_low_pct" },
    { NULL, "wall_high_pct" }, { NULL, "confidence" }, { "recorder", "recorder_pct" },
    { "samples", "samples" }, { "lost", "lost" }, { "complete", "complete_pct" },
};

/* If recording was refused, show only the reason, in the last column. */
static void put_share(struct result *r, struct result_table *t, const struct doc_cost *c, double x)
{
    result_cell(t, result_real(x, 3));
    result_show(t, c->refused ? "" : result_printf(r, "%.1f %%", x));
}

static void put_change(struct result *r, struct result_table *t, const struct doc_cost *c, double x)
{
    result_cell(t, result_real(x, 3));
    result_show(t, c->refused ? "" : result_printf(r, "%+.1f %%", x));
}

static void put_count(struct result_table *t, const struct doc_cost *c, double x)
{
    result_cell(t, result_real(x, 0));
    result_show(t, c->refused ? "" : human_count((int64_t)x).s);
}

static void put_cost(struct result *r, struct result_table *t, const struct doc_cost *c)
{
    result_cell(t, result_text(c->graph));
    result_cell(t, result_uint(c->hz));
    result_show(t, result_printf(r, "%llu", (unsigned long long)c->hz));
    result_cell(t, result_text(c->why));
    put_change(r, t, c, c->cpu_pct);
    put_text(t, c->refused ? "" : result_printf(r, "%+.1f … %+.1f", c->cpu.low, c->cpu.high));
    result_cell(t, result_real(c->cpu.low, 3));
    result_cell(t, result_real(c->cpu.high, 3));
    put_change(r, t, c, c->wall_pct);
    result_cell(t, result_real(c->wall.low, 3));
    result_cell(t, result_real(c->wall.high, 3));
    result_cell(t, result_real(c->cpu.confidence, 4));
    put_share(r, t, c, c->recorder_pct);
    put_count(t, c, c->samples);
    put_count(t, c, c->lost);
    put_share(r, t, c, c->complete_pct);
    if (c->refused)
        result_show(t, c->why);
}

static void add_costs(struct result *r, const struct doc_findings *f)
{
    struct result_table *t = add_table(r, NULL, "overhead of recording this program", cost_columns,
                                       ARRAY_LEN(cost_columns));
    struct result_value v = result_object(r);

    t->before = result_printf(r, "  bare: %s CPU, %s wall; %zu interleaved round%s\n",
                              human_ns(f->costs.bare_cpu_ns).s, human_ns(f->costs.bare_wall_ns).s,
                              f->rounds, f->rounds == 1 ? "" : "s");
    for (size_t i = 0; i < f->costs.v.n; i++)
        put_cost(r, t, &f->costs.v.v[i]);
    t->after = f->rounds < 2
                   ? "  one round has no interval; use -r 6 or more\n"
                   : result_printf(r, "  interval: median of target CPU, %.0f %% confidence\n",
                                   100 * f->costs.v.v[0].cpu.confidence);
    result_put(r, v, "rounds", result_uint(f->rounds));
    result_put(r, v, "bare_cpu_ns", result_real(f->costs.bare_cpu_ns, 0));
    result_put(r, v, "bare_wall_ns", result_real(f->costs.bare_wall_ns, 0));
    result_put(r, v, "ways", result_rows_of(t));
    result_fact(r, "overhead", v);
}

/* --- compiler flags --------------------------------------------------------------------- */

/* The flags, and below them the command that sets them. */
static void show_flags(struct result *r, const struct doc_flags *x)
{
    static const struct result_column columns[] = { { "", NULL, TABLE_TEXT } };
    struct result_table *t = add_table(r, NULL, x->lang, columns, 1);

    put_text(t, x->flags);
    put_text(t, "");
    for (const char *at = x->how; *at;) {
        size_t n = strcspn(at, "\n");

        put_text(t, result_printf(r, "  %.*s", (int)n, at));
        at += n + (at[n] == '\n');
    }
}

static void add_flags(struct result *r, const struct doc_findings *f)
{
    static const struct result_column columns[] = {
        { NULL, "profile" }, { NULL, "lang" }, { NULL, "flags" }, { NULL, "how" },
    };
    struct result_table *t = result_table(r, "flags", columns, ARRAY_LEN(columns));

    t->text_rows = 0;
    for (const struct doc_flags *x = doc_flags; x->profile; x++) {
        if (strcmp(x->profile, f->profile) != 0 || (f->lang && strcmp(x->lang, f->lang) != 0))
            continue;
        result_cell(t, result_text(x->profile));
        result_cell(t, result_text(x->lang));
        result_cell(t, result_text(x->flags));
        result_cell(t, result_text(x->how));
        show_flags(r, x);
    }
}

void doc_result(const struct doc_findings *f, struct result *r)
{
    result_fact(r, "version", result_uint(1));
    if (f->machine.v.n) {
        add_facts(r, "machine", "machine", &f->machine);
        add_facts(r, "processor", "processor", &f->cpu);
        add_rungs(r, &f->rungs);
        add_facts(r, "tools", "tools", &f->tools);
    }
    if (f->target)
        add_binary(r, f);
    if (f->latencies.v.n)
        add_latencies(r, f);
    if (f->costs.v.n)
        add_costs(r, f);
    if (f->profile)
        add_flags(r, f);
}
