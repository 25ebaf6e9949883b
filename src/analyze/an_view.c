/* an_view.c - see an_view.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "analyze/an_threads.h"
#include "base/mem.h"

static const char wall_name[] = "wall";

struct an_view an_view_of(const struct profile *p, uint32_t metric)
{
    return (struct an_view){ .profile = p, .metric = metric };
}

static bool has_samples(const struct profile *p, uint32_t metric)
{
    for (size_t i = 0; i < p->sample.n; i++)
        if (p->sample.v[i].metric == metric)
            return true;
    return false;
}

static bool is_time(const struct profile *p, const struct metric *m)
{
    return strcmp(profile_string(p, m->unit), "ns") == 0 && !(m->flags & METRIC_LIVE);
}

/* Find the metrics of running and waiting; false unless P has both. */
static bool find_both(const struct profile *p, uint32_t *running, uint32_t *waiting)
{
    *running = *waiting = 0;
    for (uint32_t i = p->metric.n; i > 0; i--) {
        const struct metric *m = &p->metric.v[i - 1];

        if (m->flags & METRIC_OFF_CPU)
            *waiting = i;
        else if (is_time(p, m))
            *running = i;
    }
    return *running && *waiting && is_time(p, &p->metric.v[*waiting - 1]);
}

/* When the table is full, return the kind of unspecified waits. */
static unsigned kind_of(struct an_view *v, const char *name)
{
    for (unsigned i = 1; i < v->n_kinds; i++)
        if (strcmp(v->kind[i], name) == 0)
            return i;
    if (v->n_kinds == AN_KINDS)
        return 1;
    v->kind[v->n_kinds] = name;
    return v->n_kinds++;
}

static void learn_kinds(struct an_view *v)
{
    const struct profile *p = v->profile;
    uint32_t *wait = an_tags_with(p, TAG_WAIT);

    v->n_kinds = 1;
    v->kind[0] = "running";
    v->kind_of_tags = mem_zalloc(p->tag.n + 1);
    v->kind_of_tags[0] = (unsigned char)kind_of(v, an_wait_name(p, NULL));
    for (uint32_t id = 1; id <= p->tag.n; id++)
        v->kind_of_tags[id] = (unsigned char)kind_of(
            v, an_wait_name(p, wait[id] ? &p->tag.v[wait[id] - 1] : NULL));
    free(wait);
}

/* The weights of each metric fit in 63 bits; check that the sum of both does. */
static bool sum_fits(const struct an_view *v)
{
    double sum = 0;

    for (size_t i = 0; i < v->profile->sample.n; i++) {
        const struct profile_sample *m = &v->profile->sample.v[i];

        if (m->metric == v->metric || m->metric == v->waiting)
            sum += fabs((double)m->weight);
    }
    return sum < 9e18;
}

static bool open_wall(struct an_view *v)
{
    if (!find_both(v->profile, &v->metric, &v->waiting) || !sum_fits(v)) {
        v->waiting = 0;
        return false;
    }
    learn_kinds(v);
    v->idle = mem_zalloc(v->profile->thread.n + 1);
    an_threads_find_idle(v, v->idle);
    return true;
}

static void split_waits(struct an_view *v)
{
    if (!v->metric || !(v->profile->metric.v[v->metric - 1].flags & METRIC_OFF_CPU))
        return;
    v->waiting = v->metric;
    v->metric = 0;
    learn_kinds(v);
}

static int no_such_metric(const struct profile *p, const char *name, struct err *e)
{
    char names[512] = "";
    size_t n = 0;

    for (size_t i = 0; i < p->metric.n && n + 1 < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                              profile_string(p, p->metric.v[i].name));
    err_set(e, ERR_MISSING, "the profile has no metric \"%s\"", name);
    err_hint(e, "it has: %s", *names ? names : "none");
    return -1;
}

static int open_named(struct an_view *v, const char *name, enum an_view_way way, struct err *e)
{
    *v = an_view_of(v->profile, profile_find_metric(v->profile, name));
    if (!v->metric && (strcmp(name, wall_name) != 0 || !open_wall(v)))
        return no_such_metric(v->profile, name, e);
    if (way == AN_VIEW_KINDS && !v->waiting)
        split_waits(v);
    v->all_threads = way != AN_VIEW_KINDS;
    return 0;
}

int an_view_open(struct an_view *v, const struct profile *p, const char *name,
                 enum an_view_way way, struct err *e)
{
    *v = an_view_of(p, p->metric.n > 0);
    if (name)
        return open_named(v, name, way, e);
    if (way != AN_VIEW_PLAIN && open_wall(v) && has_samples(p, v->waiting)) {
        v->all_threads = way != AN_VIEW_KINDS;
        return 0;
    }
    an_view_release(v);
    *v = an_view_of(p, p->metric.n > 0);
    if (p->sample.n && !has_samples(p, v->metric))
        v->metric = p->sample.v[0].metric;
    if (way == AN_VIEW_KINDS)
        split_waits(v);
    return 0;
}

void an_view_narrow(struct an_view *v, struct profile *p)
{
    uint32_t *as = mem_zalloc((p->metric.n + 1) * sizeof *as), kept = 0;
    size_t samples = 0;

    for (uint32_t id = 1; id <= p->metric.n; id++)
        if (id == v->metric || id == v->waiting) {
            p->metric.v[kept] = p->metric.v[id - 1];
            as[id] = ++kept;
        }
    p->metric.n = kept;
    for (size_t i = 0; i < p->sample.n; i++)
        if (as[p->sample.v[i].metric]) {
            profile_move_sample(p, samples, i);
            p->sample.v[samples].metric = as[p->sample.v[samples].metric];
            samples++;
        }
    profile_keep_samples(p, samples);
    v->metric = as[v->metric];
    v->waiting = as[v->waiting];
    free(as);
}

void an_view_release(struct an_view *v)
{
    free(v->kind_of_tags);
    free(v->idle);
    *v = (struct an_view){ 0 };
}

static const struct metric *one_metric(const struct an_view *v)
{
    uint32_t id = v->metric ? v->metric : v->waiting;

    return id ? &v->profile->metric.v[id - 1] : NULL;
}

const char *an_view_name(const struct an_view *v)
{
    const struct metric *m = one_metric(v);

    if (v->waiting && v->metric)
        return wall_name;
    return m ? profile_string(v->profile, m->name) : "";
}

const char *an_view_unit(const struct an_view *v)
{
    const struct metric *m = one_metric(v);

    return m ? profile_string(v->profile, m->unit) : "";
}

bool an_view_is_exact(const struct an_view *v)
{
    const struct metric *m = one_metric(v);

    return m && m->flags & METRIC_EXACT && !(v->waiting && v->metric);
}
