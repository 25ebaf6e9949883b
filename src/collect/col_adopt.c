/* col_adopt.c - see col_adopt.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_adopt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/col_ask.h"
#include "collect/col_code.h"
#include "collect/col_others.h"
#include "collect/col_paced.h"
#include "collect/col_proc.h"
#include "collect/col_watch.h"

/* Whether PID has mapped the memory: a process can claim to be another one.  MAPS: its maps. */
static bool is_recorded(const struct col_pacer *p, int64_t pid, struct buf *maps)
{
    maps->n = 0;
    if (col_code_read(pid, p->memory_inode, maps))
        return true;
    maps->n = 0;
    return false;
}

/* The pid of the process with record R, and its maps; 0: it has ended. */
static int64_t find_pid(struct col_pacer *p, const struct agent_process *r, struct buf *maps)
{
    struct col_tids below = { 0 };
    int64_t found = 0, inner = r->pid;

    if (r->namespace == p->namespace)
        return is_recorded(p, inner, maps) ? inner : 0;
    col_proc_descendants(getpid(), &below);
    for (size_t i = 0; i < below.n && !found; i++)
        if (col_proc_inner_pid(below.v[i]) == inner && is_recorded(p, below.v[i], maps))
            found = below.v[i];
    vec_release(&below);
    return found;
}

void col_adopt_free(struct col_pacer *p, struct col_paced_process *x)
{
    for (size_t i = 0; i < x->thread.n && x->way == COL_PACED_ASKED; i++)
        col_ask_forget(p, x->thread.v[i]);
    if (x->way == COL_PACED_ASKED)
        __atomic_store_n(&p->memory->process[x->number].state, AGENT_UNUSED, __ATOMIC_RELEASE);
    col_others_note(p, x);
    col_paced_free(x);
}

/* The kernel's counts of a thread go on when it executes a program. */
static void continue_thread(struct col_paced_thread *is, const struct col_paced_thread *was)
{
    is->cpu_ns = was->cpu_ns;
    is->watch.off = was->watch.off;
}

/* Forget the old one, but not what the kernel has counted. */
void col_adopt_replace(struct col_pacer *p, struct col_paced_process *x, uint64_t start_ns)
{
    for (size_t i = 0; i < p->process.n; i++) {
        struct col_paced_process *old = p->process.v[i];
        struct col_paced_thread *was = col_paced_find(old, (int)x->pid), *is;

        if (old->pid != x->pid)
            continue;
        is = col_paced_find(x, (int)x->pid);
        col_watch_end_all(p, old, start_ns);
        if (was && is)
            continue_thread(is, was);
        x->cpu_ns = old->cpu_ns;
        if (x->way == COL_PACED_ASKED && old->image == x->image)
            old->other_ns = old->samples = 0; /* it has the agent after all */
        p->process.v[i] = p->process.v[--p->process.n];
        col_adopt_free(p, old);
        return;
    }
}

/* Tell the main thread of the process in R, which is PID with MAPS. */
static void tell_of(struct col_pacer *p, const struct agent_process *r, int64_t pid,
                    const struct buf *maps, uint64_t now)
{
    enum col_batch_kind kind = r->attached ? COL_BATCH_MAPS
                               : r->parent ? COL_BATCH_FORK
                                           : COL_BATCH_EXEC;
    struct col_batch_event *e;

    e = col_batch_add(&p->batch, kind, r->start_ns < now ? r->start_ns : now, maps->data, maps->n);
    e->pid = e->tid = pid;
    e->parent = col_proc_parent(pid);
    if (!e->parent)
        e->parent = r->parent;
    memcpy(e->name, r->name, sizeof e->name - 1);
}

static void tell_of_end(struct col_pacer *p, int64_t pid, uint64_t now)
{
    struct col_batch_event *e = col_batch_add(&p->batch, COL_BATCH_END, now, NULL, 0);

    e->pid = e->tid = pid;
}

static void adopt(struct col_pacer *p, uint32_t number, uint64_t now)
{
    struct agent_process *r = &p->memory->process[number];
    struct col_paced_process x = { .number = number, .period_ns = p->period_ns, .maps = r->maps,
                                   .threads = r->threads, .inner_pid = r->pid }, *copy;

    r->state = AGENT_KNOWN;
    x.pid = find_pid(p, r, &x.code);
    if (!x.pid) { /* it has ended */
        tell_of(p, r, r->pid, &x.code, now);
        tell_of_end(p, r->pid, now);
        buf_release(&x.code);
        __atomic_store_n(&r->state, AGENT_UNUSED, __ATOMIC_RELEASE);
        return;
    }
    copy = mem_alloc(sizeof *copy);
    *copy = x;
    copy->hooked = !r->leaves;
    if (r->attached)
        col_paced_begin(copy);
    col_paced_scan(copy, now);
    copy->attached = false;
    col_paced_look_at_image(copy);
    col_adopt_replace(p, copy, r->start_ns < now ? r->start_ns : now);
    p->cpu_ns += col_paced_cpu(copy);
    vec_push(&p->process, copy);
    tell_of(p, r, x.pid, &x.code, now);
}

struct start { /* a copy: a process may change its record while it is compared */
    uint64_t ns;
    uint32_t number;
};

static int compare_starts(const void *a, const void *b)
{
    const struct start *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* In order of time: a process may have been forked and have executed a program since. */
void col_adopt_new(struct col_pacer *p, uint64_t now)
{
    struct start at[AGENT_PROCESSES];
    uint32_t found = 0, n;

    n = p->memory ? __atomic_load_n(&p->memory->n_processes, __ATOMIC_ACQUIRE) : 0;
    if (n == p->n_seen)
        return;
    p->n_seen = n;
    for (uint32_t i = 0; i < AGENT_PROCESSES; i++) {
        const struct agent_process *r = &p->memory->process[i];

        if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == AGENT_HERE)
            at[found++] = (struct start){ __atomic_load_n(&r->start_ns, __ATOMIC_RELAXED), i };
    }
    qsort(at, found, sizeof *at, compare_starts);
    for (uint32_t i = 0; i < found; i++)
        adopt(p, at[i].number, now);
}

void col_adopt_end(struct col_pacer *p, size_t i, uint64_t now)
{
    struct col_paced_process *x = p->process.v[i];

    col_watch_end_all(p, x, now);
    tell_of_end(p, x->pid, now);
    p->process.v[i] = p->process.v[--p->process.n];
    col_adopt_free(p, x);
}
