/* col_halt.c - see col_halt.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_halt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/col_code.h"
#include "collect/col_paced.h"
#include "collect/col_pacer.h"
#include "collect/col_stoppable.h"
#include "collect/col_watch.h"

enum {
    PAGE = 4096,
    PAGES = AGENT_STACK / PAGE + 2,
    MOST_STACK = 64 << 20, /* what lies farther below its end is another stack */
    MOST_PERIODS = 4,  /* without a sample, after which clocks are not believed, */
    MOST_SHARED = 100, /* and of a thread beside others */
    PATIENCE_NS = 1000000, /* wait for a stop; a thread that waits for a CPU takes longer */
};

struct halted { /* what is read of a stopped thread */
    struct unw_regs regs;
    uint64_t time_ns, cpu_ns;
    size_t n; /* bytes of its stack */
};

/* --- a stopped thread --- */

/* Where the stack of T ends, if that is known: neither the program's environment, which lies behind
 * the first stack, nor memory behind the stack of a fiber belongs into a profile. */
static uint64_t end_of_stack(const struct col_paced_thread *t, const struct col_ptrace_regs *r,
                             uint64_t sp)
{
    uint64_t end = t->of->stack_end, data = 0;

    if (sp < end && end - sp < MOST_STACK)
        return end;
#if defined(__x86_64__)
    data = r->v.fs_base; /* libc puts the thread's own data behind its stack */
#else
    (void)r;
#endif
    return sp < data && data - sp < MOST_STACK ? data : 0;
}

/* Read up to N bytes at ADDRESS page by page, as far as they are mapped. */
static size_t read_pages(int64_t pid, uint64_t address, unsigned char *to, size_t n)
{
    struct iovec local = { to, n }, remote[PAGES];
    size_t pieces = 0;
    ssize_t got;

    for (size_t at = 0; at < n && pieces < PAGES; pieces++) {
        size_t piece = PAGE - ((address + at) & (PAGE - 1));

        piece = piece < n - at ? piece : n - at;
        remote[pieces] = (struct iovec){ (void *)(uintptr_t)(address + at), piece };
        at += piece;
    }
    got = process_vm_readv((pid_t)pid, &local, 1, remote, pieces, 0);
    return got > 0 ? (size_t)got : 0;
}

/* The same where process_vm_readv is refused. */
static size_t read_file(int64_t pid, uint64_t address, unsigned char *to, size_t n)
{
    char path[64];
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/mem", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = pread(fd, to, n, (off_t)address);
    close(fd);
    return got > 0 ? (size_t)got : 0;
}

static size_t copy_stack(struct col_pacer *p, const struct col_paced_thread *t, uint64_t sp,
                         uint64_t end)
{
    size_t n = end && end - sp < AGENT_STACK ? end - sp : AGENT_STACK, got;

    if (!p->halt.stack)
        p->halt.stack = mem_alloc(AGENT_STACK);
    got = read_pages(t->of->pid, sp, p->halt.stack, n);
    return got ? got : read_file(t->of->pid, sp, p->halt.stack, n);
}

static void repeat_call(struct col_pacer *p, const struct col_ptrace *t, struct col_ptrace_regs *r)
{
    bool failed;

    if (col_ptrace_repeat_call(t, r, &failed))
        col_ptrace_set_regs(t, r);
    p->halt.interrupted += failed;
}

/* A 32-bit program has a pc, but its stack is not unwound. */
static bool read_thread(struct col_pacer *p, const struct col_ptrace *t,
                        struct col_paced_thread *of, struct halted *h)
{
    struct col_ptrace_regs r;

    *h = (struct halted){ .time_ns = clock_mono_ns() };
    if (!col_ptrace_regs(t, &r))
        return false;
    if (col_ptrace_unwind_regs(&r, &h->regs))
        h->n = copy_stack(p, of, h->regs.sp, end_of_stack(of, &r, h->regs.sp));
    h->cpu_ns = col_paced_thread_cpu(of);
    repeat_call(p, t, &r);
    return true;
}

/* --- samples --- */

static void take(struct col_pacer *p, struct col_paced_thread *t, const struct halted *h)
{
    uint64_t time_ns = h->time_ns;
    struct col_batch_event *e;

    col_code_refresh(t->of, &p->batch, time_ns);
    if (p->watch)
        col_watch_sample(p, t, time_ns, h->cpu_ns);
    e = col_batch_add(&p->batch, COL_BATCH_SAMPLE, time_ns, p->halt.stack, h->n);
    if (!e) {
        p->lost++;
        return;
    }
    e->pid = t->of->pid;
    e->tid = t->tid;
    e->regs = h->regs;
    e->weight = col_paced_weight(t, h->cpu_ns);
    t->asked_ns = time_ns;
    t->of->samples++;
    p->samples++;
}

static struct col_paced_thread *find_thread(const struct col_pacer *p, const struct col_ptrace *t)
{
    for (size_t i = 0; i < p->process.n; i++)
        if (p->process.v[i]->pid == t->pid && p->process.v[i]->way == COL_PACED_HALTED)
            return col_paced_find(p->process.v[i], t->tid);
    return NULL; /* it has ended */
}

static bool abandoned;

void col_halt_abandon(void)
{
    __atomic_store_n(&abandoned, true, __ATOMIC_RELEASE);
}

static void lock_again(struct col_pacer *p)
{
    while (__atomic_load_n(&abandoned, __ATOMIC_ACQUIRE))
        pause();
    pthread_mutex_lock(&p->mutex);
}

/* T has stopped.  Returns false if it was killed meanwhile and has not ended yet.  The main thread
 * need not wait while we look at memory that the target may withhold. */
static bool sample(struct col_pacer *p, struct col_ptrace *t)
{
    struct col_paced_thread *of = t->in_group_stop ? NULL : find_thread(p, t);
    uint64_t since = t->ran_ns, end;
    struct halted h;
    bool gone, read;

    pthread_mutex_unlock(&p->mutex);
    read = of && read_thread(p, t, of, &h);
    gone = col_ptrace_let_go(t);
    end = clock_mono_ns();
    lock_again(p);
    p->halt.stops++;
    p->halt.stopped_ns += end - since;
    if (read)
        take(p, of, &h);
    return gone;
}

/* --- stopping --- */

static bool is_pending(const struct col_pacer *p, int64_t pid)
{
    for (size_t i = 0; i < p->halt.pending.n; i++)
        if (p->halt.pending.v[i].pid == pid)
            return true;
    return false;
}

void col_halt_refused(struct col_paced_process *x, int tid)
{
    struct col_reason why;

    if (col_stoppable(tid, &why) || !why.why[0])
        return; /* it has ended meanwhile, or its tracer has */
    x->way = COL_PACED_LISTED;
    snprintf(x->refused, sizeof x->refused, "%s", why.why);
}

static enum col_ptrace_state stop(struct col_ptrace *t, uint64_t patience_ns)
{
    return col_ptrace_wait(t, patience_ns ? clock_mono_ns() + patience_ns : 0);
}

/* T has used CPU time since its last sample, and since the last look: else it probably waits for a
 * CPU.  The clock of a process is exact; that of a thread that runs is as old as the last tick of
 * the scheduler, or on some machines much older. */
static bool has_run(struct col_paced_thread *t)
{
    const struct col_paced_process *x = t->of;
    uint64_t least = x->period_ns / 4, before = t->seen_cpu_ns;
    bool is_alone = x->thread.n == 1;

    if (clock_mono_ns() - t->asked_ns > (is_alone ? MOST_PERIODS : MOST_SHARED) * x->period_ns)
        return true;
    t->seen_cpu_ns = is_alone ? col_paced_clock(x->pid) : col_paced_thread_cpu(t);
    if (is_alone)
        return !t->seen_cpu_ns || t->seen_cpu_ns >= t->cpu_ns + 5 * least / 2;
    return t->seen_cpu_ns != before && t->seen_cpu_ns >= t->cpu_ns + least;
}

bool col_halt(struct col_pacer *p, struct col_paced_thread *t)
{
    struct col_ptrace x;
    enum col_ptrace_state state;
    int refused;

    if (is_pending(p, t->of->pid))
        return false;
    if (!has_run(t))
        return true;
    pthread_mutex_unlock(&p->mutex);
    refused = col_ptrace_seize(&x, (pid_t)t->of->pid, t->tid);
    state = refused ? COL_PTRACE_ENDED : stop(&x, PATIENCE_NS);
    lock_again(p);
    if (refused && refused != ESRCH)
        col_halt_refused(t->of, t->tid);
    if (state == COL_PTRACE_NOT_YET || (state == COL_PTRACE_STOPPED && !sample(p, &x)))
        vec_push(&p->halt.pending, x);
    return true;
}

bool col_halt_pending(struct col_pacer *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->halt.pending.n; i++) {
        struct col_ptrace *t = &p->halt.pending.v[i];
        enum col_ptrace_state state = stop(t, 0);

        if (state == COL_PTRACE_NOT_YET || (state == COL_PTRACE_STOPPED && !sample(p, t)))
            p->halt.pending.v[n++] = *t;
    }
    p->halt.pending.n = n;
    return n != 0;
}

void col_halt_release(struct col_pacer *p)
{
    vec_release(&p->halt.pending);
    free(p->halt.stack);
    p->halt.stack = NULL;
}
