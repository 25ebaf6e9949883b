/* profile.c - create, access and replay a profile in memory.  profile_load.c fills it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void profile_free(struct profile *p)
{
    if (!p)
        return;
    arena_release(&p->arena);
    vec_release(&p->meta);
    vec_release(&p->string);
    vec_release(&p->metric);
    vec_release(&p->process);
    vec_release(&p->thread);
    vec_release(&p->module);
    vec_release(&p->frame);
    vec_release(&p->function);
    vec_release(&p->chain);
    vec_release(&p->location);
    vec_release(&p->stack);
    vec_release(&p->depth);
    vec_release(&p->tag);
    vec_release(&p->sample);
    vec_release(&p->time);
    vec_release(&p->span);
    vec_release(&p->counter);
    vec_release(&p->row);
    vec_release(&p->source);
    vec_release(&p->code);
    index_release(&p->meta_of);
    free(p);
}

const char *profile_string(const struct profile *p, uint32_t id)
{
    return id && id <= p->string.n ? p->string.v[id - 1].s : "";
}

struct profile_meta *profile_find_meta(const struct profile *p, const char *key)
{
    uint64_t h = hash_bytes(key, strlen(key));

    for (uint32_t at = index_first(&p->meta_of, h), id; (id = index_id(&p->meta_of, h, &at));)
        if (strcmp(p->meta.v[id - 1].key, key) == 0)
            return &p->meta.v[id - 1];
    return NULL;
}

const char *profile_meta(const struct profile *p, const char *key)
{
    const struct profile_meta *m = profile_find_meta(p, key);

    return m ? m->value : "";
}

double profile_meta_number(const struct profile *p, const char *key, double otherwise)
{
    const char *text = profile_meta(p, key);
    char *end;
    double x = strtod(text, &end);

    return end == text || !isfinite(x) ? otherwise : x;
}

struct sample profile_sample(const struct profile *p, size_t i)
{
    const struct profile_sample *m = &p->sample.v[i];
    struct profile_time t = profile_time(p, i);

    return (struct sample){ .start_ns = t.start_ns, .duration_ns = t.duration_ns,
                            .thread = m->thread, .stack = m->stack, .metric = m->metric,
                            .tags = m->tags, .cpu = m->cpu, .weight = m->weight,
                            .count = m->count };
}

void profile_move_sample(struct profile *p, size_t to, size_t from)
{
    p->sample.v[to] = p->sample.v[from];
    if (p->time.n)
        p->time.v[to] = p->time.v[from];
}

void profile_keep_samples(struct profile *p, size_t n)
{
    p->sample.n = n;
    if (p->time.n)
        p->time.n = n;
}

static void earlier(uint64_t *first, uint64_t time_ns)
{
    if (time_ns && (!*first || time_ns < *first))
        *first = time_ns;
}

uint64_t profile_start_ns(const struct profile *p)
{
    uint64_t first = strtoull(profile_meta(p, "start_ns"), NULL, 10);

    if (first)
        return first;
    for (size_t i = 0; i < p->time.n; i++)
        earlier(&first, p->time.v[i].start_ns);
    for (size_t i = 0; i < p->span.n; i++)
        earlier(&first, p->span.v[i].start_ns);
    for (size_t i = 0; i < p->counter.n && !p->sample.n; i++)
        earlier(&first, p->counter.v[i].time_ns);
    return first;
}

uint32_t profile_find_string(const struct profile *p, const char *text)
{
    for (uint32_t id = 1; id <= p->string.n; id++)
        if (strcmp(p->string.v[id - 1].s, text) == 0)
            return id;
    return 0;
}

uint32_t profile_find_metric(const struct profile *p, const char *name)
{
    for (size_t i = 0; i < p->metric.n; i++)
        if (strcmp(profile_string(p, p->metric.v[i].name), name) == 0)
            return (uint32_t)i + 1;
    return 0;
}

/* Send each item of a table with the sink function of the same name. */
#define REPLAY_EACH(table, call)             \
    for (size_t i = 0; i < p->table.n; i++) \
    sink_##call(out, &p->table.v[i])

static void replay_definitions(const struct profile *p, struct sink *out)
{
    for (size_t i = 0; i < p->meta.n; i++)
        sink_meta(out, p->meta.v[i].key, p->meta.v[i].value);
    for (size_t i = 0; i < p->string.n; i++)
        sink_string(out, p->string.v[i].s, p->string.v[i].n);
    REPLAY_EACH(metric, metric);
    REPLAY_EACH(process, process);
    REPLAY_EACH(thread, thread);
    REPLAY_EACH(module, module);
    REPLAY_EACH(frame, frame);
    REPLAY_EACH(function, function);
    for (size_t i = 0; i < p->stack.n; i++)
        sink_stack(out, p->stack.v[i].parent, p->stack.v[i].frame);
    for (size_t i = 0; i < p->chain.n; i++) {
        struct profile_chain c = p->chain.v[i];

        if (c.n)
            sink_resolve(out, (uint32_t)i + 1, &p->location.v[c.first], c.n);
    }
    REPLAY_EACH(tag, tag);
}

void profile_replay(const struct profile *p, struct sink *out)
{
    replay_definitions(p, out);
    for (size_t i = 0; i < p->sample.n; i++) {
        struct sample m = profile_sample(p, i);

        sink_sample(out, &m);
    }
    REPLAY_EACH(span, span);
    REPLAY_EACH(counter, counter);
    for (size_t i = 0; i < p->row.n; i++)
        sink_line(out, &p->row.v[i].at, &p->location.v[p->row.v[i].chain.first],
                  p->row.v[i].chain.n);
    REPLAY_EACH(source, source);
    REPLAY_EACH(code, code);
}
