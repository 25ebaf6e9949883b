/* col_pacer.c - see col_pacer.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_pacer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "collect/col_proc.h"
#include "collect/col_thread.h"

enum {
    NS_PER_MS = 1000000,
    SLICE_NS = 100000,
    MOST_BYTES = 64 << 20,   /* of a batch */
    MOST_PERIODS = 4,        /* of weight in a sample, but at least MOST_MS */
    MOST_MS = 20,
    REST_MS = 64,            /* between looks at a thread that waits */
    SCAN_MS = 250,           /* between complete looks at a process */
    ANSWER_MS = 1000,        /* after that a thread may block the signal */
    ABANDONED_MS = 1000,     /* a sample that takes longer belongs to a killed thread */
    FIRST_MAPS_MS = 2,       /* another library may take the place of one that was unloaded: read */
    LAST_MAPS_MS = 1024,     /* the maps again, each time after twice as long */
    EXPLAIN_MS = 4,          /* CPU time that the running threads may leave unexplained */
};

struct col_paced_thread {
    int tid, inner_tid;
    int state;           /* its file "syscall" or "stat" in /proc */
    bool has_syscall;
    bool gone, silent;
    uint64_t cpu_ns;     /* at its last sample */
    uint64_t look_ns, rest_ns;
    uint64_t asked_ns;   /* 0: no request */
    uint32_t request;    /* its number */
    struct col_paced_process *of;
};

struct col_paced_process {
    uint32_t number; /* in the memory */
    int64_t pid;
    uint32_t threads, maps; /* those of the memory when last looked at */
    uint64_t scan_ns;
    bool is_traced;
    uint64_t cpu_ns, unexplained_ns;
    struct buf code; /* lines of its maps with code, as last read */
    uint64_t maps_ns, maps_rest_ns; /* when to read them again, 0: not; after that */
    VEC(struct col_paced_thread *) thread;
};

static struct agent_process *record_of(const struct col_pacer *p, const struct col_paced_process *x)
{
    return &p->memory->process[x->number];
}

/* --- events for the main thread --- */

/* Returns NULL, and counts a sample as lost, if the main thread is too slow. */
static struct col_paced *add_event(struct col_pacer *p, enum col_paced_kind kind, const void *bytes,
                                   size_t n)
{
    struct col_batch *b = &p->batch;
    struct col_paced e = { .kind = kind, .at = b->bytes.n, .n = n };

    if (kind == COL_PACED_SAMPLE && b->bytes.n + n > MOST_BYTES) {
        p->lost++;
        return NULL;
    }
    if (n)
        buf_add(&b->bytes, bytes, n);
    vec_push(&b->v, e);
    return &b->v.v[b->v.n - 1];
}

/* --- threads --- */

/* T has not answered its request. */
static bool is_asked(const struct col_pacer *p, const struct col_paced_thread *t)
{
    const struct agent_request *r = &p->memory->request[t->request];

    return t->asked_ns && __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == AGENT_ASKED &&
           r->tid == (uint32_t)t->inner_tid && r->process == t->of->number;
}

static void forget_request(struct col_pacer *p, struct col_paced_thread *t)
{
    if (is_asked(p, t))
        __atomic_store_n(&p->memory->request[t->request].state, AGENT_FREE, __ATOMIC_RELEASE);
    t->asked_ns = 0;
}

static void free_thread(struct col_pacer *p, struct col_paced_thread *t)
{
    forget_request(p, t);
    if (t->state >= 0)
        close(t->state);
    free(t);
}

static int open_state(int64_t pid, int tid, const char *file)
{
    char path[96];

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%d/%s", pid, tid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The state of T; 0 when it has ended. */
enum run_state { ENDED, WAITS, RUNS };

static enum run_state state_of(struct col_paced_thread *t)
{
    char text[512];
    ssize_t n = pread(t->state, text, sizeof text - 1, 0);
    const char *end;

    if (n < 0 && t->has_syscall && (errno == EPERM || errno == EACCES)) {
        int stat = open_state(t->of->pid, t->tid, "stat"); /* it changed its user */

        if (stat < 0)
            return ENDED;
        close(t->state);
        t->state = stat;
        t->has_syscall = false;
        n = pread(t->state, text, sizeof text - 1, 0);
    }
    if (n <= 0)
        return ENDED;
    text[n] = 0;
    if (t->has_syscall)
        return text[0] == 'r' ? RUNS : WAITS; /* "running" */
    end = strrchr(text, ')');
    if (!end || end[1] != ' ' || end[2] == 'Z' || end[2] == 'X')
        return ENDED;
    return end[2] == 'R' ? RUNS : WAITS;
}

static int inner_tid(const struct col_pacer *p, const struct col_paced_process *x, int tid)
{
    return record_of(p, x)->pid == x->pid ? tid : (int)col_proc_inner_pid(tid);
}

static struct col_paced_thread *find_thread(const struct col_paced_process *x, int tid)
{
    for (size_t i = 0; i < x->thread.n; i++)
        if (x->thread.v[i]->tid == tid)
            return x->thread.v[i];
    return NULL;
}

static void add_thread(struct col_pacer *p, struct col_paced_process *x, int tid)
{
    struct col_paced_thread t = { .tid = tid, .of = x, .rest_ns = p->period_ns,
                                  .has_syscall = true };
    struct col_paced_thread *copy;

    t.state = open_state(x->pid, tid, "syscall");
    if (t.state < 0) {
        t.has_syscall = false;
        t.state = open_state(x->pid, tid, "stat");
    }
    if (t.state < 0)
        return;
    t.inner_tid = inner_tid(p, x, tid);
    copy = mem_alloc(sizeof *copy);
    *copy = t;
    vec_push(&x->thread, copy);
}

static void drop_threads(struct col_pacer *p, struct col_paced_process *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->thread.n; i++)
        if (x->thread.v[i]->gone)
            free_thread(p, x->thread.v[i]);
        else
            x->thread.v[n++] = x->thread.v[i];
    x->thread.n = n;
}

/* --- processes --- */

static uint64_t cpu_time_of(int64_t pid)
{
    struct timespec t;
    clockid_t clock = (clockid_t)(~(uint64_t)pid << 3 | 2); /* CPU time of all its threads */

    if (clock_gettime(clock, &t) < 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note_cpu_time(struct col_pacer *p, struct col_paced_process *x)
{
    uint64_t now = cpu_time_of(x->pid);

    if (now > x->cpu_ns) {
        p->cpu_ns += now - x->cpu_ns;
        x->cpu_ns = now;
    }
}

/* Lines of maps with code, and whether the memory is among all lines. */
static bool read_maps(const struct col_pacer *p, int64_t pid, struct buf *code)
{
    char path[64], inode[32], *line = NULL;
    size_t cap = 0;
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", pid);
    snprintf(inode, sizeof inode, " %" PRIu64 " ", p->memory_inode);
    f = fopen(path, "re");
    while (f && getline(&line, &cap, f) > 0) {
        const char *prot = strchr(line, ' ');

        if (prot && strlen(prot) > 4 && prot[3] == 'x')
            buf_add(code, line, strlen(line));
        else
            found |= strstr(line, "/memfd:fathom-agent") && strstr(line, inode);
    }
    free(line);
    if (f)
        fclose(f);
    return found;
}

/* The pid of the process with record R, and its maps; 0: it has ended. */
static int64_t find_pid(struct col_pacer *p, const struct agent_process *r, struct buf *maps)
{
    struct col_tids below = { 0 };
    int64_t found = 0, inner = r->pid;

    if (r->namespace == p->namespace)
        return read_maps(p, inner, maps) ? inner : 0;
    col_proc_descendants(getpid(), &below);
    for (size_t i = 0; i < below.n && !found; i++) {
        maps->n = 0;
        if (col_proc_inner_pid(below.v[i]) == inner && read_maps(p, below.v[i], maps))
            found = below.v[i];
    }
    vec_release(&below);
    return found;
}

/* Its TracerPid and its filters of system calls. */
static void read_status(const struct col_pacer *p, struct col_paced_process *x)
{
    char path[64], text[4096], *at;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/status", x->pid);
    if (map_read_text(path, text, sizeof text) < 0)
        return;
    at = strstr(text, "\nTracerPid:");
    x->is_traced = at && strtol(at + 11, NULL, 10) != 0;
    (void)p;
}

static void scan_threads(struct col_pacer *p, struct col_paced_process *x, uint64_t now)
{
    struct col_tids tids = { 0 };

    x->threads = __atomic_load_n(&record_of(p, x)->threads, __ATOMIC_RELAXED);
    x->scan_ns = now + SCAN_MS * (uint64_t)NS_PER_MS;
    col_proc_threads(x->pid, &tids);
    for (size_t i = 0; i < tids.n; i++)
        if (!find_thread(x, tids.v[i]))
            add_thread(p, x, tids.v[i]);
    vec_release(&tids);
    read_status(p, x);
    note_cpu_time(p, x);
}

static void free_process(struct col_pacer *p, struct col_paced_process *x)
{
    for (size_t i = 0; i < x->thread.n; i++)
        free_thread(p, x->thread.v[i]);
    vec_release(&x->thread);
    buf_release(&x->code);
    __atomic_store_n(&record_of(p, x)->state, AGENT_UNUSED, __ATOMIC_RELEASE);
    free(x);
}

/* Process PID executed another program: forget the old one, but not the CPU time of its thread. */
static void replace(struct col_pacer *p, struct col_paced_process *x)
{
    for (size_t i = 0; i < p->process.n; i++) {
        struct col_paced_process *old = p->process.v[i];
        struct col_paced_thread *was = find_thread(old, (int)x->pid), *is;

        if (old->pid != x->pid)
            continue;
        is = find_thread(x, (int)x->pid);
        if (was && is)
            is->cpu_ns = was->cpu_ns;
        x->cpu_ns = old->cpu_ns;
        p->process.v[i] = p->process.v[--p->process.n];
        free_process(p, old);
        return;
    }
}

/* Tell the main thread of the process in R, which is PID with MAPS. */
static void tell_of(struct col_pacer *p, const struct agent_process *r, int64_t pid,
                    const struct buf *maps, uint64_t now)
{
    struct col_paced *e = add_event(p, r->parent ? COL_PACED_FORK : COL_PACED_EXEC, maps->data,
                                    maps->n);

    e->time_ns = r->start_ns < now ? r->start_ns : now;
    e->pid = e->tid = pid;
    e->parent = col_proc_parent(pid);
    if (!e->parent)
        e->parent = r->parent;
    memcpy(e->name, r->name, sizeof e->name - 1);
}

static void tell_of_end(struct col_pacer *p, int64_t pid, uint64_t now)
{
    struct col_paced *e = add_event(p, COL_PACED_END, NULL, 0);

    e->time_ns = now;
    e->pid = e->tid = pid;
}

static void adopt(struct col_pacer *p, uint32_t number, uint64_t now)
{
    struct agent_process *r = &p->memory->process[number];
    struct col_paced_process x = { .number = number, .maps = r->maps }, *copy;

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
    scan_threads(p, copy, now);
    replace(p, copy);
    vec_push(&p->process, copy);
    tell_of(p, r, x.pid, &x.code, now);
}

static int compare_starts(const void *a, const void *b, void *with)
{
    const struct agent_process *r = with;
    const struct agent_process *x = &r[*(const uint32_t *)a], *y = &r[*(const uint32_t *)b];

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* In order of time: a process may have been forked and have executed a program since. */
static void adopt_new(struct col_pacer *p, uint64_t now)
{
    uint32_t n = __atomic_load_n(&p->memory->n_processes, __ATOMIC_ACQUIRE), found = 0;
    uint32_t at[AGENT_PROCESSES];

    if (n == p->n_seen)
        return;
    p->n_seen = n;
    for (uint32_t i = 0; i < AGENT_PROCESSES; i++)
        if (__atomic_load_n(&p->memory->process[i].state, __ATOMIC_ACQUIRE) == AGENT_HERE)
            at[found++] = i;
    qsort_r(at, found, sizeof *at, compare_starts, p->memory->process);
    for (uint32_t i = 0; i < found; i++)
        adopt(p, at[i], now);
}

static void end_process(struct col_pacer *p, size_t i, uint64_t now)
{
    struct col_paced_process *x = p->process.v[i];

    tell_of_end(p, x->pid, now);
    p->process.v[i] = p->process.v[--p->process.n];
    free_process(p, x);
}

/* --- requests --- */

/* Append to TO the lines of OLD that are not in NEW, without their files. */
static void add_removed(struct buf *to, struct buf *old, struct buf *new)
{
    const char *in = buf_text(new);

    for (char *line = buf_text(old), *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (!strstr(in, line))
            buf_printf(to, "%.*s r-xp 0 00:00 0 \n", (int)strcspn(line, " "), line);
    }
}

static void reread_maps(struct col_pacer *p, struct col_paced_process *x, uint64_t now)
{
    struct buf code = { 0 }, all = { 0 };
    struct col_paced *e;

    read_maps(p, x->pid, &code);
    add_removed(&all, &x->code, &code);
    buf_add(&all, code.data, code.n);
    e = add_event(p, COL_PACED_MAPS, all.data, all.n);
    e->time_ns = now;
    e->pid = e->tid = x->pid;
    buf_release(&all);
    buf_release(&x->code);
    x->code = code;
    x->maps_ns = x->maps_rest_ns < LAST_MAPS_MS * (uint64_t)NS_PER_MS ? now + x->maps_rest_ns : 0;
    x->maps_rest_ns *= 2;
}

static uint64_t weight_of(const struct col_pacer *p, struct col_paced_thread *t, uint64_t cpu_ns)
{
    uint64_t most = MOST_PERIODS * p->period_ns, weight;

    if (most < MOST_MS * (uint64_t)NS_PER_MS)
        most = MOST_MS * (uint64_t)NS_PER_MS;
    if (!cpu_ns) /* a careful agent cannot ask for it */
        return p->period_ns;
    weight = cpu_ns > t->cpu_ns ? cpu_ns - t->cpu_ns : 0;
    t->cpu_ns = cpu_ns;
    return weight < most ? weight : most;
}

static struct col_paced_thread *thread_of(const struct col_pacer *p, const struct agent_sample *s)
{
    for (size_t i = 0; i < p->process.n; i++) {
        struct col_paced_process *x = p->process.v[i];

        for (size_t k = 0; k < x->thread.n && x->number == s->process; k++)
            if ((uint32_t)x->thread.v[k]->inner_tid == s->tid)
                return x->thread.v[k];
    }
    return NULL; /* it has ended */
}

static void take_sample(struct col_pacer *p, const struct agent_sample *s, uint64_t now)
{
    struct col_paced_thread *t = thread_of(p, s);
    uint32_t n = __atomic_load_n(&s->stack_bytes, __ATOMIC_RELAXED), maps = s->maps;
    uint64_t time_ns = s->time_ns;
    struct col_paced *e;

    if (!t)
        return;
    /* A thread that waited for a CPU answers late, and is asked again soon. */
    if (s->cpu_ns && s->cpu_ns - t->cpu_ns < p->period_ns / 2)
        return;
    if (maps != t->of->maps) {
        t->of->maps = maps;
        t->of->maps_rest_ns = FIRST_MAPS_MS * (uint64_t)NS_PER_MS;
        reread_maps(p, t->of, time_ns < now ? time_ns : now);
    }
    e = add_event(p, COL_PACED_SAMPLE, s->stack, n < AGENT_STACK ? n : AGENT_STACK);
    if (!e)
        return;
    e->time_ns = time_ns < now ? time_ns : now;
    e->pid = t->of->pid;
    e->tid = t->tid;
    e->regs = (struct unw_regs){ .pc = s->pc, .sp = s->sp, .fp = s->fp, .lr = s->lr, .bx = s->bx,
                                 .r10 = s->r10 };
    e->weight = weight_of(p, t, s->cpu_ns);
    p->samples++;
}

static void collect(struct col_pacer *p, uint64_t now)
{
    struct agent_memory *m = p->memory;

    for (size_t i = 0; i < AGENT_SAMPLES; i++) {
        uint32_t state = __atomic_load_n(&m->sample_state[i], __ATOMIC_ACQUIRE);

        if (state == AGENT_FREE) {
            p->sample_ns[i] = 0;
            continue;
        }
        if (state == AGENT_DONE)
            take_sample(p, &m->sample[i], now);
        else if (!p->sample_ns[i])
            p->sample_ns[i] = now;
        if (state == AGENT_DONE || now - p->sample_ns[i] > ABANDONED_MS * (uint64_t)NS_PER_MS)
            __atomic_store_n(&m->sample_state[i], AGENT_FREE, __ATOMIC_RELEASE);
    }
}

static bool ask(struct col_pacer *p, struct col_paced_thread *t, int sig, uint64_t now)
{
    struct agent_request *r;
    uint32_t i = 0;

    do {
        if (i == AGENT_PROBES)
            return false;
        t->request = ((uint32_t)t->inner_tid + i++) % AGENT_REQUESTS;
        r = &p->memory->request[t->request];
    } while (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != AGENT_FREE);
    r->process = t->of->number;
    r->tid = (uint32_t)t->inner_tid;
    t->asked_ns = now;
    __atomic_store_n(&r->state, AGENT_ASKED, __ATOMIC_RELEASE);
    if (syscall(SYS_tgkill, t->of->pid, t->tid, sig) == 0)
        return true;
    t->silent = errno == EPERM; /* it changed its user */
    p->silent += t->silent;
    t->gone = errno == ESRCH;
    forget_request(p, t);
    return false;
}

/* T blocks signal SIG.  A thread may also be silent because it waits for a CPU. */
static bool is_blocked(const struct col_paced_thread *t, int sig)
{
    char path[96], text[4096], *at;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%d/status", t->of->pid, t->tid);
    if (map_read_text(path, text, sizeof text) < 0 || !(at = strstr(text, "\nSigBlk:")))
        return false;
    return strtoull(at + 8, NULL, 16) >> (sig - 1) & 1;
}

/* T has not answered for long. */
static void check_silence(struct col_pacer *p, struct col_paced_thread *t, int sig, uint64_t now)
{
    if (is_blocked(t, sig)) {
        t->silent = true;
        p->silent++;
        forget_request(p, t);
    } else {
        t->asked_ns = now;
    }
}

/* Ask T for a sample if it runs.  Returns whether it does. */
static bool look(struct col_pacer *p, struct col_paced_thread *t, int sig, uint64_t now)
{
    enum run_state state;

    if (t->asked_ns && now - t->asked_ns > ANSWER_MS * (uint64_t)NS_PER_MS)
        check_silence(p, t, sig, now);
    if (is_asked(p, t))
        return true;
    if (t->silent || now < t->look_ns)
        return false;
    state = state_of(t);
    t->gone = state == ENDED;
    t->rest_ns = state == RUNS ? p->period_ns : 2 * t->rest_ns;
    if (t->rest_ns > REST_MS * (uint64_t)NS_PER_MS)
        t->rest_ns = REST_MS * (uint64_t)NS_PER_MS;
    t->look_ns = state == RUNS ? 0 : now + t->rest_ns / 2;
    return state == RUNS && ask(p, t, sig, now);
}

/* A thread that waited has run: look at all of them. */
static void wake(struct col_paced_process *x)
{
    for (size_t i = 0; i < x->thread.n; i++)
        x->thread.v[i]->look_ns = 0;
    x->unexplained_ns = 0;
}

static void look_at(struct col_pacer *p, struct col_paced_process *x, uint64_t now)
{
    const struct agent_process *r = record_of(p, x);
    uint32_t sig = __atomic_load_n(&r->signal, __ATOMIC_ACQUIRE);
    uint64_t before = x->cpu_ns, used, explained;
    size_t running = 0;
    bool any_gone = false;

    if (x->maps_ns && now >= x->maps_ns)
        reread_maps(p, x, now);
    if (now >= x->scan_ns || r->threads != x->threads)
        scan_threads(p, x, now);
    if ((sig != SIGURG && sig != SIGWINCH) || x->is_traced)
        return;
    for (size_t i = 0; i < x->thread.n; i++) {
        running += look(p, x->thread.v[i], (int)sig, now);
        any_gone |= x->thread.v[i]->gone;
    }
    if (any_gone)
        drop_threads(p, x);
    if (x->thread.n == running)
        return;
    note_cpu_time(p, x);
    used = x->cpu_ns - before;
    explained = running * p->period_ns;
    x->unexplained_ns += used > explained ? used - explained : 0;
    if (x->unexplained_ns > EXPLAIN_MS * (uint64_t)NS_PER_MS)
        wake(x);
}

static void tick(struct col_pacer *p)
{
    uint64_t now = clock_mono_ns();

    pthread_mutex_lock(&p->mutex);
    collect(p, now);
    adopt_new(p, now);
    for (size_t i = 0; i < p->process.n;) {
        look_at(p, p->process.v[i], now);
        if (p->process.v[i]->thread.n)
            i++;
        else
            end_process(p, i, now);
    }
    pthread_mutex_unlock(&p->mutex);
}

/* --- the thread --- */

/* A random number below N: samples must not keep step with periodic work. */
static uint64_t random_below(struct col_pacer *p, uint64_t n)
{
    p->seed ^= p->seed << 13;
    p->seed ^= p->seed >> 7;
    p->seed ^= p->seed << 17;
    return n ? p->seed % n : 0;
}

static void sleep_until(uint64_t ns)
{
    struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
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
        sleep_until(next - random_below(p, p->period_ns / 4));
        tick(p);
    }
    return NULL;
}

void col_pacer_init(struct col_pacer *p, struct agent_memory *m, uint64_t inode, uint64_t hz)
{
    struct stat st;

    *p = (struct col_pacer){ .memory = m, .memory_inode = inode, .period_ns = 1000000000u / hz,
                             .seed = clock_mono_ns() | 1 };
    p->namespace = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
    pthread_mutex_init(&p->mutex, NULL);
}

int col_pacer_start(struct col_pacer *p)
{
    p->runs = col_thread_start(&p->thread, run, p);
    return p->runs ? 0 : EAGAIN;
}

static bool has_ended(const struct col_paced_process *x)
{
    for (size_t i = 0; i < x->thread.n; i++)
        if (state_of(x->thread.v[i]) != ENDED)
            return false;
    return true;
}

void col_pacer_stop(struct col_pacer *p)
{
    uint64_t now = clock_mono_ns();

    if (!p->runs)
        return;
    __atomic_store_n(&p->stop, true, __ATOMIC_RELEASE);
    pthread_join(p->thread, NULL);
    p->runs = false;
    __atomic_store_n(&p->memory->ended, 1, __ATOMIC_RELEASE);
    collect(p, now);
    adopt_new(p, now);
    for (size_t i = 0; i < p->process.n;) {
        note_cpu_time(p, p->process.v[i]);
        if (has_ended(p->process.v[i]))
            end_process(p, i, now);
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
    p->batch.v.n = 0;
    p->batch.bytes.n = 0;
    pthread_mutex_unlock(&p->mutex);
    *b = full;
}

void col_batch_release(struct col_batch *b)
{
    vec_release(&b->v);
    buf_release(&b->bytes);
}

void col_pacer_release(struct col_pacer *p)
{
    if (!p->memory)
        return;
    col_pacer_stop(p);
    while (p->process.n)
        free_process(p, p->process.v[--p->process.n]);
    vec_release(&p->process);
    col_batch_release(&p->batch);
    pthread_mutex_destroy(&p->mutex);
}
