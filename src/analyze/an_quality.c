/* an_quality.c - see an_quality.h; the keys are those of profile/meta.def.
 * SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_quality.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_surroundings.h"
#include "base/sat.h"
#include "text/human.h"
#include "text/term.h"

/* Items of a line are separated by " · ". */
struct line {
    struct out *o;
    bool any;
};

static void add_item(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add_item(struct line *l, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    term_clean(text, strlen(text));
    if (l->any)
        out_str(l->o, " · ");
    l->any = true;
    out_str(l->o, text);
}

static void end_line(struct line *l)
{
    if (l->any)
        out_char(l->o, '\n');
    l->any = false;
}

static void add_meta(struct line *l, const struct profile *p, const char *key, const char *fmt)
{
    const char *value = profile_meta(p, key);
    char text[384];

    if (!*value)
        return;
    snprintf(text, sizeof text, "%s%s", value, fmt);
    add_item(l, "%s", text);
}

void an_quality_facts(const struct profile *p, struct out *o)
{
    struct line l = { o, false };
    double duration = profile_meta_number(p, "duration_ns", 0);
    double status = profile_meta_number(p, "exit_status", 0);

    add_meta(&l, p, "merged", " profiles merged");
    add_meta(&l, p, "command", "");
    if (duration > 0)
        add_item(&l, "%s", human_ns(duration).s);
    if (status != 0)
        add_item(&l, "exit status %.0f", status);
    add_meta(&l, p, "date", "");
    end_line(&l);
    add_meta(&l, p, "cpu", "");
    add_meta(&l, p, "cpus", " CPUs");
    add_meta(&l, p, "kernel", "");
    end_line(&l);
}

static double quality(const struct profile *p, const char *what)
{
    char key[64];

    snprintf(key, sizeof key, "quality.%s", what);
    return profile_meta_number(p, key, -1);
}

static void add_rate(struct line *l, const struct profile *p)
{
    double requested = profile_meta_number(p, "rate_asked", 0);
    double got = profile_meta_number(p, "rate_achieved", 0);

    if (requested > 0 && got > 0)
        add_item(l, "%.0f of %.0f Hz", got, requested);
    else if (requested > 0)
        add_item(l, "%.0f Hz", requested);
}

static void add_stacks(struct line *l, const struct profile *p, double samples)
{
    double complete = quality(p, "complete"), cut = quality(p, "truncated");
    double stacks = quality(p, "stacks");
    double joined = quality(p, "joined"), unreadable = quality(p, "unreadable");
    double chains = quality(p, "chains_ended");

    unreadable -= chains > 0 ? chains : 0;
    stacks = stacks >= 0 ? stacks : samples;
    if (complete >= 0 && stacks > 0)
        add_item(l, "%.1f %% of stacks complete", 100 * complete / stacks);
    if (cut > 0)
        add_item(l, "%s truncated", human_count(sat_of(cut)).s);
    if (joined > 0)
        add_item(l, "%s joined", human_count(sat_of(joined)).s);
    if (unreadable > 0)
        add_item(l, "%s unreadable", human_count(sat_of(unreadable)).s);
}

static void add_stops(struct line *l, const struct profile *p)
{
    double n = quality(p, "stops");

    if (n > 0)
        add_item(l, "%s stops of %s in all", human_count(sat_of(n)).s,
                 human_ns(quality(p, "stopped_ns")).s);
}

/* What precedes the reason for the rung. */
static const char *before_reason(const struct profile *p)
{
    const char *rung = profile_meta(p, "rung");

    if (rung && strcmp(rung, "in-process") == 0)
        return "note: sampled from inside the program: ";
    if (rung && strcmp(rung, "stops") == 0)
        return "note: sampled by brief stops: ";
    return "note: user space only: ";
}

static void print_not_walked(const struct profile *p, struct out *o)
{
    struct line l = { o, false };
    double n = quality(p, "not_walked");

    if (n > 0)
        add_item(&l, "note: %s stack%s not walked: no unwind information in %s",
                 human_count(sat_of(n)).s, n == 1 ? "" : "s",
                 profile_meta(p, "quality.not_walked_in"));
    end_line(&l);
}

/* Waits that are not from records of the kernel. */
static void print_looks(const struct profile *p, struct out *o)
{
    double unsure = quality(p, "waits_unsure_ns"), hz = profile_meta_number(p, "rate_asked", 0);

    if (unsure < 0 || hz <= 0)
        return;
    out_printf(o, "note: waits were found by looking at each thread every %s or more rarely",
               human_ns(1e9 / hz).s);
    if (unsure > 0)
        out_printf(o, "; %s of them fell between two looks and are divided by estimate",
                   human_ns(unsure).s);
    out_char(o, '\n');
}

static void print_line(struct out *o, const char *before, const char *text)
{
    struct line l = { o, false };

    if (!*text)
        return;
    out_str(o, before);
    add_item(&l, "%s", text);
    end_line(&l);
}

/* Print a line for each counter of problems that is not zero. */
static void print_problems(const struct profile *p, struct out *o)
{
    static const struct {
        const char *key, *text;
    } problems[] = {
        { "throttled", "the kernel throttled the events %s times: use a lower rate" },
        { "threads_missed", "%s threads were not recorded from their start" },
        { "python_given_up", "%s Python stacks could not be read" },
        { "dropped", "%s events were dropped because a channel was full" },
        { "chains_ended", "%s frame-pointer chains are incomplete: code without frame pointers "
                          "hides its callers; record with --call-graph dwarf" },
        { "mappings_ignored", "%s mappings were ignored: too many for the size of the recording" },
        { "files_unopened", "programs and libraries not read for lack of file descriptors: %s; "
                            "raise the limit (ulimit -n)" },
        { "unanswered", "%s threads did not answer when asked for samples: they block signals" },
        { "unmatched", "%s calls have no begin or no end in the trace" },
    };

    for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
        double n = quality(p, problems[i].key);
        const char *at = strstr(problems[i].text, "%s");

        if (n > 0)
            out_printf(o, "note: %.*s%s%s\n", (int)(at - problems[i].text), problems[i].text,
                       human_count(sat_of(n)).s, at + 2);
    }
    print_not_walked(p, o);
    print_line(o, "note: ", profile_meta(p, "events_why"));
    print_line(o, before_reason(p), profile_meta(p, "rung_why"));
    print_line(o, "      ", profile_meta(p, "remedy"));
    print_line(o, "note: ran without the agent: ", profile_meta(p, "quality.without_agent"));
    print_looks(p, o);
    print_line(o, "damaged: ", p->damage);
    print_line(o, "cut: ", p->cut);
}

/* CPU time without samples, unless it is as little as the end of any thread. */
static void print_unsampled(const struct profile *p, struct out *o)
{
    double ns = quality(p, "unsampled_ns"), all = quality(p, "target_cpu_ns");
    double threads = (double)p->thread.n, period = 1e9 / profile_meta_number(p, "rate_asked", 1);

    if (ns <= 0 || ns * 100 < all || ns < 5 * period)
        return;
    out_printf(o, "note: %s of CPU time was not sampled", human_ns(ns).s);
    if (all > ns)
        out_printf(o, " (%.1f %%)", 100 * ns / all);
    out_str(o, ns < threads * period ? ": threads ended before or between samples; a higher -F "
                                       "sees more\n"
                                     : "\n");
}

void an_quality_lines(const struct profile *p, struct out *o)
{
    struct line l = { o, false };
    double samples = quality(p, "samples"), lost = quality(p, "lost");
    double own = quality(p, "recorder_cpu_ns"), target = quality(p, "target_cpu_ns");

    if (samples >= 0)
        add_item(&l, "%s sample%s", human_count(sat_of(samples)).s, samples == 1 ? "" : "s");
    if (lost >= 0)
        add_item(&l, "%s lost", human_count(sat_of(lost)).s);
    add_rate(&l, p);
    add_meta(&l, p, "events", "");
    add_stacks(&l, p, samples);
    add_meta(&l, p, "rung", "");
    if (own >= 0 && target > own)
        add_item(&l, "recorder %s CPU (%.1f %%)", human_ns(own).s, 100 * own / target);
    else if (own >= 0 && target > 0)
        add_item(&l, "recorder %s CPU", human_ns(own).s);
    add_stops(&l, p);
    end_line(&l);
    print_unsampled(p, o);
    an_surroundings_lines(p, o);
    print_problems(p, o);
}

static int heaviest_first(const void *a, const void *b)
{
    const struct an_unnamed *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->module < y->module ? -1 : 1;
}

/* Compute the self cost by module, and the part of it without a function. */
static void weigh_modules(const struct an_view *v, int64_t *all, int64_t *bare)
{
    const struct profile *p = v->profile;

    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];
        uint32_t stack, frame, module;
        unsigned kind;

        if (!an_view_takes(v, m, &stack, &kind))
            continue;
        frame = stack ? p->stack.v[stack - 1].frame : 0;
        module = frame ? p->frame.v[frame - 1].module : 0;
        if (!module)
            continue;
        all[module] += m->weight;
        if (!p->chain.v[frame - 1].n)
            bare[module] += m->weight;
    }
}

void an_quality_unnamed(const struct an_view *v, struct an_unnamed_list *out)
{
    const struct profile *p = v->profile;
    int64_t *all = mem_zalloc((p->module.n + 1) * sizeof *all);
    int64_t *bare = mem_zalloc((p->module.n + 1) * sizeof *bare);

    *out = (struct an_unnamed_list){ 0 };
    weigh_modules(v, all, bare);
    for (uint32_t id = 1; id <= p->module.n; id++) {
        const struct module *m = &p->module.v[id - 1];
        struct an_unnamed u = { id, all[id], profile_string(p, m->symbols),
                                profile_string(p, m->advice) };
        bool poor = *u.advice || strcmp(u.source, "none") == 0 || strcmp(u.source, "eh_frame") == 0;

        if (all[id] && (poor || bare[id]))
            vec_push(&out->v, u);
    }
    if (out->v.n)
        qsort(out->v.v, out->v.n, sizeof *out->v.v, heaviest_first);
    free(all);
    free(bare);
}
