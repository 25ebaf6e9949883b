/* col_look.c - see col_look.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_look.h"

#include "base/clock.h"
#include "collect/col_proc.h"
#include "collect/col_words.h"
#include "perf/perf_blocked.h"

enum { PAGE = 4096, MOST_GLANCES = 4 };

void col_look_init(struct col_look *l, struct perf_waits *waits)
{
    *l = (struct col_look){ .waits = waits };
}

/* Read the stack of PID from SP on, as many whole pages as possible. */
static size_t read_stack(int64_t pid, uint64_t sp, const unsigned char **data)
{
    size_t got = 0;

    for (size_t want = COL_WORDS_BYTES; !got && want >= PAGE; want /= 2)
        got = col_words_bytes(pid, sp, want - (sp & (PAGE - 1)), data);
    return got;
}

static uint32_t stack_of(struct col_look *l, struct perf_thread *t, uint64_t pc, uint64_t sp)
{
    struct perf_record r = { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .ip = pc,
                            .has_regs = true, .has_stack = true, .no_fp = true,
                            .regs = { .pc = pc, .sp = sp }, .stack = { .base = sp } };

    r.stack.size = read_stack(t->process->pid, sp, &r.stack.data);
    return r.stack.size ? perf_wait_stack(l->waits, t, &r) : 0;
}

static void look_at(struct col_look *l, struct perf_thread *t)
{
    struct col_proc_wait p;

    t->inspected = true;
    if (!col_proc_wait(t->process->pid, t->tid, &p))
        return;
    t->wait_word = intern_cstr(l->waits->in, perf_blocked_by_call(p.call));
    t->wait_stack = stack_of(l, t, p.pc, p.sp);
}

/* Sample a thread with short waits from time to time, as running threads are sampled.  Its most
 * frequent wait is the most likely one to be seen, so its following waits get that stack. */
static void glance_at(struct col_look *l, struct perf_thread *t)
{
    struct col_proc_wait p;
    uint32_t stack;

    if (!col_proc_wait(t->process->pid, t->tid, &p))
        return;
    stack = stack_of(l, t, p.pc, p.sp);
    if (!stack)
        return;
    t->block_word = intern_cstr(l->waits->in, perf_blocked_by_call(p.call));
    t->block_stack = stack;
    t->block_sampled = t->guessed = false;
}

void col_look(struct col_look *l)
{
    uint64_t now = clock_mono_ns();
    int glances = MOST_GLANCES;

    l->unsure = false;
    for (size_t i = 0; l->waits && l->waits->metric && i < l->waits->processes->thread.n; i++) {
        struct perf_thread *t = l->waits->processes->thread.v[i];

        if (t->guessed && !t->info.end_ns && glances-- > 0)
            glance_at(l, t);
        if (!t->out_ns || t->inspected || t->info.end_ns)
            continue;
        if (now > t->out_ns + PERF_WAIT_LONG_NS)
            look_at(l, t);
        else
            l->unsure = true;
    }
}
