/* col_perf.c - see col_perf.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "collect/col_proc.h"

enum {
    SIDE_BYTES = 512 << 10,     /* enough for about 400 program starts */
    SIDE_LEAST = 64 << 10,
    SIDE_ALL = 8 << 20,         /* for all CPUs together */
    SAMPLE_LEAST = 256 << 10,   /* three records of maximum size */
    SAMPLE_MOST = 16 << 20,
    ALL_RINGS_MOST = 128 << 20,
    BACKLOG_PER_SECOND = 8,     /* a ring holds samples of 1/8 second */
};

enum {
    /* Added to every record, as a trailer of those that are not samples. */
    TRAILER = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
    SAMPLE = TRAILER | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
    STACK = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
};

static int parse_cpus(const char *text, struct col_perf *p)
{
    struct col_cpus cpus = { 0 };
    int rc = col_proc_cpus(text, &cpus);

    p->cpu = cpus.v;
    p->n_cpus = cpus.n;
    return rc;
}

static struct perf_event_attr common_attr(const struct col_plan *plan, enum col_scope scope,
                                          bool on_exec)
{
    struct perf_event_attr a = { .size = sizeof a };

    a.disabled = 1;
    a.enable_on_exec = on_exec;
    a.inherit = plan->inherit && scope != COL_ALONE;
    a.inherit_thread = a.inherit && (plan->threads_only || scope == COL_BESIDE);
    a.sample_id_all = 1;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    a.watermark = 1;
    a.exclude_kernel = a.exclude_hv = plan->no_kernel;
    a.exclude_user = plan->no_user;
    a.exclude_idle = 1; /* system-wide, ignore idle CPUs */
    return a;
}

static struct perf_event_attr side_attr(const struct col_plan *plan, enum col_scope scope)
{
    struct perf_event_attr a = common_attr(plan, scope, plan->on_exec);

    a.type = PERF_TYPE_SOFTWARE;
    a.config = PERF_COUNT_SW_DUMMY;
    a.sample_type = TRAILER;
    a.mmap = a.mmap2 = scope != COL_ALONE;
    a.build_id = a.mmap && plan->build_ids;
    a.comm = a.comm_exec = a.task = scope != COL_BESIDE;
    a.context_switch = scope != COL_BESIDE && plan->switches;
    a.exclude_kernel = a.exclude_hv = 1;
    a.exclude_user = 0;
    return a;
}

static void set_rate(struct perf_event_attr *a, const struct col_plan *plan,
                     const struct col_event *ev)
{
    uint64_t hz = plan->frequency_hz;
    int64_t most = map_read_int("/proc/sys/kernel/perf_event_max_sample_rate", 100000);

    if (ev->is_clock) {
        a->sample_period = 1000000000u / hz;
    } else if (ev->every_one) {
        a->sample_period = 1;
    } else {
        a->freq = 1;
        a->sample_freq = most > 0 && hz > (uint64_t)most ? (uint64_t)most : hz;
    }
}

static struct perf_event_attr sampling_attr(const struct col_perf *p, const struct col_event *ev,
                                            enum col_scope scope, uint32_t copy_bytes,
                                            bool on_exec)
{
    const struct col_plan *plan = p->plan;
    struct perf_event_attr a = common_attr(plan, scope, on_exec);

    a.type = ev->type;
    a.config = ev->config;
    a.config1 = ev->config1;
    a.config2 = ev->config2;
    a.exclude_kernel |= ev->no_kernel;
    a.exclude_hv = a.exclude_kernel;
    a.exclude_user |= ev->no_user;
    a.sample_type = p->sample_type;
    a.read_format = PERF_FORMAT_LOST;
    set_rate(&a, plan, ev);
    if (plan->graph == COL_GRAPH_NONE)
        a.exclude_callchain_kernel = 1;
    if (plan->graph != COL_GRAPH_AUTO && plan->graph != COL_GRAPH_FP)
        a.exclude_callchain_user = 1;
    a.exclude_callchain_kernel |= a.exclude_kernel;
    if (plan->depth)
        a.sample_max_stack = (uint16_t)plan->depth;
    if (copy_bytes) {
        a.sample_regs_user = perf_decode_regs_mask();
        a.sample_stack_user = copy_bytes;
    }
    if (plan->graph == COL_GRAPH_LBR)
        a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
    return a;
}

static const struct col_event switch_event = { .type = PERF_TYPE_SOFTWARE, .every_one = true,
                                               .config = PERF_COUNT_SW_CONTEXT_SWITCHES };

/* Describe the record layout of event EV to the engine. */
static void describe(struct col_perf *p, const struct col_event *ev)
{
    struct perf_event_attr a = sampling_attr(p, ev, COL_WHOLE, p->plan->copy_bytes, false);
    bool at_switch = ev == &switch_event;

    perf_engine_attr(p->engine, &(struct perf_attr){
        .type = a.type, .config = a.config, .period = a.sample_period,
        .sample_type = a.sample_type, .branch_type = a.branch_sample_type,
        .regs_user = a.sample_regs_user, .is_frequency = a.freq, .has_trailer = true,
        .is_clock = ev->is_clock, .at_switch = at_switch, .no_metric = at_switch,
        .name = ev->name });
}

/* All online CPUs, not only those this process may use: the target may use others. */
static void find_cpus(struct col_perf *p)
{
    char online[4096];

    if (map_read_text("/sys/devices/system/cpu/online", online, sizeof online) >= 0 &&
        parse_cpus(online, p) == 0)
        return;
    free(p->cpu);
    p->cpu = NULL;
    p->n_cpus = 0;
    for (long i = 0, n = sysconf(_SC_NPROCESSORS_CONF); i < n; i++) {
        p->cpu = mem_realloc(p->cpu, (size_t)(i + 1) * sizeof *p->cpu);
        p->cpu[p->n_cpus++] = (int)i;
    }
}

void col_perf_init(struct col_perf *p, const struct col_plan *plan, struct perf_engine *engine)
{
    memset(p, 0, sizeof *p);
    p->plan = plan;
    p->engine = engine;
    p->sample_type = SAMPLE;
    p->cgroup = -1;
    if (plan->copy_bytes)
        p->sample_type |= STACK;
    if (plan->graph == COL_GRAPH_LBR)
        p->sample_type |= PERF_SAMPLE_BRANCH_STACK;
    find_cpus(p);
    p->samples = mem_zalloc(p->n_cpus * sizeof *p->samples);
    p->side = mem_zalloc(p->n_cpus * sizeof *p->side);
    for (size_t i = 0; i < plan->events->n; i++)
        describe(p, &plan->events->v[i]);
    describe(p, &switch_event);
}

static int open_event(struct col_perf *p, struct perf_event_attr *a, int tid, int cpu,
                      enum col_role role)
{
    unsigned long flags = PERF_FLAG_FD_CLOEXEC;
    int fd;

    if (p->cgroup >= 0 && role != COL_SIDE) { /* side records of all: names and mappings */
        flags |= PERF_FLAG_PID_CGROUP;
        tid = p->cgroup;
    }
    fd = (int)syscall(SYS_perf_event_open, a, tid, cpu, -1, flags);
    if (fd < 0 && errno == EINVAL && a->read_format & PERF_FORMAT_LOST) {
        a->read_format = 0; /* kernels before 6.0 */
        p->no_lost = true;
        fd = (int)syscall(SYS_perf_event_open, a, tid, cpu, -1, flags);
    }
    if (fd >= 0)
        vec_push(&p->fd[role], fd);
    return fd;
}

static size_t ring_bytes(const struct col_perf *p)
{
    const struct col_plan *plan = p->plan;
    uint64_t record = plan->copy_bytes + 512;
    uint64_t want = plan->frequency_hz * record * plan->events->n / BACKLOG_PER_SECOND;
    /* System-wide, hundreds of modules need unwind tables first. */
    size_t times = plan->inherit ? 1 : 4;
    size_t bytes = SAMPLE_LEAST;

    while (bytes < want * times && bytes < SAMPLE_MOST && bytes * 2 * p->n_cpus <= ALL_RINGS_MOST)
        bytes *= 2;
    return bytes;
}

static int fail(struct col_perf *p, int tid, int cpu, struct err *e)
{
    /* EINVAL: the kernel has no such controller; the others: another hierarchy has it. */
    if (p->cgroup >= 0 && (errno == EINVAL || errno == EBADF || errno == ENOENT))
        return err_set(e, ERR_REFUSED,
                       "the kernel cannot sample this cgroup: its hierarchy has no controller "
                       "\"perf_event\"");
    if (errno == EACCES || errno == EPERM)
        err_hint(e, "a process of another user can be recorded by that user or by root");
    if (tid < 0 || p->cgroup >= 0)
        return err_sys(e, "cannot open an event on CPU %d", cpu);
    return err_sys(e, "cannot open an event for thread %d on CPU %d", tid, cpu);
}

/* --- rings: all of one size, the largest that the limit of locked memory allows --- */

static void drop_owners(struct col_perf *p, struct col_ring *rings, enum col_role role)
{
    for (size_t i = 0; i < p->n_cpus; i++)
        col_ring_close(&rings[i]);
    for (size_t i = 0; i < p->fd[role].n; i++)
        close(p->fd[role].v[i]);
    p->fd[role].n = 0;
}

/* Open A on every CPU with a ring of BYTES each.  Returns 1, with nothing left open, when the
 * thread has ended or memory is short. */
static int open_owners(struct col_perf *p, struct perf_event_attr *a, int tid,
                       struct col_ring *rings, enum col_role role, size_t bytes, struct err *e)
{
    a->wakeup_watermark = (uint32_t)(bytes / 4);
    for (size_t at = 0; at < p->n_cpus; at++) {
        int fd = open_event(p, a, tid, p->cpu[at], role);

        if (fd < 0 && (errno == ENODEV || errno == ENXIO))
            continue; /* the CPU went offline meanwhile */
        if (fd < 0 && errno != ESRCH)
            return fail(p, tid, p->cpu[at], e);
        if (fd < 0 || col_ring_open(&rings[at], fd, bytes) < 0) {
            drop_owners(p, rings, role);
            return 1;
        }
    }
    return 0;
}

static int open_rings(struct col_perf *p, struct perf_event_attr *a, int tid,
                      struct col_ring *rings, enum col_role role, size_t bytes, size_t least,
                      struct err *e)
{
    int rc = 1;

    for (; bytes >= least && rc > 0; bytes /= 2) {
        rc = open_owners(p, a, tid, rings, role, bytes, e);
        if (rc > 0 && errno == ESRCH)
            return 1;
    }
    if (rc <= 0)
        return rc;
    err_sys(e, "cannot map ring buffers of %zu kB per CPU", least >> 10);
    err_hint(e, "raise the limit on locked memory: ulimit -l unlimited, or "
                "sysctl kernel.perf_event_mlock_kb=4096");
    return -1;
}

/* --- events --- */

static int name_event(struct col_perf *p, int fd, uint32_t number, struct err *e)
{
    uint64_t id;

    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
        return err_sys(e, "event without an id");
    perf_engine_id(p->engine, id, number);
    if (number == 0)
        vec_push(&p->first_fd, fd);
    return 0;
}

/* Open A on every CPU, writing into the existing rings.  Returns 1 when the thread has ended. */
static int join_rings(struct col_perf *p, struct perf_event_attr *a, int tid,
                      struct col_ring *rings, enum col_role role, uint32_t number, struct err *e)
{
    for (size_t at = 0; at < p->n_cpus; at++) {
        int fd;

        if (!rings[at].page)
            continue;
        fd = open_event(p, a, tid, p->cpu[at], role);
        if (fd < 0 && errno == ESRCH)
            return 1;
        if (fd < 0)
            return fail(p, tid, p->cpu[at], e);
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings[at].fd) < 0)
            return err_sys(e, "cannot redirect events to one ring");
        if (role != COL_SIDE && name_event(p, fd, number, e) < 0)
            return -1;
    }
    return 0;
}

static int add_first(struct col_perf *p, int tid, enum col_scope scope, struct err *e)
{
    struct perf_event_attr side = side_attr(p->plan, scope);
    struct perf_event_attr a = sampling_attr(p, &p->plan->events->v[0], scope, p->plan->copy_bytes,
                                             p->plan->on_exec && !p->plan->delayed);
    size_t side_bytes = SIDE_BYTES;
    int rc;

    while (side_bytes > SIDE_LEAST && side_bytes * p->n_cpus > SIDE_ALL)
        side_bytes /= 2;
    rc = open_rings(p, &side, tid, p->side, COL_SIDE, side_bytes, SIDE_LEAST, e);
    if (rc == 0)
        rc = open_rings(p, &a, tid, p->samples, COL_SAMPLING, ring_bytes(p), SAMPLE_LEAST, e);
    for (size_t at = 0; at < p->n_cpus && rc == 0; at++)
        if (p->samples[at].page)
            rc = name_event(p, p->samples[at].fd, 0, e);
    return rc;
}

/* Open two events: one samples every switch, the other only some, for when there are too many.
 * The rate of an inherited event cannot be changed; it can only be enabled and disabled. */
static int add_switch_stacks(struct col_perf *p, int tid, enum col_scope scope, bool on_exec,
                             struct err *e)
{
    int rc = 0;

    for (int few = 0; few <= 1 && rc == 0; few++) {
        struct col_event ev = switch_event;
        struct perf_event_attr a;

        ev.every_one = !few;
        a = sampling_attr(p, &ev, scope, p->plan->copy_bytes, on_exec && !few);
        /* A switch happens in the kernel, so a filter on user space would drop it. */
        a.exclude_kernel = a.exclude_hv = a.exclude_user = 0;
        rc = join_rings(p, &a, tid, p->samples, few ? COL_SWITCHING_FEW : COL_SWITCHING,
                        (uint32_t)p->plan->events->n, e);
    }
    return rc;
}

int col_perf_add(struct col_perf *p, int tid, enum col_scope scope, struct err *e)
{
    const struct col_plan *plan = p->plan;
    bool on_exec = plan->on_exec && !plan->delayed, first = !p->fd[COL_SIDE].n;
    struct perf_event_attr a = side_attr(plan, scope);
    int rc = first ? add_first(p, tid, scope, e) : join_rings(p, &a, tid, p->side, COL_SIDE, 0, e);

    if (scope == COL_BESIDE)
        return rc;
    for (uint32_t i = 0; i < plan->events->n && rc == 0; i++) {
        const struct col_event *ev = &plan->events->v[i];

        a = sampling_attr(p, ev, scope, plan->copy_bytes, on_exec);
        if (i > 0 || !first)
            rc = join_rings(p, &a, tid, p->samples, COL_SAMPLING, i, e);
        a = sampling_attr(p, ev, scope, plan->big_copy_bytes, false);
        if (rc == 0 && plan->big_copy_bytes)
            rc = join_rings(p, &a, tid, p->samples, COL_SAMPLING_BIG, i, e);
    }
    return rc == 0 && plan->switch_stacks ? add_switch_stacks(p, tid, scope, on_exec, e) : rc;
}

static void all(struct col_perf *p, enum col_role role, unsigned long what)
{
    for (size_t i = 0; i < p->fd[role].n; i++)
        ioctl(p->fd[role].v[i], what, 0);
}

void col_perf_start_side(struct col_perf *p)
{
    all(p, COL_SIDE, PERF_EVENT_IOC_ENABLE);
}

uint64_t col_perf_first_count(const struct col_perf *p)
{
    uint64_t x[2], sum = 0; /* the count, and lost samples if the kernel counts them */

    for (size_t i = 0; i < p->first_fd.n; i++)
        if (read(p->first_fd.v[i], x, sizeof x) >= (ssize_t)sizeof x[0])
            sum += x[0];
    return sum;
}

void col_perf_start(struct col_perf *p)
{
    all(p, p->big ? COL_SAMPLING_BIG : COL_SAMPLING, PERF_EVENT_IOC_ENABLE);
    all(p, p->few ? COL_SWITCHING_FEW : COL_SWITCHING, PERF_EVENT_IOC_ENABLE);
}

void col_perf_stop(struct col_perf *p)
{
    for (int role = 0; role < COL_ROLES; role++)
        all(p, role, PERF_EVENT_IOC_DISABLE);
}

void col_perf_use_big(struct col_perf *p)
{
    if (p->big || !p->fd[COL_SAMPLING_BIG].n)
        return;
    p->big = true;
    all(p, COL_SAMPLING, PERF_EVENT_IOC_DISABLE);
    all(p, COL_SAMPLING_BIG, PERF_EVENT_IOC_ENABLE);
}

void col_perf_use_few(struct col_perf *p, bool few)
{
    if (p->few == few)
        return;
    p->few = few;
    all(p, few ? COL_SWITCHING : COL_SWITCHING_FEW, PERF_EVENT_IOC_DISABLE);
    all(p, few ? COL_SWITCHING_FEW : COL_SWITCHING, PERF_EVENT_IOC_ENABLE);
}

bool col_perf_lost(const struct col_perf *p, uint64_t *lost)
{
    static const enum col_role roles[] = { COL_SAMPLING, COL_SAMPLING_BIG };
    uint64_t x[2];

    *lost = 0;
    for (size_t r = 0; r < ARRAY_LEN(roles); r++)
        for (size_t i = 0; i < p->fd[roles[r]].n; i++)
            if (read(p->fd[roles[r]].v[i], x, sizeof x) == (ssize_t)sizeof x)
                *lost += x[1];
    return !p->no_lost;
}

void col_perf_release(struct col_perf *p)
{
    for (size_t i = 0; i < p->n_cpus; i++) {
        col_ring_close(&p->samples[i]);
        col_ring_close(&p->side[i]);
    }
    for (int role = 0; role < COL_ROLES; role++) {
        for (size_t i = 0; i < p->fd[role].n; i++)
            close(p->fd[role].v[i]);
        vec_release(&p->fd[role]);
    }
    vec_release(&p->first_fd);
    if (p->cgroup > 0) /* 0: not initialized */
        close(p->cgroup);
    free(p->samples);
    free(p->side);
    free(p->cpu);
    memset(p, 0, sizeof *p);
}
