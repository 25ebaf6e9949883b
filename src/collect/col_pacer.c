/* col_pacer.c - see col_pacer.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_pacer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/col_adopt.h"
#include "collect/col_ask.h"
#include "collect/col_code.h"
#include "collect/col_leave.h"
#include "collect/col_names.h"
#include "collect/col_paced.h"
#include "collect/col_stoppable.h"
#include "collect/col_thread.h"
#include "collect/col_watch.h"

enum {
    SLICE_NS = 100000,
    REST_MS = 2048,          /* between looks at a thread that waits */
    AWAKE_MS = 16,           /* a thread that waits for longer rests: it is not seen each time */
    EXPLAIN_NS = 20000,      /* CPU time that the running threads may leave unexplained, for each
                              * thread: many times what a look at it costs */
    COUNT_NS = 100000,       /* between reads of that CPU time, for each thread */
    PENDING_NS = 500000,     /* between looks at threads that have not stopped yet */
    END_SECONDS = 2,         /* for the thread to end */
};

/* A random number below N: samples must not keep step with periodic work. */
static uint64_t random_below(struct col_pacer *p, uint64_t n)
{
    p->seed ^= p->seed << 13;
    p->seed ^= p->seed >> 7;
    p->seed ^= p->seed << 17;
    return n ? p->seed % n : 0;
}

/* --- looking --- */

/* When to look again at a thread that runs: at the next tick, unless its rate is lower. */
static uint64_t next_look(struct col_pacer *p, const struct col_paced_process *x, uint64_t now)
{
    uint64_t rest = x->period_ns;

    if (rest <= p->period_ns || p->watch)
        return 0;
    return now + rest - rest / 8 - p->period_ns / 2 + random_below(p, rest / 4);
}

static bool sample(struct col_pacer *p, struct col_paced_thread *t, int sig, uint64_t now)
{
    const struct col_paced_process *x = t->of;

    if (x->way == COL_PACED_ASKED)
        return sig && col_ask(p, t, sig);
    if (!x->is_traced && (!p->watch || now > t->asked_ns + x->period_ns - x->period_ns / 8))
        vec_push(&t->of->running, t);
    return true;
}

/* How long T, which waits, need not be looked at. */
static uint64_t rest_of(struct col_pacer *p, struct col_paced_thread *t, uint64_t now)
{
    if (p->watch)
        return t->rest_ns = col_watch_rest(p, t, now);
    t->rest_ns *= 4;
    if (t->rest_ns > REST_MS * (uint64_t)COL_PACED_NS_PER_MS)
        t->rest_ns = REST_MS * (uint64_t)COL_PACED_NS_PER_MS;
    return t->rest_ns / 2;
}

/* Sample T if it runs.  SIG: for the agent; 0: it must not be asked.  Returns whether it runs. */
static bool look(struct col_pacer *p, struct col_paced_thread *t, int sig, uint64_t now)
{
    enum col_paced_state state;

    if (t->gone)
        return false;
    if (sig && col_ask_is_open(p, t, sig, now))
        return true;
    if ((t->silent && !p->watch) || now < t->look_ns)
        return t->runs && !t->silent;
    state = p->watch ? col_watch_look(p, t) : col_paced_state(t, NULL);
    t->gone = state == COL_PACED_ENDED;
    t->runs = state == COL_PACED_RUNS;
    t->look_ns = t->runs ? next_look(p, t->of, now) : now + rest_of(p, t, now);
    if (!t->runs || t->silent)
        return false;
    t->rest_ns = p->period_ns;
    return sample(p, t, sig, now);
}

/* A thread that waited has run: look at all of them. */
static void wake(struct col_paced_process *x)
{
    for (size_t i = 0; i < x->thread.n; i++)
        if (!x->thread.v[i]->runs)
            x->thread.v[i]->look_ns = 0;
    x->unexplained_ns = x->all_ns = 0;
}

static bool rests(const struct col_paced_thread *t)
{
    return t->silent || t->rest_ns > AWAKE_MS * (uint64_t)COL_PACED_NS_PER_MS;
}

static void drop_gone(struct col_pacer *p, struct col_paced_process *x, size_t ended,
                      uint64_t now)
{
    if (ended == x->thread.n)
        col_watch_end_all(p, x, now);
    for (size_t i = 0; i < x->thread.n; i++) {
        if (!x->thread.v[i]->gone)
            continue;
        if (x->way == COL_PACED_ASKED)
            col_ask_forget(p, x->thread.v[i]);
        col_watch_end(p, x->thread.v[i], 0, now);
    }
    col_paced_drop_gone(x);
}

/* X could not be sampled: it may have ended, or permit it now. */
static void look_again(struct col_paced_process *x)
{
    struct col_reason why;
    bool ended = col_paced_has_ended(x);

    for (size_t i = 0; i < x->thread.n; i++)
        x->thread.v[i]->gone = ended;
    if (ended)
        col_paced_drop_gone(x);
    else if (x->way == COL_PACED_LISTED && col_stoppable(x->pid, &why))
        x->way = COL_PACED_HALTED;
}

static void scan(struct col_pacer *p, struct col_paced_process *x, uint64_t now)
{
    uint32_t threads = x->threads;

    if (x->way == COL_PACED_ASKED)
        threads = __atomic_load_n(&p->memory->process[x->number].threads, __ATOMIC_RELAXED);
    if (now < x->scan_ns && threads == x->threads && !col_paced_has_new(x, now))
        return;
    x->threads = threads;
    col_paced_scan(x, now);
    if (x->way == COL_PACED_HALTED && x->is_traced)
        col_halt_refused(x, (int)x->pid);
    if (x->way == COL_PACED_LISTED) {
        p->cpu_ns += col_paced_cpu(x);
        look_again(x);
    }
}

/* Stop the threads that run, one after the other.  While one has not stopped, which is because it
 * waits for a CPU, no other thread of its process may be seized; that has its turn next time. */
static void halt_threads(struct col_pacer *p, struct col_paced_process *x)
{
    size_t n = x->running.n;

    for (size_t i = 0; i < n && x->way == COL_PACED_HALTED; i++) {
        size_t at = (x->turn + i) % n;

        if (!col_halt(p, x->running.v[at])) {
            x->turn = at;
            break;
        }
    }
    x->running.n = 0;
}

/* Look at the threads that do not rest, and from time to time at all.  Returns how many run;
 * *ENDED have ended. */
static size_t look_at_threads(struct col_pacer *p, struct col_paced_process *x, int sig,
                              uint64_t now, size_t *ended)
{
    bool all = now >= x->all_ns;
    struct col_paced_thread **v = all ? x->thread.v : x->awake.v;
    size_t n = all ? x->thread.n : x->awake.n, running = 0;

    if (all)
        x->all_ns = now + AWAKE_MS * (uint64_t)COL_PACED_NS_PER_MS;
    x->awake.n = 0;
    *ended = 0;
    for (size_t i = 0; i < n; i++) {
        struct col_paced_thread *t = v[i];

        running += look(p, t, sig, now);
        *ended += t->gone;
        if (!t->gone && !rests(t))
            vec_push(&x->awake, t); /* V may be the same array: N is at most I */
    }
    halt_threads(p, x);
    return running;
}

/* A process usually ends with all its threads. */
static bool may_have_ended(const struct col_paced_process *x)
{
    struct col_paced_thread *first = col_paced_find(x, (int)x->pid);

    return first && (first->gone || col_paced_state(first, NULL) == COL_PACED_ENDED);
}

/* Threads that run explain the CPU time since it was last read; more of it means that others ran,
 * and returns true: look at all of them.  Reading it takes longer the more threads there are. */
static bool explain(struct col_pacer *p, struct col_paced_process *x, size_t running, uint64_t now)
{
    uint64_t used, most = x->period_ns / 2;

    x->explained_ns += running * (now - x->looked_ns);
    x->looked_ns = now;
    if (now < x->counted_ns + x->thread.n * COUNT_NS)
        return false;
    used = col_paced_cpu(x);
    p->cpu_ns += used;
    x->unexplained_ns += used > x->explained_ns ? used - x->explained_ns : 0;
    x->explained_ns = 0;
    x->counted_ns = now;
    if (most < x->thread.n * EXPLAIN_NS)
        most = x->thread.n * EXPLAIN_NS;
    if (x->unexplained_ns <= most)
        return false;
    wake(x);
    return true;
}

static bool can_be_sampled(const struct col_paced_process *x, int sig)
{
    return x->way == COL_PACED_ASKED ? sig != 0 : !x->is_traced;
}

static void look_at(struct col_pacer *p, struct col_paced_process *x, uint64_t now)
{
    size_t running, ended;
    int sig = 0;

    if (x->way == COL_PACED_ASKED) {
        col_code_look(x, &p->batch, now);
        col_names_look(p, x, now);
    }
    scan(p, x, now);
    if (x->way == COL_PACED_ASKED && !x->is_traced)
        sig = col_ask_signal(p, x);
    if (x->way == COL_PACED_LISTED || (!can_be_sampled(x, sig) && !p->watch))
        return;
    running = look_at_threads(p, x, sig, now, &ended);
    if (ended && p->watch && may_have_ended(x)) { /* when those that rest ended matters too */
        wake(x);
        running = look_at_threads(p, x, sig, now, &ended);
    }
    if (ended)
        drop_gone(p, x, ended, now);
    if (!explain(p, x, running, now))
        return;
    look_at_threads(p, x, sig, now, &ended);
    if (ended)
        drop_gone(p, x, ended, now);
}

static void tick(struct col_pacer *p)
{
    uint64_t now = clock_mono_ns();

    pthread_mutex_lock(&p->mutex);
    col_ask_collect(p, now);
    col_halt_pending(p);
    if (p->watch)
        col_watch_collect(p);
    col_adopt_new(p, now);
    col_others_look(p, now);
    for (size_t i = 0; i < p->process.n;) {
        look_at(p, p->process.v[i], now);
        if (p->process.v[i]->thread.n)
            i++;
        else
            col_adopt_end(p, i, now);
    }
    pthread_mutex_unlock(&p->mutex);
}

/* --- the thread --- */

static void sleep_until(uint64_t ns)
{
    struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* A thread that stops late is not kept waiting until the next tick. */
static void sleep_or_halt(struct col_pacer *p, uint64_t until_ns)
{
    while (p->halt.pending.n && clock_mono_ns() + PENDING_NS < until_ns) {
        sleep_until(clock_mono_ns() + PENDING_NS);
        pthread_mutex_lock(&p->mutex);
        col_halt_pending(p);
        pthread_mutex_unlock(&p->mutex);
    }
    sleep_until(until_ns);
}

/* Ask for short slices: the scheduler (Linux 6.12 and later) then lets us run soon after we wake,
 * also when other programs keep all CPUs busy. */
static void hurry(void)
{
    struct { /* sched_attr of the kernel, which libc does not declare everywhere */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } a = { .size = sizeof a, .nice = getpriority(PRIO_PROCESS, 0), .runtime_ns = SLICE_NS };

    syscall(SYS_sched_setattr, 0, &a, 0);
}

static void *run(void *with)
{
    struct col_pacer *p = with;
    uint64_t next = clock_mono_ns();

    prctl(PR_SET_NAME, "fathom-pacer");
    prctl(PR_SET_TIMERSLACK, 1);
    hurry();
    while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) {
        uint64_t now = clock_mono_ns();

        if (next + 10 * p->period_ns < now)
            next = now; /* we were not scheduled: do not catch up */
        next += p->period_ns;
        sleep_or_halt(p, next - random_below(p, p->period_ns / 4));
        tick(p);
    }
    return NULL;
}

void col_pacer_init(struct col_pacer *p, struct agent_memory *m, uint64_t inode, uint64_t hz)
{
    struct stat st;

    *p = (struct col_pacer){ .memory = m, .memory_inode = inode, .period_ns = 1000000000u / hz,
                             .seed = clock_mono_ns() | 1 };
    p->halt_period_ns = 1000000000u / (hz < COL_HALT_HZ ? hz : COL_HALT_HZ);
    p->namespace = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
    pthread_mutex_init(&p->mutex, NULL);
}

int col_pacer_watch(struct col_pacer *p)
{
    p->watch = col_watch_new();
    return p->watch ? 0 : EAGAIN;
}

int col_pacer_start(struct col_pacer *p)
{
    p->runs = col_thread_start(&p->thread, run, p);
    return p->runs ? 0 : EAGAIN;
}

/* The thread may be kept waiting for ever, for example by a program whose stack lies in a file of a
 * file system that does not answer. */
static bool end_thread(struct col_pacer *p)
{
    struct timespec until;

    __atomic_store_n(&p->stop, true, __ATOMIC_RELEASE);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += END_SECONDS;
    if (pthread_clockjoin_np(p->thread, NULL, CLOCK_MONOTONIC, &until) == 0)
        return true;
    pthread_detach(p->thread);
    p->is_stuck = true;
    col_halt_abandon();
    return false;
}

/* Agents may also have joined a recording that never began. */
static void dismiss(struct col_pacer *p, uint64_t now)
{
    if (!p->memory || p->dismissed)
        return;
    p->dismissed = true;
    __atomic_store_n(&p->memory->ended, 1, __ATOMIC_RELEASE);
    col_adopt_new(p, now);
    col_leave(p);
}

void col_pacer_stop(struct col_pacer *p)
{
    uint64_t now = clock_mono_ns();

    if (!p->runs) {
        dismiss(p, now);
        return;
    }
    p->runs = false;
    if (!end_thread(p))
        return;
    col_ask_collect(p, now);
    dismiss(p, now);
    if (p->watch)
        col_watch_stop(p, now);
    for (size_t i = 0; i < p->process.n;) {
        p->cpu_ns += col_paced_cpu(p->process.v[i]);
        if (col_paced_has_ended(p->process.v[i]))
            col_adopt_end(p, i, now);
        else
            i++;
    }
}

void col_pacer_take(struct col_pacer *p, struct col_batch *b)
{
    struct col_batch full;

    pthread_mutex_lock(&p->mutex);
    full = p->batch;
    p->batch = *b;
    col_batch_clear(&p->batch);
    pthread_mutex_unlock(&p->mutex);
    *b = full;
}

void col_pacer_release(struct col_pacer *p)
{
    if (!p->period_ns)
        return;
    col_pacer_stop(p);
    if (p->is_stuck)
        return;
    while (p->process.n)
        col_adopt_free(p, p->process.v[--p->process.n]);
    vec_release(&p->process);
    col_halt_release(p);
    col_others_release(&p->others);
    col_watch_free(p->watch);
    col_batch_release(&p->batch);
    pthread_mutex_destroy(&p->mutex);
}
