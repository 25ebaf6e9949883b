/* doctor_print.c - the findings as text.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/human.h"
#include "text/table.h"

static enum term_style style_of(enum doc_state s)
{
    return s == DOC_GOOD ? TERM_GOOD : s == DOC_POOR ? TERM_WARM : TERM_PLAIN;
}

static void put_title(struct out *o, const struct term *t, const char *title)
{
    if (o->written + o->buf.n)
        out_char(o, '\n');
    term_begin(t, o, TERM_BOLD);
    out_str(o, title);
    term_end(t, o, TERM_BOLD);
    out_char(o, '\n');
}

/* Advice stands below what it is about. */
static void put_facts(const struct doc_facts *f, struct out *o, const struct term *term)
{
    static const struct table_column columns[] = { { "", TABLE_TEXT }, { "", TABLE_TEXT } };
    struct table t;

    table_init(&t, columns, ARRAY_LEN(columns));
    t.indent = 2;
    for (size_t i = 0; i < f->v.n; i++) {
        table_text(&t, f->v.v[i].label);
        table_text(&t, f->v.v[i].value);
        table_style(&t, style_of(f->v.v[i].state));
        if (!*f->v.v[i].advice)
            continue;
        table_text(&t, "");
        table_printf(&t, "-> %s", f->v.v[i].advice);
    }
    table_print(&t, o, term);
    table_release(&t);
}

static void put_rungs(const struct doc_rungs *r, struct out *o, const struct term *term)
{
    static const struct table_column columns[] = { { "", TABLE_TEXT }, { "", TABLE_TEXT },
                                                   { "", TABLE_TEXT } };
    struct table t;

    table_init(&t, columns, ARRAY_LEN(columns));
    t.indent = 2;
    for (size_t i = 0; i < r->v.n; i++) {
        const struct doc_rung *x = &r->v.v[i];

        table_text(&t, x->name);
        table_text(&t, x->holds ? "yes" : "no");
        table_style(&t, x->holds ? TERM_GOOD : TERM_WARM);
        table_text(&t, x->holds ? x->gives : x->why);
        if (!*x->remedy)
            continue;
        table_text(&t, "");
        table_text(&t, "");
        table_printf(&t, "-> %s", x->remedy);
    }
    table_print(&t, o, term);
    table_release(&t);
}

static void put_binary(const struct doctor_findings *f, struct out *o, const struct term *term)
{
    char title[512];

    snprintf(title, sizeof title, "%s%s", f->binary.is_process ? "process " : "", f->target);
    term_clean(title, strlen(title));
    put_title(o, term, title);
    put_facts(&f->binary.facts, o, term);
    out_printf(o, "\n  %s\n  record it with: %s\n", f->binary.verdict, f->binary.command);
}

enum { BAR = 36 };

/* A decade of time is always as long: 0.1 ns is nothing. */
static void bar_of(double ns, double longest, char *text)
{
    double share = log10(ns / 0.1) / log10(longest / 0.1);
    int n = share > 0 ? (int)(share * BAR + 0.5) : 0;

    text[0] = 0;
    for (int i = 0; i < n && i < BAR; i++)
        memcpy(text + 3 * i, "█", 4);
}

static void put_latency_row(struct table *t, const struct doc_latency *l, double cycle,
                            double longest)
{
    char bar[3 * BAR + 1] = "";
    bool is_time = strcmp(l->unit, "ns") == 0;

    table_text(t, l->label);
    if (isfinite(l->value) && is_time) {
        table_text(t, human_ns(l->value).s);
        table_text(t, human_count((int64_t)(l->value / cycle + 0.5)).s);
        bar_of(l->value, longest, bar);
        table_text(t, bar);
    } else {
        if (isfinite(l->value))
            table_printf(t, "%.1f GB/s", l->value);
        else
            table_text(t, "-");
        table_text(t, "");
        table_text(t, "");
    }
    table_text(t, l->note);
}

static void put_latencies(const struct doctor_findings *f, struct out *o, const struct term *term)
{
    static const struct table_column columns[] = {
        { "", TABLE_TEXT }, { "time", TABLE_NUMBER }, { "cycles", TABLE_NUMBER },
        { "each decade as long", TABLE_TEXT }, { "", TABLE_TEXT },
    };
    const struct doc_latency *l = f->latencies.v.v;
    double cycle = isfinite(l[0].value) ? l[0].value : 1, longest = 1;
    struct table t;

    for (size_t i = 0; i < f->latencies.v.n; i++)
        if (strcmp(l[i].unit, "ns") == 0 && isfinite(l[i].value) && l[i].value > longest)
            longest = l[i].value;
    put_title(o, term, "measured on this machine");
    table_init(&t, columns, ARRAY_LEN(columns));
    t.indent = 2;
    for (size_t i = 0; i < f->latencies.v.n; i++)
        put_latency_row(&t, &l[i], cycle, longest);
    table_print(&t, o, term);
    table_release(&t);
    if (f->load > (double)sysconf(_SC_NPROCESSORS_ONLN) / 2)
        out_printf(o, "\n  the machine was busy (load %.1f on %ld CPUs): idle, it is faster than "
                      "this\n", f->load, sysconf(_SC_NPROCESSORS_ONLN));
    if (*f->saved)
        out_printf(o, "\n  kept in %s\n", f->saved);
}

static void put_cost(struct table *t, const struct doc_cost *c)
{
    table_text(t, c->graph);
    table_printf(t, "%llu", (unsigned long long)c->hz);
    if (c->refused) {
        for (int i = 0; i < 6; i++)
            table_text(t, "");
        table_text(t, c->why);
        return;
    }
    table_printf(t, "%+.1f %%", c->cpu_pct);
    table_printf(t, "%+.1f … %+.1f", c->cpu.low, c->cpu.high);
    table_printf(t, "%+.1f %%", c->wall_pct);
    table_printf(t, "%.1f %%", c->recorder_pct);
    table_text(t, human_count((int64_t)c->samples).s);
    table_text(t, human_count((int64_t)c->lost).s);
    table_printf(t, "%.1f %%", c->complete_pct);
}

static void put_costs(const struct doctor_findings *f, struct out *o, const struct term *term)
{
    static const struct table_column columns[] = {
        { "stacks", TABLE_TEXT }, { "Hz", TABLE_NUMBER }, { "its CPU", TABLE_NUMBER },
        { "interval", TABLE_NUMBER }, { "its wall", TABLE_NUMBER }, { "recorder", TABLE_NUMBER },
        { "samples", TABLE_NUMBER }, { "lost", TABLE_NUMBER }, { "complete", TABLE_NUMBER },
    };
    struct table t;

    put_title(o, term, "what recording costs this program");
    out_printf(o, "  bare: %s CPU, %s wall; %zu round%s by turns\n",
               human_ns(f->costs.bare_cpu_ns).s, human_ns(f->costs.bare_wall_ns).s, f->rounds,
               f->rounds == 1 ? "" : "s");
    table_init(&t, columns, ARRAY_LEN(columns));
    t.indent = 2;
    for (size_t i = 0; i < f->costs.v.n; i++)
        put_cost(&t, &f->costs.v.v[i]);
    table_print(&t, o, term);
    table_release(&t);
    if (f->costs.v.n && f->rounds < 2)
        out_str(o, "  one round says little and has no interval: -r 6 or more\n");
    else if (f->costs.v.n)
        out_printf(o, "  the interval holds the median of its CPU at %.0f %%\n",
                   100 * f->costs.v.v[0].cpu.confidence);
}

static void put_flags(const struct doctor_findings *f, struct out *o, const struct term *term)
{
    for (const struct doc_flags *x = doc_flags; x->profile; x++) {
        if (strcmp(x->profile, f->profile) != 0 || (f->lang && strcmp(x->lang, f->lang) != 0))
            continue;
        put_title(o, term, x->lang);
        out_printf(o, "  %s\n\n", x->flags);
        for (const char *at = x->how; *at;) {
            size_t n = strcspn(at, "\n");

            out_printf(o, "    %.*s\n", (int)n, at);
            at += n + (at[n] == '\n');
        }
    }
}

void doctor_text(const struct doctor_findings *f, struct out *o, const struct term *t)
{
    if (f->machine.v.n) {
        put_title(o, t, "machine");
        put_facts(&f->machine, o, t);
        put_title(o, t, "processor");
        put_facts(&f->cpu, o, t);
        put_title(o, t, "what can be recorded");
        put_rungs(&f->rungs, o, t);
        put_title(o, t, "tools");
        put_facts(&f->tools, o, t);
    }
    if (f->target)
        put_binary(f, o, t);
    if (f->latencies.v.n)
        put_latencies(f, o, t);
    if (f->costs.v.n)
        put_costs(f, o, t);
    if (f->profile)
        put_flags(f, o, t);
}
