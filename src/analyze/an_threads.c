/* an_threads.c - see an_threads.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_threads.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "base/hash.h"

enum { IDLE_RUNS_PCT = 2, IDLE_PLACE_PCT = 90, LOCK_FRAMES = 4 };

static bool is_kind(const struct an_view *v, unsigned kind, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v->kind[kind], names[i]) == 0)
            return true;
    return false;
}

/* Is this the wait kind of a thread that has work to do? */
static bool is_busy_kind(const struct an_view *v, unsigned kind)
{
    static const char *const busy[] = { WAIT_QUEUE, WAIT_FAULT, "disk", "write", "file lock",
                                        "kernel lock", "connect" };

    return kind == 0 || is_kind(v, kind, busy, ARRAY_LEN(busy));
}

/* "pthread_mutex_lock", "Mutex::lock_contended"; not "clock_nanosleep", not "block_on". */
static bool names_a_lock(const char *name)
{
    for (const char *at = name; (at = strstr(at, "lock")); at++)
        if (at == name || (at[-1] != 'c' && at[-1] != 'b'))
            return true;
    return false;
}

static bool is_at_a_lock(const struct profile *p, uint32_t stack)
{
    for (int i = 0; i < LOCK_FRAMES && stack; i++, stack = p->stack.v[stack - 1].parent) {
        struct profile_chain c = p->chain.v[p->stack.v[stack - 1].frame - 1];

        for (uint32_t k = 0; k < c.n; k++) {
            uint32_t function = p->location.v[c.first + k].function;

            if (names_a_lock(profile_string(p, p->function.v[function - 1].name)))
                return true;
        }
    }
    return false;
}

struct place {
    uint64_t key; /* thread and stack */
    int64_t ns;
};
struct places {
    struct umap at;
    VEC(struct place) v;
};

static void add_place(struct places *s, uint32_t thread, uint32_t stack, int64_t ns)
{
    uint64_t key = (uint64_t)thread << 32 | stack;
    uint32_t i = umap_find(&s->at, key);

    if (!i) {
        vec_push(&s->v, ((struct place){ .key = key }));
        i = (uint32_t)s->v.n;
        umap_put(&s->at, key, i);
    }
    s->v.v[i - 1].ns += ns;
}

/* Compute the times of each thread, by thread id. */
static struct an_thread *weigh(const struct an_view *v)
{
    const struct profile *p = v->profile;
    struct an_thread *t = mem_zalloc((p->thread.n + 1) * sizeof *t);
    struct an_view every = *v;
    struct places places = { 0 };

    every.all_threads = true;
    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];
        uint32_t stack;
        unsigned kind;

        if (!an_view_takes(&every, m, &stack, &kind))
            continue;
        t[m->thread].kind[kind] += m->weight;
        t[m->thread].waiting += kind ? m->weight : 0;
        if (!is_busy_kind(v, kind))
            add_place(&places, m->thread, stack, m->weight);
    }
    for (size_t i = 0; i < places.v.n; i++) {
        const struct place *at = &places.v.v[i];
        struct an_thread *of = &t[at->key >> 32];

        if (at->ns > of->place_ns) {
            of->place = (uint32_t)at->key;
            of->place_ns = at->ns;
        }
    }
    umap_release(&places.at);
    vec_release(&places.v);
    return t;
}

static bool seems_idle(const struct an_view *v, const struct an_thread *t)
{
    int64_t idle = 0, all = t->kind[0] + t->waiting;

    for (unsigned i = 1; i < v->n_kinds; i++)
        idle += is_busy_kind(v, i) ? 0 : t->kind[i];
    return all && (double)(all - idle) * 100 <= (double)all * IDLE_RUNS_PCT &&
           (double)t->place_ns * 100 >= (double)idle * IDLE_PLACE_PCT &&
           !is_at_a_lock(v->profile, t->place);
}

void an_threads_find_idle(const struct an_view *v, unsigned char *idle)
{
    struct an_thread *t = weigh(v);
    int64_t longest = 0;
    double left = 0;

    for (size_t id = 0; id <= v->profile->thread.n; id++) {
        int64_t all = t[id].kind[0] + t[id].waiting;

        longest = all > longest ? all : longest;
        idle[id] = seems_idle(v, &t[id]);
        left += idle[id] ? 0 : (double)all;
    }
    if (left < (double)longest / 2)
        memset(idle, 0, v->profile->thread.n + 1);
    free(t);
}

static int busiest_first(const void *a, const void *b)
{
    const struct an_thread *x = a, *y = b;
    int64_t p = x->kind[0] + x->waiting, q = y->kind[0] + y->waiting;

    if (x->idle != y->idle)
        return x->idle ? 1 : -1;
    if (x->idle && x->place != y->place)
        return x->place < y->place ? -1 : 1; /* keep the threads of a pool together */
    if (p != q)
        return p < q ? 1 : -1;
    return x->thread < y->thread ? -1 : 1;
}

/* Sum the waits whose stack is guessed.  Being preempted needs no observation: the thread is in the
 * run queue, at or near its last sample. */
static int64_t guessed_ns(const struct an_view *v)
{
    const struct profile *p = v->profile;
    uint32_t *about = an_tags_with(p, TAG_STACK);
    int64_t sum = 0;

    for (size_t i = 0; i < p->sample.n; i++) {
        const struct profile_sample *m = &p->sample.v[i];
        uint32_t stack, pair = about[m->tags];
        unsigned kind;

        if (pair && an_view_takes(v, m, &stack, &kind) && kind &&
            strcmp(v->kind[kind], WAIT_QUEUE) != 0 &&
            an_tag_is(p, &p->tag.v[pair - 1], "guessed"))
            sum += m->weight;
    }
    free(about);
    return sum;
}

struct task {
    int64_t pid, tid;
};

static int by_id(const void *a, const void *b)
{
    const struct task *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Count the threads of the system among the busy ones; one without an id counts as itself. */
static size_t count_busy(const struct an_threads *t, const struct profile *p)
{
    struct task *task = mem_alloc((t->v.n + 1) * sizeof *task);
    size_t n = 0, count = 0;

    for (size_t i = 0; i < t->v.n; i++) {
        uint32_t id = t->v.v[i].thread, process = id ? p->thread.v[id - 1].process : 0;

        if (t->v.v[i].idle)
            continue;
        if (process && p->thread.v[id - 1].tid > 0)
            task[n++] = (struct task){ p->process.v[process - 1].pid, p->thread.v[id - 1].tid };
        else
            count++;
    }
    if (n)
        qsort(task, n, sizeof *task, by_id);
    for (size_t i = 0; i < n; i++)
        count += i == 0 || by_id(&task[i - 1], &task[i]) != 0;
    free(task);
    return count;
}

void an_threads_build(struct an_threads *out, const struct an_view *v)
{
    struct an_thread *t = weigh(v);

    *out = (struct an_threads){ .guessed = guessed_ns(v) };
    for (uint32_t id = 0; id <= v->profile->thread.n; id++) {
        if (!t[id].kind[0] && !t[id].waiting)
            continue;
        t[id].thread = id;
        t[id].idle = v->idle && !v->all_threads && v->idle[id];
        vec_push(&out->v, t[id]);
        out->n_idle += t[id].idle;
        out->kind[0] += t[id].kind[0];
        for (unsigned k = 1; k < AN_KINDS && !t[id].idle; k++)
            out->kind[k] += t[id].kind[k];
        out->waiting += t[id].idle ? 0 : t[id].waiting;
    }
    if (out->v.n)
        qsort(out->v.v, out->v.n, sizeof *out->v.v, busiest_first);
    out->n_busy = count_busy(out, v->profile);
    free(t);
}

void an_threads_release(struct an_threads *t)
{
    vec_release(&t->v);
}
