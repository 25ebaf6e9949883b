/* perf_wait.c - see perf_wait.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_wait.h"

#include <string.h>

#include "perf/perf_blocked.h"

void perf_wait_init(struct perf_waits *w, struct intern *in, struct perf_processes *p,
                   struct perf_stacks *s)
{
    *w = (struct perf_waits){ .in = in, .processes = p, .stacks = s };
}

void perf_wait_release(struct perf_waits *w)
{
    sym_module_close(w->kernel);
    umap_release(&w->kind);
}

void perf_wait_begin(struct perf_waits *w)
{
    struct metric m = { .name = intern_cstr(w->in, "wait"), .unit = intern_cstr(w->in, "ns"),
                        .about = intern_cstr(w->in, "time off the CPU"),
                        .flags = METRIC_OFF_CPU | METRIC_EXACT };

    w->metric = intern_metric(w->in, &m);
}

/* --- what it waits for --- */

static uint32_t note_frame(struct perf_waits *w, uint32_t word, bool guessed)
{
    struct function f = { .name = word };
    uint32_t id = intern_named_frame(w->in, FRAME_NOTE, intern_function(w->in, &f), 0);
    struct frame joined;
    struct location at;

    if (!guessed)
        return id;
    /* The same note once more: what is below it is a guess. */
    joined = (struct frame){ .kind = FRAME_NOTE, .flags = FRAME_JOINED, .address = word };
    at = (struct location){ intern_function(w->in, &f), 0 };
    if (!umap_find(&w->kind, ~(uint64_t)word)) {
        id = intern_frame(w->in, &joined);
        sink_resolve(w->in->out, id, &at, 1);
        umap_put(&w->kind, ~(uint64_t)word, id);
    }
    return umap_find(&w->kind, ~(uint64_t)word);
}

/* The innermost function that tells something; a page fault wins over the disk it needs. */
static const char *word_of_chain(struct perf_waits *w, const struct perf_words *chain)
{
    const char *found = NULL;

    if (!w->kernel)
        w->kernel = sym_module_open(&(struct sym_request){ .path = w->stacks->kernel_path });
    for (size_t i = 0; i < chain->n; i++) {
        uint64_t pc = perf_word(chain, i);
        const struct sym_line *line;
        const char *word;

        if (pc == (uint64_t)PERF_CONTEXT_USER)
            break;
        if (pc >= (uint64_t)PERF_CONTEXT_MAX ||
            !sym_module_find(w->kernel, pc + w->stacks->kernel_shift - 1, &line))
            continue;
        word = perf_blocked_by_function(line[0].name);
        if (word && (!found || strcmp(word, PERF_BLOCKED_FAULT) == 0))
            found = word;
    }
    return found ? found : PERF_BLOCKED_UNKNOWN;
}

/* The kernel part of a chain is always one of few: names are looked up once for each. */
static uint32_t note_of_chain(struct perf_waits *w, const struct perf_words *chain)
{
    uint64_t h = 0;
    uint32_t note;

    for (size_t i = 0; i < chain->n; i++) {
        uint64_t pc = perf_word(chain, i);

        if (pc == (uint64_t)PERF_CONTEXT_USER)
            break;
        h = hash_pair(h, pc);
    }
    h &= UINT64_MAX >> 1; /* the upper half is note_frame's */
    note = umap_find(&w->kind, h);
    if (!note) {
        note = intern_cstr(w->in, word_of_chain(w, chain));
        umap_put(&w->kind, h, note);
    }
    return note;
}

/* --- switches --- */

void perf_wait_running(struct perf_thread *t, uint64_t time_ns)
{
    if (t->out_ns && time_ns > t->out_ns)
        t->out_ns = 0; /* the record of its return was lost, or it never was away */
    t->last_stack = t->user_stack;
}

void perf_wait_attached(struct perf_thread *t, uint64_t time_ns)
{
    t->out_ns = time_ns;
    t->asked = t->preempted = false;
    t->wait_stack = t->wait_note = 0;
}

void perf_wait_sample(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r)
{
    struct perf_stack_counts before = w->stacks->counts;
    bool told;

    w->samples++;
    t->switch_ns = r->time_ns;
    t->switch_note = note_of_chain(w, &r->chain);
    told = t->switch_note != intern_cstr(w->in, PERF_BLOCKED_UNKNOWN);
    t->switch_stack = told ? perf_stack_of_user(w->stacks, t, r) : 0;
    if (!t->switch_stack) /* a thread of the kernel's own, or an unknown wait */
        t->switch_stack = perf_stack_of(w->stacks, t, r);
    w->stacks->counts = before; /* the counts are about samples of running threads */
    if (t->switch_note != intern_cstr(w->in, PERF_BLOCKED_QUEUE)) {
        t->block_stack = t->switch_stack;
        t->block_note = t->switch_note;
        t->block_sampled = true;
    }
}

static void leave(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r)
{
    bool known = t->switch_ns && t->switch_ns >= t->in_ns && t->switch_ns <= r->time_ns;

    if (t->info.end_ns)
        return; /* the last switch of a thread that has ended */
    t->out_ns = r->time_ns;
    t->preempted = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    t->asked = known || t->preempted;
    t->wait_stack = known ? t->switch_stack : 0;
    t->wait_note = known ? t->switch_note : 0;
    if (t->preempted)
        t->wait_note = intern_cstr(w->in, PERF_BLOCKED_QUEUE);
}

static void emit(struct perf_waits *w, struct perf_thread *t, uint64_t until_ns)
{
    /* A thread that lost its CPU is where its last sample was, or near.  One that gave it up so
     * often that not every time was sampled does so where it did before; but a long wait may be
     * another than the one that was seen in passing. */
    bool guessed = !t->wait_stack;
    bool as_before = t->block_stack && !t->preempted &&
                     (t->block_sampled || until_ns - t->out_ns < 2 * PERF_WAIT_LONG_NS);
    uint32_t base = !guessed ? t->wait_stack : as_before ? t->block_stack : t->last_stack;
    uint32_t note = t->wait_note ? t->wait_note
                    : as_before  ? t->block_note
                                 : intern_cstr(w->in, PERF_BLOCKED_UNKNOWN);
    struct sample s = { .start_ns = t->out_ns, .duration_ns = until_ns - t->out_ns,
                        .thread = t->id, .metric = w->metric, .cpu = -1,
                        .weight = (int64_t)(until_ns - t->out_ns), .count = 1 };

    s.stack = intern_stack(w->in, base, note_frame(w, note, guessed));
    sink_sample(w->in->out, &s);
    w->waits++;
    w->guessed += guessed;
    t->guessed |= guessed && !t->preempted;
}

void perf_wait_switch(struct perf_waits *w, const struct perf_record *r)
{
    struct perf_thread *t;

    if (!r->tid)
        return;
    if (!w->metric)
        perf_wait_begin(w);
    t = perf_process_thread(w->processes, (int32_t)r->pid, (int32_t)r->tid);
    if (r->misc & PERF_RECORD_MISC_SWITCH_OUT) {
        w->switches++;
        leave(w, t, r);
        return;
    }
    t->in_ns = r->time_ns;
    if (t->out_ns && r->time_ns > t->out_ns)
        emit(w, t, r->time_ns);
    t->out_ns = 0;
}

void perf_wait_end(struct perf_waits *w, uint64_t time_ns)
{
    for (size_t i = 0; w->metric && i < w->processes->thread.n; i++) {
        struct perf_thread *t = w->processes->thread.v[i];

        if (t->out_ns && !t->info.end_ns && time_ns > t->out_ns)
            emit(w, t, time_ns);
        t->out_ns = 0;
    }
}

struct sym_module *perf_wait_take_kernel(struct perf_waits *w)
{
    struct sym_module *kernel = w->kernel;

    w->kernel = NULL;
    return kernel;
}
