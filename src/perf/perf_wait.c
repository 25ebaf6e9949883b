/* perf_wait.c - see perf_wait.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_wait.h"

#include <string.h>

#include "base/sat.h"
#include "perf/perf_blocked.h"
#include "profile/module_kind.h"

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

/* --- wait kinds --- */

static uint32_t tags_of(struct perf_waits *w, uint32_t word, bool guessed)
{
    uint32_t tags = intern_tag_of(w->in, &(struct tag){ .key = intern_cstr(w->in, TAG_WAIT),
                                                        .text = word });

    return guessed ? intern_tag(w->in, tags, TAG_STACK, "guessed") : tags;
}

/* Use the innermost function that implies a wait kind.  A page fault takes precedence over the
 * disk. */
static const char *word_of_chain(struct perf_waits *w, const struct perf_words *chain)
{
    const char *found = NULL;

    if (w->processes->modules->host->no_files)
        return WAIT_UNKNOWN;
    if (!w->kernel)
        w->kernel = sym_module_open(&(struct sym_request){
            .path = w->stacks->kernel_path, .kind = module_kind_of(w->stacks->kernel_path) });
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
        if (word && (!found || strcmp(word, WAIT_FAULT) == 0))
            found = word;
    }
    return found ? found : WAIT_UNKNOWN;
}

/* There are few different kernel stacks: look up the names once for each. */
static uint32_t kind_of_chain(struct perf_waits *w, const struct perf_words *chain)
{
    uint64_t h = 0;
    uint32_t word;

    for (size_t i = 0; i < chain->n; i++) {
        uint64_t pc = perf_word(chain, i);

        if (pc == (uint64_t)PERF_CONTEXT_USER)
            break;
        h = hash_pair(h, pc);
    }
    word = umap_find(&w->kind, h);
    if (!word) {
        word = intern_cstr(w->in, word_of_chain(w, chain));
        umap_put(&w->kind, h, word);
    }
    return word;
}

/* --- switches --- */

void perf_wait_running(struct perf_thread *t, uint64_t time_ns)
{
    if (t->out_ns && time_ns > t->out_ns)
        t->out_ns = 0; /* its switch-in record was lost, or it never left */
    t->last_stack = t->user_stack;
}

void perf_wait_attached(struct perf_thread *t, uint64_t time_ns)
{
    t->out_ns = time_ns;
    t->inspected = t->preempted = false;
    t->wait_stack = t->wait_word = 0;
}

/* A sample shows where T waits. */
static void note_block(struct perf_thread *t, uint32_t stack, uint32_t word)
{
    t->block_stack = stack;
    t->block_word = word;
    t->block_sampled = true;
}

void perf_wait_sample(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r)
{
    struct perf_stack_counts before = w->stacks->counts;
    bool known;

    w->samples++;
    t->switch_ns = r->time_ns;
    t->switch_word = kind_of_chain(w, &r->chain);
    known = t->switch_word != intern_cstr(w->in, WAIT_UNKNOWN);
    t->switch_stack = known ? perf_stack_of_user(w->stacks, t, r) : 0;
    if (!t->switch_stack) /* a kernel thread, or an unknown wait */
        t->switch_stack = perf_stack_of(w->stacks, t, r);
    w->stacks->counts = before; /* the counts cover samples of running threads only */
    if (t->switch_word != intern_cstr(w->in, WAIT_QUEUE))
        note_block(t, t->switch_stack, t->switch_word);
}

uint32_t perf_wait_stack(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r)
{
    struct perf_stack_counts before = w->stacks->counts;
    uint32_t stack = perf_stack_of(w->stacks, t, r);
    bool complete = w->stacks->counts.complete > before.complete;

    w->stacks->counts = before;
    if (complete) /* if the thread is preempted right after waking, it is still near */
        t->last_stack = stack;
    return complete ? stack : 0;
}

void perf_wait_look(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r)
{
    uint32_t stack = perf_wait_stack(w, t, r), word;

    if (!stack)
        return;
    word = intern_cstr(w->in, r->waits_for ? r->waits_for : WAIT_UNKNOWN);
    note_block(t, stack, word);
    if (!t->out_ns || t->out_ns > r->time_ns)
        return; /* that wait has ended */
    t->wait_stack = stack;
    t->wait_word = word;
}

static void leave(struct perf_waits *w, struct perf_thread *t, const struct perf_record *r)
{
    bool known = t->switch_ns && t->switch_ns >= t->in_ns && t->switch_ns <= r->time_ns;

    if (t->info.end_ns)
        return; /* the last switch of an ended thread */
    t->out_ns = r->time_ns;
    t->preempted = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    t->inspected = known || t->preempted;
    t->wait_stack = known ? t->switch_stack : 0;
    t->wait_word = known ? t->switch_word : 0;
    if (t->preempted)
        t->wait_word = intern_cstr(w->in, WAIT_QUEUE);
    else if (!known && r->waits_for)
        t->wait_word = intern_cstr(w->in, r->waits_for);
}

/* A wait shorter than this does not keep its thread's name: most children wait for a page or for
 * a CPU before they call exec. */
static const uint64_t brief_ns = 1000000u;

static uint32_t thread_of(struct perf_waits *w, struct perf_thread *t, uint64_t until_ns)
{
    return until_ns - t->out_ns < brief_ns ? t->id
                                           : perf_process_use(w->processes, t, until_ns);
}

static void emit(struct perf_waits *w, struct perf_thread *t, uint64_t until_ns)
{
    /* A preempted thread is at or near its last sample.  A thread that waits too often to sample
     * every wait probably waits where it did before.  A long wait, however, may differ from a
     * short one that was sampled. */
    bool guessed = !t->wait_stack;
    bool as_before = t->block_stack && !t->preempted &&
                     (!t->wait_word || t->wait_word == t->block_word) &&
                     (t->block_sampled || until_ns - t->out_ns < 2 * PERF_WAIT_LONG_NS);
    uint32_t stack = !guessed ? t->wait_stack : as_before ? t->block_stack : t->last_stack;
    uint32_t word = t->wait_word ? t->wait_word
                    : as_before  ? t->block_word
                                 : intern_cstr(w->in, WAIT_UNKNOWN);
    struct sample s = { .start_ns = t->out_ns, .duration_ns = until_ns - t->out_ns,
                        .thread = thread_of(w, t, until_ns), .metric = w->metric, .cpu = -1,
                        .weight = sat_of_u64(until_ns - t->out_ns), .count = 1,
                        .stack = stack, .tags = tags_of(w, word, guessed) };

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
