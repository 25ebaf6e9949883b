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
#include "collect/col_parse.h"

enum {
    SIDE_BYTES = 512 << 10,     /* some 400 started programs */
    SIDE_LEAST = 64 << 10,
    SAMPLE_LEAST = 256 << 10,   /* three of the largest records */
    SAMPLE_MOST = 16 << 20,
    ALL_RINGS_MOST = 128 << 20,
    BACKLOG_PER_SECOND = 8,     /* a ring holds this part of a second of samples */
};

static int parse_cpus(const char *text, struct col_perf *p)
{
    while (*text) {
        char *end;
        long low = strtol(text, &end, 10), high = low;

        if (end == text)
            return -1;
        if (*end == '-')
            high = strtol(end + 1, &end, 10);
        if (low < 0 || high < low || high > 1 << 16)
            return -1;
        p->cpu = mem_realloc(p->cpu, (p->n_cpus + (size_t)(high - low) + 1) * sizeof *p->cpu);
        for (; low <= high; low++)
            p->cpu[p->n_cpus++] = (int)low;
        text = end + (*end == ',');
    }
    return p->n_cpus ? 0 : -1;
}

int col_perf_init(struct col_perf *p, const struct col_plan *plan, struct err *e)
{
    char online[4096];

    memset(p, 0, sizeof *p);
    p->plan = plan;
    p->sample_type = COL_SAMPLE;
    if (plan->copy_bytes)
        p->sample_type |= COL_STACK;
    if (plan->graph == COL_GRAPH_LBR)
        p->sample_type |= PERF_SAMPLE_BRANCH_STACK;
    /* Every CPU that is on, not those this process may use: the target may use others. */
    if (map_read_text("/sys/devices/system/cpu/online", online, sizeof online) < 0 ||
        parse_cpus(online, p) < 0) {
        free(p->cpu);
        p->cpu = NULL;
        p->n_cpus = 0;
        for (long i = 0, n = sysconf(_SC_NPROCESSORS_CONF); i < n; i++) {
            p->cpu = mem_realloc(p->cpu, (size_t)(i + 1) * sizeof *p->cpu);
            p->cpu[p->n_cpus++] = (int)i;
        }
    }
    p->samples = mem_zalloc(p->n_cpus * sizeof *p->samples);
    p->side = mem_zalloc(p->n_cpus * sizeof *p->side);
    return 0;
}

static struct perf_event_attr common_attr(const struct col_plan *plan, bool on_exec)
{
    struct perf_event_attr a = { .size = sizeof a };

    a.disabled = 1;
    a.enable_on_exec = on_exec;
    a.inherit = plan->inherit;
    a.inherit_thread = plan->inherit && plan->threads_only;
    a.sample_id_all = 1;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    a.watermark = 1;
    a.exclude_kernel = a.exclude_hv = plan->no_kernel;
    a.exclude_user = plan->no_user;
    a.exclude_idle = 1; /* system-wide, an idle CPU is no news */
    return a;
}

static struct perf_event_attr side_attr(const struct col_plan *plan)
{
    struct perf_event_attr a = common_attr(plan, plan->on_exec);

    a.type = PERF_TYPE_SOFTWARE;
    a.config = PERF_COUNT_SW_DUMMY;
    a.sample_type = COL_TRAILER;
    a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = 1;
    a.build_id = plan->build_ids;
    a.context_switch = plan->switches;
    a.exclude_kernel = a.exclude_hv = 1;
    a.exclude_user = 0;
    a.wakeup_watermark = SIDE_BYTES / 4;
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
                                            uint32_t copy_bytes, bool on_exec)
{
    const struct col_plan *plan = p->plan;
    struct perf_event_attr a = common_attr(plan, on_exec);

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
        a.sample_regs_user = col_parse_regs_mask();
        a.sample_stack_user = copy_bytes;
    }
    if (plan->graph == COL_GRAPH_LBR)
        a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
    return a;
}

static int open_event(struct col_perf *p, struct perf_event_attr *a, int tid, int cpu,
                      enum col_role role)
{
    int fd = (int)syscall(SYS_perf_event_open, a, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

    if (fd < 0 && errno == EINVAL && a->read_format) {
        a->read_format = 0; /* a kernel before 6.0 */
        fd = (int)syscall(SYS_perf_event_open, a, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
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
    size_t bytes = SAMPLE_LEAST;

    while (bytes < want && bytes < SAMPLE_MOST && bytes * 2 * p->n_cpus <= ALL_RINGS_MOST)
        bytes *= 2;
    return bytes;
}

/* The first event on a CPU owns the ring, the others write into it too. */
static int share_ring(struct col_ring *r, int fd, size_t bytes, size_t least, struct err *e)
{
    if (!r->page)
        return col_ring_open(r, fd, bytes, least, e);
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) < 0)
        return err_sys(e, "cannot join events into one ring");
    return 0;
}

static int add_sampling(struct col_perf *p, size_t at, struct perf_event_attr *a, int tid,
                        enum col_role role, uint32_t number, struct err *e)
{
    size_t bytes = p->samples[at].page ? p->samples[at].size : ring_bytes(p);
    uint64_t id;
    int fd;

    a->wakeup_watermark = (uint32_t)(bytes / 4);
    fd = open_event(p, a, tid, p->cpu[at], role);
    if (fd < 0)
        return -1;
    if (share_ring(&p->samples[at], fd, bytes, SAMPLE_LEAST, e) < 0)
        return -1;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
        return err_sys(e, "event without an id");
    umap_put(&p->event_by_id, id, number + 1);
    return 0;
}

static int add_switch_stacks(struct col_perf *p, size_t at, int tid, struct err *e)
{
    struct col_event ev = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES };
    struct perf_event_attr a =
        sampling_attr(p, &ev, p->plan->copy_bytes, p->plan->on_exec && !p->plan->delayed);

    /* The switch happens in the kernel, so that a filter on user space would drop it. */
    a.exclude_kernel = a.exclude_hv = 0;
    return add_sampling(p, at, &a, tid, COL_SWITCHING, COL_EVENT_SWITCH, e);
}

static int add_on_cpu(struct col_perf *p, size_t at, int tid, struct err *e)
{
    const struct col_plan *plan = p->plan;
    bool on_exec = plan->on_exec && !plan->delayed;
    struct perf_event_attr a = side_attr(plan);
    int fd = open_event(p, &a, tid, p->cpu[at], COL_SIDE);

    if (fd < 0 || share_ring(&p->side[at], fd, SIDE_BYTES, SIDE_LEAST, e) < 0)
        return -1;
    for (uint32_t i = 0; i < plan->events->n; i++) {
        a = sampling_attr(p, &plan->events->v[i], plan->copy_bytes, on_exec);
        if (add_sampling(p, at, &a, tid, COL_SAMPLING, i, e) < 0)
            return -1;
        a = sampling_attr(p, &plan->events->v[i], plan->big_copy_bytes, false);
        if (plan->big_copy_bytes && add_sampling(p, at, &a, tid, COL_SAMPLING_BIG, i, e) < 0)
            return -1;
    }
    return plan->switch_stacks ? add_switch_stacks(p, at, tid, e) : 0;
}

int col_perf_add(struct col_perf *p, int tid, struct err *e)
{
    size_t opened = 0;

    for (size_t at = 0; at < p->n_cpus; at++) {
        if (add_on_cpu(p, at, tid, e) == 0) {
            opened++;
            continue;
        }
        if (e->code)
            return -1;
        if (errno == ESRCH)
            return 1;
        if (errno == ENODEV || errno == ENXIO)
            continue; /* the CPU was taken off meanwhile */
        if (errno == EMFILE)
            err_hint(e, "raise the limit of open files: ulimit -n 65536");
        return err_sys(e, "cannot open an event for thread %d on CPU %d", tid, p->cpu[at]);
    }
    return opened ? 0 : err_set(e, ERR_SYSTEM, "no CPU would open an event");
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

void col_perf_start(struct col_perf *p)
{
    all(p, p->big ? COL_SAMPLING_BIG : COL_SAMPLING, PERF_EVENT_IOC_ENABLE);
    all(p, COL_SWITCHING, PERF_EVENT_IOC_ENABLE);
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

uint64_t col_perf_lost(const struct col_perf *p)
{
    uint64_t sum = 0, x[2];

    for (int role = 0; role < COL_ROLES; role++)
        for (size_t i = 0; i < p->fd[role].n; i++)
            if (read(p->fd[role].v[i], x, sizeof x) == (ssize_t)sizeof x)
                sum += x[1];
    return sum;
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
    umap_release(&p->event_by_id);
    free(p->samples);
    free(p->side);
    free(p->cpu);
    memset(p, 0, sizeof *p);
}
