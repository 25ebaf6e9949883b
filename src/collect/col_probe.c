/* col_probe.c - see col_probe.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_probe.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/col_schedstat.h"

const struct col_rung col_rungs[] = {
    { "kernel+user", "samples and stacks in kernel and user space", false, false, false },
    { "user", "samples and stacks in user space", true, false, false },
    { "in-process", "samples and stacks in user space; kernel time in its caller", true, true,
      false },
    { "stops", "the same of static programs and single threads, at 100 Hz, by brief stops", true,
      false, true },
    { 0 },
};

static int try_open(struct perf_event_attr *a, int pid, int cpu)
{
    long fd;

    a->size = sizeof *a;
    a->disabled = 1;
    fd = syscall(SYS_perf_event_open, a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno;
    close((int)fd);
    return 0;
}

int col_probe_open(const struct col_event *ev, bool no_kernel, bool system_wide, bool lbr)
{
    struct perf_event_attr a = { .type = ev->type, .config = ev->config, .config1 = ev->config1,
                                 .config2 = ev->config2 };

    a.sample_period = 1000000;
    a.sample_type = PERF_SAMPLE_IP;
    a.exclude_kernel = no_kernel || ev->no_kernel;
    a.exclude_user = ev->no_user;
    a.exclude_hv = a.exclude_kernel;
    if (lbr) {
        a.sample_type |= PERF_SAMPLE_BRANCH_STACK;
        a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
    }
    return try_open(&a, system_wide ? -1 : 0, system_wide ? 0 : -1);
}

static bool kernel_has_build_ids(void)
{
    struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY };

    a.exclude_kernel = a.exclude_hv = 1;
    a.mmap = a.mmap2 = a.build_id = 1;
    return try_open(&a, 0, -1) == 0;
}

static bool is_refusal(int errnum)
{
    return errnum == EACCES || errnum == EPERM;
}

void col_probe_explain(int errnum, bool no_kernel, bool system_wide, struct col_reason *r)
{
    struct col_refusal_facts f;

    col_refusal_ask(errnum,
                    system_wide ? COL_WANT_MACHINE
                    : no_kernel ? COL_WANT_USER
                                : COL_WANT_KERNEL,
                    &f);
    col_refusal_explain(&f, r);
}

static int no_rung(int errnum, bool no_kernel, bool system_wide, struct err *e)
{
    struct col_reason r;

    col_probe_explain(errnum, no_kernel, system_wide, &r);
    err_set(e, ERR_REFUSED, "cannot sample %s: %s",
            system_wide ? "the whole machine" : "this program", r.why);
    if (r.remedy[0])
        err_hint(e, "%s", r.remedy);
    if (e)
        e->sys = errnum;
    return -1;
}

/* This is missing for every rung. */
static bool is_shortage(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

/* ENOENT and similar errors mean that the event does not exist, regardless of permissions. */
static bool is_absent(const struct col_event *ev)
{
    int errnum = col_probe_open(ev, true, false, false);

    return ev->is_hardware && (errnum == ENOENT || errnum == EOPNOTSUPP || errnum == ENODEV ||
                               errnum == ENXIO);
}

static int replace_absent(struct col_events *events, struct col_probe *p, struct err *e)
{
    for (size_t i = 0; i < events->n; i++) {
        struct col_event *ev = &events->v[i];
        bool is_cycles = ev->type == PERF_TYPE_HARDWARE && ev->config == PERF_COUNT_HW_CPU_CYCLES;
        struct col_event clock = col_event_clock();

        if (!is_absent(ev))
            continue;
        if (!is_cycles) {
            err_set(e, ERR_MISSING, "this machine has no event %s", ev->name);
            err_hint(e, "virtual machines often have no hardware counters; fathom doctor lists "
                        "the available ones");
            return -1;
        }
        clock.no_user = ev->no_user;
        clock.no_kernel = ev->no_kernel;
        *ev = clock;
        snprintf(p->instead, sizeof p->instead,
                 "no hardware cycle counter: using the cpu-clock timer");
    }
    return 0;
}

static int first_refusal(const struct col_events *events, bool no_kernel, bool system_wide,
                         bool lbr)
{
    for (size_t i = 0; i < events->n; i++) {
        int errnum = col_probe_open(&events->v[i], no_kernel, system_wide, lbr);

        if (errnum)
            return errnum;
    }
    return 0;
}

static int no_lbr(struct err *e)
{
    err_set(e, ERR_MISSING, "this machine has no last-branch records to build stacks from");
    err_hint(e, "they need an Intel CPU (or AMD Zen 4) outside a virtual machine: use -g auto");
    return -1;
}

static const struct col_rung *paced_rung(bool stops)
{
    const struct col_rung *r = col_rungs;

    while (stops ? !r->stops : !r->in_process)
        r++;
    return r;
}

/* Why the agent, or brief stops, cannot record what the options ask for; NULL: they can. */
static const char *not_paced(const struct col_events *events, const struct col_options *o)
{
    if (o->system_wide)
        return "only a command or processes can be sampled from inside";
    if (o->events)
        return "samples from inside the program have no events (-e)";
    if (o->wall && !col_schedstat_works())
        return "this kernel does not count when threads run, as waiting needs (--wall)";
    if (o->levels == COL_KERNEL_ONLY)
        return "samples from inside the program do not show the kernel (--kernel)";
    if (o->graph != COL_GRAPH_AUTO && o->graph != COL_GRAPH_DWARF)
        return "samples from inside the program have stacks of mode auto or dwarf (-g)";
    return events->v[0].no_user ? "the event is in the kernel" : NULL;
}

static int take_paced(struct col_events *events, const struct col_options *o,
                           struct col_probe *p, struct err *e)
{
    const char *why = not_paced(events, o);

    if (why)
        return err_set(e, ERR_USAGE, "--in-process: %s", why);
    events->v[0] = col_event_clock();
    p->rung = paced_rung(!o->command && o->n_tids);
    return 0;
}

void col_probe_take_stops(struct col_probe *p, const char *what, const char *why)
{
    size_t n = strlen(p->reason.why);
    const char *name = strrchr(what, '/');

    p->rung = paced_rung(true);
    snprintf(p->reason.why + n, sizeof p->reason.why - n,
             "%s%.32s cannot be sampled from inside: %s", n ? "; " : "", name ? name + 1 : what,
             why);
}

int col_probe(struct col_events *events, const struct col_options *o, struct col_probe *p,
              struct err *e)
{
    bool lbr = o->graph == COL_GRAPH_LBR, system_wide = o->system_wide;
    int errnum = 0;

    *p = (struct col_probe){ 0 };
    if (o->in_process)
        return take_paced(events, o, p, e);
    if (replace_absent(events, p, e) < 0)
        return -1;
    if (lbr && (errnum = first_refusal(events, true, system_wide, true)) && !is_refusal(errnum))
        return no_lbr(e);
    for (const struct col_rung *r = col_rungs; !r->in_process; r++) {
        if (o->levels == COL_USER_ONLY && !r->no_kernel)
            continue;
        if (o->levels == COL_KERNEL_ONLY && r->no_kernel)
            break;
        errnum = first_refusal(events, r->no_kernel, system_wide, lbr);
        if (errnum)
            continue;
        p->rung = r;
        if (r != col_rungs && o->levels != COL_USER_ONLY)
            col_probe_explain(first_refusal(events, false, system_wide, lbr), false, system_wide,
                              &p->reason);
        p->build_ids = kernel_has_build_ids();
        return 0;
    }
    if (not_paced(events, o) || is_shortage(errnum))
        return no_rung(errnum, o->levels != COL_KERNEL_ONLY, system_wide, e);
    col_probe_explain(errnum, true, false, &p->reason);
    return take_paced(events, o, p, e);
}
