/* an_filter.c - see an_filter.h.  Evaluate each filter once per thread, module or function,
 * propagate the result down the stack tree once per stack, and look it up for each sample, span
 * and counter.
 * SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_filter.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "base/sat.h"

static bool is_number(const char *word, int64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, number);
    return strcmp(word, text) == 0;
}

static bool is_one_of(const char *name, const struct opt_list *words)
{
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(name, words->v[i]) == 0)
            return true;
    return words->n == 0;
}

static bool process_passes(const struct profile *p, const struct process *r,
                           const struct an_filter *f)
{
    const struct opt_list *words = &f->process;
    bool passes = words->n == 0;

    for (size_t i = 0; i < words->n && !passes; i++)
        passes = is_number(words->v[i], r->pid) ||
                 strstr(profile_string(p, r->name), words->v[i]) ||
                 strstr(profile_string(p, r->command), words->v[i]);
    return passes && is_one_of(profile_string(p, r->name), &f->command);
}

static bool thread_passes(const struct profile *p, const struct thread *t,
                          const struct opt_list *words)
{
    for (size_t i = 0; i < words->n; i++)
        if (is_number(words->v[i], t->tid) || strstr(profile_string(p, t->name), words->v[i]))
            return true;
    return words->n == 0;
}

/* By thread id; [0] is for samples without a thread. */
static unsigned char *pick_threads(const struct profile *p, const struct an_filter *f)
{
    unsigned char *pass = mem_zalloc(p->thread.n + 1);

    pass[0] = !f->process.n && !f->command.n && !f->thread.n;
    for (size_t i = 0; i < p->thread.n; i++) {
        const struct thread *t = &p->thread.v[i];
        bool of_process = t->process
                              ? process_passes(p, &p->process.v[t->process - 1], f)
                              : !f->process.n && !f->command.n;

        pass[i + 1] = of_process && thread_passes(p, t, &f->thread);
    }
    return pass;
}

/* By process id; [0] is for machine-wide counters.  With a thread filter, a process needs a thread
 * that passes. */
static unsigned char *pick_processes(const struct profile *p, const struct an_filter *f,
                                     const unsigned char *threads)
{
    unsigned char *pass = mem_zalloc(p->process.n + 1);

    pass[0] = !f->process.n && !f->command.n;
    for (size_t i = 0; i < p->process.n; i++)
        pass[i + 1] = !f->thread.n && process_passes(p, &p->process.v[i], f);
    for (size_t i = 0; i < p->thread.n; i++)
        if (p->thread.v[i].process)
            pass[p->thread.v[i].process] |= threads[i + 1];
    return pass;
}

enum { MATCHES = 1, EXCLUDED = 2, IN_MODULE = 4 };

struct patterns {
    regex_t re[OPT_LIST_MAX];
    size_t n;
};

static int compile(struct patterns *out, const struct opt_list *words, struct err *e)
{
    for (; out->n < words->n; out->n++) {
        int rc = regcomp(&out->re[out->n], words->v[out->n], REG_EXTENDED | REG_NOSUB);
        char why[128];

        if (!rc)
            continue;
        regerror(rc, NULL, why, sizeof why);
        return err_set(e, ERR_USAGE, "invalid regular expression \"%s\": %s",
                       words->v[out->n], why);
    }
    return 0;
}

static void patterns_release(struct patterns *x)
{
    while (x->n)
        regfree(&x->re[--x->n]);
}

static bool any_match(const struct patterns *x, const char *name)
{
    for (size_t i = 0; i < x->n; i++)
        if (regexec(&x->re[i], name, 0, NULL, 0) == 0)
            return true;
    return false;
}

static unsigned char flags_of(const char *name, const struct patterns *wanted,
                              const struct patterns *unwanted)
{
    return (any_match(wanted, name) ? MATCHES : 0) | (any_match(unwanted, name) ? EXCLUDED : 0);
}

static unsigned char *flag_functions(const struct profile *p, const struct patterns *wanted,
                                     const struct patterns *unwanted)
{
    unsigned char *flags = mem_zalloc(p->function.n + 1);

    for (size_t i = 0; i < p->function.n; i++)
        flags[i + 1] = flags_of(profile_string(p, p->function.v[i].name), wanted, unwanted);
    return flags;
}

/* By string, for the names of spans: not every span has a stack. */
static unsigned char *flag_names(const struct profile *p, const struct patterns *wanted,
                                 const struct patterns *unwanted)
{
    unsigned char *flags = mem_zalloc(p->string.n + 1), *seen = mem_zalloc(p->string.n + 1);

    for (size_t i = 0; i < p->span.n; i++) {
        uint32_t name = p->span.v[i].name;

        if (!seen[name])
            flags[name] = flags_of(profile_string(p, name), wanted, unwanted);
        seen[name] = 1;
    }
    free(seen);
    return flags;
}

static bool module_passes(const struct profile *p, uint32_t module, const struct opt_list *words)
{
    const char *path = module ? profile_string(p, p->module.v[module - 1].path) : "";

    for (size_t i = 0; i < words->n; i++)
        if (strstr(path, words->v[i]))
            return true;
    return words->n == 0;
}

/* Compute the flags of each frame: those of all its functions, and whether its module matches. */
static unsigned char *flag_frames(const struct profile *p, const struct an_filter *f,
                                  const unsigned char *functions)
{
    unsigned char *flags = mem_zalloc(p->frame.n + 1);
    unsigned char *modules = mem_zalloc(p->module.n + 1);

    for (uint32_t i = 0; i <= p->module.n; i++)
        modules[i] = module_passes(p, i, &f->module) ? IN_MODULE : 0;
    for (size_t i = 0; i < p->frame.n; i++) {
        struct profile_chain c = i < p->chain.n ? p->chain.v[i] : (struct profile_chain){ 0 };
        uint32_t module = p->frame.v[i].module;

        for (uint32_t k = 0; k < c.n; k++) {
            uint32_t function = p->location.v[c.first + k].function;

            flags[i + 1] |= functions[function];
            if (!module)
                module = function ? p->function.v[function - 1].module : 0;
        }
        flags[i + 1] |= modules[module];
    }
    free(modules);
    return flags;
}

/* A parent has a lower id than its children, so one pass propagates the flags.  The module filter
 * considers only the innermost frame. */
static unsigned char *flag_stacks(const struct profile *p, const unsigned char *frames)
{
    unsigned char *flags = mem_zalloc(p->stack.n + 1);

    for (size_t i = 0; i < p->stack.n; i++)
        flags[i + 1] = (flags[p->stack.v[i].parent] & (MATCHES | EXCLUDED)) |
                       frames[p->stack.v[i].frame];
    return flags;
}

struct span_ns {
    uint64_t from, to;
};

static int parse_time(const struct profile *p, const char *text, struct span_ns *out,
                      struct err *e)
{
    uint64_t start = profile_start_ns(p);
    double a = 0, b = -1;
    bool has_dash;
    char *end = (char *)text;

    *out = (struct span_ns){ 0, UINT64_MAX };
    if (!text)
        return 0;
    if (*end != '-')
        a = strtod(text, &end);
    has_dash = *end == '-';
    if (has_dash && end[1])
        b = strtod(end + 1, &end);
    else if (has_dash)
        end++;
    if (!has_dash || *end || !(a >= 0) || (b >= 0 && b < a) || a > 1e9 || b > 1e9)
        return err_set(e, ERR_USAGE, "--time: \"%s\" is not A-B in seconds, such as 1.5-3", text);
    if (!start)
        return err_set(e, ERR_MISSING, "--time: the profile has no times");
    out->from = start + (uint64_t)(a * 1e9);
    if (b >= 0)
        out->to = start + (uint64_t)(b * 1e9);
    return 0;
}

/* Mark the tag sets that match WORD, "KEY=VALUE" or "KEY". */
static void mark_tags(const struct profile *p, const char *word, unsigned char *fits)
{
    size_t n = strcspn(word, "=");
    char *key = mem_strndup(word, n);
    uint32_t *with = an_tags_with(p, key);

    for (uint32_t set = 1; set <= p->tag.n; set++)
        fits[set] |= with[set] &&
                     (!word[n] || an_tag_is(p, &p->tag.v[with[set] - 1], word + n + 1));
    free(with);
    free(key);
}

/* Every word must name a tag that the profile has. */
static int check_tags(const struct profile *p, const struct opt_list *words, struct err *e)
{
    for (size_t i = 0; i < words->n; i++) {
        size_t n = strcspn(words->v[i], "=");
        char *key = mem_strndup(words->v[i], n);
        int rc = n ? an_tags_check(p, key, e)
                   : err_set(e, ERR_USAGE, "--tag: \"%s\" is not KEY or KEY=VALUE", words->v[i]);

        free(key);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static bool same_key(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");

    return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

/* By tag set; [0] is for samples without tags.  A set must match one of the values of every key. */
static unsigned char *pick_tags(const struct profile *p, const struct opt_list *words)
{
    unsigned char *pass = mem_alloc(p->tag.n + 1), *fits = mem_alloc(p->tag.n + 1);

    memset(pass, 1, p->tag.n + 1);
    for (size_t i = 0; i < words->n; i++) {
        memset(fits, 0, p->tag.n + 1);
        for (size_t k = 0; k < words->n; k++)
            if (same_key(words->v[i], words->v[k]))
                mark_tags(p, words->v[k], fits);
        for (size_t set = 0; set <= p->tag.n; set++)
            pass[set] &= fits[set];
    }
    free(fits);
    return pass;
}

struct verdict {
    unsigned char *threads, *processes, *stacks, *names, *tags;
    unsigned char need; /* flags a stack must have */
    struct span_ns time;
    bool has_time; /* --time is given */
};

static bool passes(const struct verdict *v, uint32_t thread, uint32_t tags, unsigned char flags)
{
    return v->threads[thread] && v->tags[tags] && (flags & v->need) == v->need &&
           !(flags & EXCLUDED);
}

static bool is_within(uint64_t time_ns, struct span_ns window)
{
    return time_ns >= window.from && time_ns <= window.to;
}

/* Cut what lasts some time to the window; the rest is in the window or not.  False: outside. */
static bool cut(uint64_t *start_ns, uint64_t *duration_ns, struct span_ns window)
{
    uint64_t end = *start_ns + *duration_ns;

    if (!*duration_ns || end < *start_ns)
        return is_within(*start_ns, window);
    if (end <= window.from || *start_ns >= window.to)
        return false;
    if (*start_ns < window.from)
        *start_ns = window.from;
    if (end > window.to)
        end = window.to;
    *duration_ns = end - *start_ns;
    return true;
}

/* Cut a measured sample to the window; its weight keeps the share of its duration.  A sample that
 * stands for a period is in the window or not.  The part of a sum that belongs to the window is
 * unknown.  False: outside or unknown. */
static bool clip(struct profile *p, size_t i, const struct verdict *v)
{
    struct profile_sample *m = &p->sample.v[i];
    uint32_t flags = p->metric.v[m->metric - 1].flags;
    struct profile_time t = profile_time(p, i);
    uint64_t all = t.duration_ns;

    if (flags & METRIC_WHOLE)
        return !v->has_time;
    if (!(flags & METRIC_EXACT))
        return is_within(t.start_ns, v->time);
    if (!cut(&t.start_ns, &t.duration_ns, v->time))
        return false;
    if (t.duration_ns != all) {
        m->weight = sat_of(round((double)m->weight * ((double)t.duration_ns / (double)all)));
        p->time.v[i] = t;
    }
    return true;
}

static void drop_samples(struct profile *p, const struct verdict *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];

        if (passes(v, m->thread, m->tags, v->stacks[m->stack]) && clip(p, i, v))
            profile_move_sample(p, kept++, i);
    }
    profile_keep_samples(p, kept);
}

static void drop_spans(struct profile *p, const struct verdict *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->span.n; i++) {
        struct span s = p->span.v[i];

        if (passes(v, s.thread, s.tags, v->stacks[s.stack] | v->names[s.name]) &&
            cut(&s.start_ns, &s.duration_ns, v->time))
            p->span.v[kept++] = s;
    }
    p->span.n = kept;
}

/* A counter has no stack: filters by function and module do not apply. */
static void drop_counters(struct profile *p, const struct verdict *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->counter.n; i++) {
        const struct counter *c = &p->counter.v[i];

        if (v->processes[c->process] && v->tags[c->tags] && is_within(c->time_ns, v->time))
            p->counter.v[kept++] = *c;
    }
    p->counter.n = kept;
}

static bool only_sums(const struct profile *p)
{
    for (size_t i = 0; i < p->metric.n; i++)
        if (!(p->metric.v[i].flags & METRIC_WHOLE))
            return false;
    return true;
}

static int drop_others(struct profile *p, const struct verdict *v, bool is_trace, struct err *e)
{
    size_t samples = p->sample.n, spans = is_trace ? p->span.n : 0;

    drop_samples(p, v);
    drop_spans(p, v);
    drop_counters(p, v);
    if (!(samples + spans) || p->sample.n || (is_trace && p->span.n))
        return 0;
    if (!v->has_time || !only_sums(p))
        return err_set(e, ERR_MISSING, "no samples match the filters");
    err_hint(e, "fathom export -f chrome keeps the times of traced zones");
    return err_set(e, ERR_MISSING, "--time: the profile has only sums over the whole recording");
}

static bool is_empty(const struct an_filter *f)
{
    return !f->process.n && !f->command.n && !f->thread.n && !f->module.n && !f->function.n &&
           !f->exclude.n && !f->tag.n && !f->time;
}

int an_filter_apply(struct profile *p, const struct an_filter *f, struct err *e)
{
    struct patterns wanted = { 0 }, unwanted = { 0 };
    unsigned char *functions, *frames;
    struct verdict v = { .need = (f->function.n ? MATCHES : 0) | (f->module.n ? IN_MODULE : 0),
                         .has_time = f->time };
    int rc = -1;

    if (is_empty(f))
        return 0;
    if (parse_time(p, f->time, &v.time, e) == 0 && check_tags(p, &f->tag, e) == 0 &&
        compile(&wanted, &f->function, e) == 0 && compile(&unwanted, &f->exclude, e) == 0) {
        v.threads = pick_threads(p, f);
        v.processes = pick_processes(p, f, v.threads);
        functions = flag_functions(p, &wanted, &unwanted);
        frames = flag_frames(p, f, functions);
        v.stacks = flag_stacks(p, frames);
        v.names = flag_names(p, &wanted, &unwanted);
        v.tags = pick_tags(p, &f->tag);
        rc = drop_others(p, &v, f->is_trace, e);
        free(v.threads);
        free(v.processes);
        free(functions);
        free(frames);
        free(v.stacks);
        free(v.names);
        free(v.tags);
    }
    patterns_release(&wanted);
    patterns_release(&unwanted);
    return rc;
}
