/* col_record.c - one recording from start to end.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/col_cgroup.h"
#include "collect/col_host.h"
#include "collect/col_keep.h"
#include "collect/col_proc.h"
#include "collect/col_session.h"
#include "collect/col_stoppable.h"

enum {
    COPY_BYTES = 32 << 10, /* costs the target no more than 4 KB */
    BIG_COPY_BYTES = 65528, /* the kernel's limit */
    ATTACH_ROUNDS = 8,
    PRIORITY = -10,
};
static const uint64_t tick_ns = 100000000u;

int col_parse_graph(const char *text, struct col_options *o, struct err *e)
{
    static const struct {
        const char *name;
        enum col_graph graph;
    } modes[] = { { "auto", COL_GRAPH_AUTO }, { "fp", COL_GRAPH_FP },
                  { "dwarf", COL_GRAPH_DWARF }, { "lbr", COL_GRAPH_LBR },
                  { "none", COL_GRAPH_NONE } };
    size_t n = strcspn(text, ",");
    unsigned long number = 0;
    char *end = NULL;

    if (text[n])
        number = strtoul(text + n + 1, &end, 10);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (*text && (strlen(modes[i].name) != n || strncmp(text, modes[i].name, n) != 0))
            continue;
        o->graph = modes[i].graph;
        if (!end)
            return 0;
        if (*end || (o->graph == COL_GRAPH_DWARF && (number < 512 || number > BIG_COPY_BYTES)) ||
            (o->graph == COL_GRAPH_FP && (number < 1 || number > 1024)) ||
            (o->graph != COL_GRAPH_FP && o->graph != COL_GRAPH_DWARF))
            break;
        if (o->graph == COL_GRAPH_FP)
            o->depth = (uint32_t)number;
        else
            o->copy_bytes = (uint32_t)number & ~7u;
        return 0;
    }
    err_set(e, ERR_USAGE, "-g: unknown mode \"%s\"", text);
    err_hint(e, "auto, fp[,DEPTH], dwarf[,BYTES up to %d], lbr, none", BIG_COPY_BYTES);
    return -1;
}

/* --- set-up --- */

static void make_plan(struct col_session *s)
{
    const struct col_options *o = s->options;
    struct col_plan *p = &s->plan;

    p->events = &s->events;
    p->frequency_hz = o->frequency_hz ? o->frequency_hz : COL_DEFAULT_HZ;
    if (s->probe.rung->stops && p->frequency_hz > COL_HALT_HZ)
        p->frequency_hz = COL_HALT_HZ;
    p->graph = o->graph;
    p->depth = o->depth;
    if (o->graph == COL_GRAPH_AUTO || o->graph == COL_GRAPH_DWARF)
        p->copy_bytes = o->copy_bytes ? o->copy_bytes : COPY_BYTES;
    if (o->graph == COL_GRAPH_AUTO && !o->copy_bytes)
        p->big_copy_bytes = BIG_COPY_BYTES;
    p->no_kernel = s->probe.rung->no_kernel;
    p->no_user = o->levels == COL_KERNEL_ONLY;
    p->build_ids = s->probe.build_ids;
    p->inherit = !o->system_wide;
    p->threads_only = o->no_children;
    p->on_exec = o->command && !o->system_wide;
    p->delayed = o->delay_s > 0;
    p->switches = o->wall;
    p->switch_stacks = o->wall && !p->no_kernel;
}

static int choose_events(struct col_session *s, struct err *e)
{
    const struct col_options *o = s->options;

    if (o->events)
        return col_event_parse(o->events, &s->events, e);
    /* To compare with waiting, running must be in nanoseconds too. */
    return col_event_parse(o->wall ? "cpu-clock" : "cycles", &s->events, e);
}

/* Make the running processes join.  Those that cannot are stopped instead.  Returns how many have
 * joined. */
static size_t enter(struct col_session *s)
{
    const struct col_options *o = s->options;
    const struct col_guard *folder = &s->zones.guard;
    uint64_t hz = o->frequency_hz ? o->frequency_hz : COL_DEFAULT_HZ;
    struct err why = { 0 };
    size_t n = 0;
    bool is_open;

    col_zones_open(&s->zones);
    vec_push(&s->sources.v, col_zones_source(&s->zones));
    col_zones_hide(&s->zones);
    is_open = col_agent_open(&s->agent, &s->engine, folder, hz, !o->no_children, &why) == 0;
    for (size_t i = 0; i < o->n_pids; i++) {
        if (is_open)
            why = (struct err){ 0 };
        if (is_open && col_agent_attach(&s->agent, folder, o->pids[i], &why) == 0)
            n++;
        else
            s->not_entered[i] = mem_strdup(why.msg);
    }
    if (!n)
        col_agent_release(&s->agent);
    return n;
}

/* A program that cannot load the agent is stopped instead. */
static void choose_way(struct col_session *s)
{
    const struct col_options *o = s->options;
    const char *why = NULL;
    char what[32];

    if (!s->probe.rung->in_process)
        return;
    snprintf(what, sizeof what, "process %ld", (long)o->pids[0]);
    if (o->command)
        why = col_agent_refuses(o->command[0]);
    else if (!enter(s))
        why = s->not_entered[0];
    if (why)
        col_probe_take_stops(&s->probe, o->command ? o->command[0] : what, why);
}

static void define_metrics(struct col_session *s)
{
    for (size_t i = 0; i < s->events.n; i++)
        perf_engine_metric(&s->engine, s->engine.attrs.v.v[i]);
}

/* Zones share the processes and threads of the samples, those of their time.  Ended threads that
 * libfathom merged have no tid. */
static uint32_t zone_process(struct region_zones *z, const struct live_header *h)
{
    struct col_session *s = z->context;
    char comm[sizeof h->comm + 1] = "";

    memcpy(comm, h->comm, sizeof h->comm);
    return perf_process_item_at(&s->engine.processes, h->pid, h->start_ns, comm);
}

static uint32_t zone_thread(struct region_zones *z, const struct live_header *h, uint32_t tid,
                            const char *name)
{
    struct col_session *s = z->context;
    char comm[sizeof h->comm + 1] = "";

    if (!tid)
        return intern_thread(&s->in, &(struct thread){ .process = zone_process(z, h),
                                                       .name = intern_cstr(&s->in, name) });
    memcpy(comm, h->comm, sizeof h->comm);
    return perf_process_thread_at(&s->engine.processes, h->pid, tid, h->start_ns, comm, name);
}

static void raise_file_limit(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max < 1 << 20 ? r.rlim_max : 1 << 20;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

/* Attach to all threads; threads created later inherit the events.  A thread without events may
 * create another meanwhile, so repeat until no new thread is found. */
static int attach(struct col_session *s, int64_t pid, enum col_scope scope, struct err *e)
{
    struct umap seen = { 0 };
    bool any = false, more = true;
    int rc = 0;

    for (int round = 0; round < ATTACH_ROUNDS && more && rc >= 0; round++) {
        struct col_tids tids = { 0 };

        more = false;
        col_proc_threads(pid, &tids);
        for (size_t i = 0; i < tids.n && rc >= 0; i++) {
            if (umap_find(&seen, (uint64_t)tids.v[i]))
                continue;
            umap_put(&seen, (uint64_t)tids.v[i], 1);
            more = true;
            rc = col_perf_add(&s->perf, tids.v[i], scope, e);
            any |= rc == 0;
        }
        vec_release(&tids);
    }
    umap_release(&seen);
    if (rc < 0)
        return err_wrap(e, "process %ld", (long)pid);
    return any ? 0 : err_set(e, ERR_MISSING, "no process %ld", (long)pid);
}

/* Process PID is recorded with all its threads. */
static bool is_whole(const struct col_options *o, int64_t pid)
{
    for (size_t i = 0; i < o->n_pids; i++)
        if (o->pids[i] == pid)
            return true;
    return false;
}

/* A thread before thread I belongs to the same process. */
static bool has_process_before(const struct col_target *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (t->thread[k].pid == t->thread[i].pid)
            return true;
    return false;
}

/* Attach to the chosen threads alone.  The other threads of their processes make mappings too. */
static int attach_threads(struct col_session *s, struct err *e)
{
    const struct col_options *o = s->options;
    struct col_target *t = &s->target;

    for (size_t i = 0; i < o->n_tids; i++) {
        int rc;

        if (is_whole(o, col_proc_of_thread(o->tids[i])))
            continue;
        if (col_target_watch_thread(t, o->tids[i], e) < 0)
            return -1;
        rc = col_perf_add(&s->perf, (int)o->tids[i], COL_ALONE, e);
        if (rc > 0)
            return err_set(e, ERR_MISSING, "no thread %ld", (long)o->tids[i]);
        if (rc < 0)
            return -1;
    }
    for (size_t i = 0; i < t->n_threads; i++)
        if (!has_process_before(t, i) && attach(s, t->thread[i].pid, COL_BESIDE, e) < 0)
            return -1;
    return 0;
}

static void note_chosen_threads(struct col_session *s)
{
    const struct col_target *t = &s->target;

    for (size_t i = 0; i < t->n_threads; i++) {
        const struct col_target_thread *x = &t->thread[i];

        if (!has_process_before(t, i))
            perf_process_attach(&s->engine.processes, x->pid)->some_threads = true;
        perf_wait_attached(perf_process_thread(&s->engine.processes, x->pid, x->tid), s->start_ns);
    }
}

static void add_threads(struct col_session *s, int64_t pid)
{
    struct col_tids tids = { 0 };

    perf_process_attach(&s->engine.processes, pid);
    col_proc_threads(pid, &tids);
    for (size_t i = 0; i < tids.n; i++)
        perf_wait_attached(perf_process_thread(&s->engine.processes, pid, tids.v[i]), s->start_ns);
    vec_release(&tids);
}

/* Note the names of all processes: one may execute another program before its first sample. */
static void add_processes(struct col_session *s)
{
    struct col_tids pids = { 0 };

    col_proc_all(&pids);
    for (size_t i = 0; i < pids.n; i++)
        perf_process_note(&s->engine.processes, pids.v[i]);
    vec_release(&pids);
}

static int spawn(struct col_session *s, struct err *e)
{
    const struct col_options *o = s->options;
    const struct col_guard *folder = &s->zones.guard;
    bool in_process = s->probe.rung->in_process;
    int rc = 0;

    col_zones_open(&s->zones);
    vec_push(&s->sources.v, col_zones_source(&s->zones));
    if (in_process) {
        rc = col_agent_open(&s->agent, &s->engine, folder, s->plan.frequency_hz, !o->no_children,
                            e);
        if (rc == 0)
            rc = col_agent_show(&s->agent, folder, e);
    }
    if (rc == 0)
        rc = col_target_spawn(&s->target, o->command, o->pin, e);
    col_agent_hide(&s->agent);
    col_zones_hide(&s->zones);
    s->target.keep = s->zones.guard.pid;
    return rc;
}

/* The agent is in running process I. */
static bool is_entered(const struct col_session *s, size_t i)
{
    return s->probe.rung->in_process && !s->not_entered[i];
}

/* Process PID can be sampled by stops. */
static int check_stops(const struct col_session *s, int64_t pid, struct err *e)
{
    struct col_reason why;

    if (col_stoppable(pid, &why))
        return 0;
    if (!why.why[0])
        return err_set(e, ERR_MISSING, "no process %ld", (long)pid);
    err_hint(e, "%s", why.remedy);
    if (s->probe.reason.why[0])
        return err_set(e, ERR_REFUSED, "cannot sample process %ld: %s, and %s", (long)pid,
                       s->probe.reason.why, why.why);
    return err_set(e, ERR_REFUSED, "cannot sample process %ld: %s", (long)pid, why.why);
}

static int open_paced(struct col_session *s, struct err *e)
{
    const struct col_options *o = s->options;
    struct col_target *t = &s->target;

    if (s->probe.rung->stops)
        col_agent_open_stops(&s->agent, &s->engine, s->plan.frequency_hz);
    if (o->command)
        return s->probe.rung->stops ? check_stops(s, t->pid, e) : 0;
    for (size_t i = 0; i < o->n_pids; i++)
        if (col_target_watch(t, o->pids[i], e) < 0 ||
            (!is_entered(s, i) && check_stops(s, o->pids[i], e) < 0))
            return -1;
    for (size_t i = 0; i < o->n_tids; i++)
        if (!is_whole(o, col_proc_of_thread(o->tids[i])) &&
            (col_target_watch_thread(t, o->tids[i], e) < 0 || check_stops(s, o->tids[i], e) < 0))
            return -1;
    return 0;
}

static int open_all(struct col_session *s, struct err *e)
{
    const struct col_options *o = s->options;

    raise_file_limit();
    if (o->cgroup && (s->perf.cgroup = col_cgroup_open(o->cgroup, e)) < 0)
        return -1;
    s->target.output_to_stderr = o->output_to_stderr;
    s->target.adopts = o->duration_s > 0;
    if (o->command && spawn(s, e) < 0)
        return -1;
    if (col_rung_is_paced(s->probe.rung))
        return open_paced(s, e);
    if (o->system_wide)
        return col_perf_add(&s->perf, -1, COL_WHOLE, e);
    if (o->command)
        return col_perf_add(&s->perf, s->target.pid, COL_WHOLE, e);
    for (size_t i = 0; i < o->n_pids; i++)
        if (col_target_watch(&s->target, o->pids[i], e) < 0 ||
            attach(s, o->pids[i], COL_WHOLE, e) < 0)
            return -1;
    return attach_threads(s, e);
}

/* The chosen threads of the process of thread FIRST. */
static void take_threads(struct col_session *s, size_t first)
{
    const struct col_target *t = &s->target;
    int64_t tids[COL_MAX_PIDS];
    size_t n = 0;

    for (size_t i = first; i < t->n_threads; i++)
        if (t->thread[i].pid == t->thread[first].pid)
            tids[n++] = t->thread[i].tid;
    col_others_add(&s->agent.pacer, &(struct col_others_add){ .pid = t->thread[first].pid,
                                                              .tids = tids, .n = n,
                                                              .is_old = true }, s->start_ns);
}

/* Running process I.  Its threads are stopped, unless the agent is in it. */
static void take_process(struct col_session *s, size_t i)
{
    struct col_others_add add = { .pid = s->options->pids[i], .is_old = true,
                                  .follow = !s->options->no_children, .why = s->not_entered[i] };

    if (is_entered(s, i))
        col_others_follow(&s->agent.pacer, add.pid, add.follow);
    else
        col_others_add(&s->agent.pacer, &add, s->start_ns);
}

static int begin_paced(struct col_session *s, struct err *e)
{
    const struct col_options *o = s->options;
    uint64_t delay_ns = (uint64_t)(o->delay_s * 1e9);

    for (size_t i = 0; i < o->n_pids; i++) {
        add_threads(s, o->pids[i]);
        take_process(s, i);
    }
    note_chosen_threads(s);
    for (size_t i = 0; i < s->target.n_threads; i++)
        if (!has_process_before(&s->target, i))
            take_threads(s, i);
    if (o->wall && col_agent_watch(&s->agent, e) < 0)
        return -1;
    return col_agent_start(&s->agent, s->start_ns + delay_ns, e);
}

/* The command runs: sample it by stops, or look for processes that it starts without the agent. */
static void follow_command(struct col_session *s)
{
    const struct col_options *o = s->options;
    struct col_pacer *p = &s->agent.pacer;

    if (s->probe.rung->stops)
        col_others_add(p, &(struct col_others_add){ .pid = s->target.pid }, clock_mono_ns());
    col_others_find(p, s->zones.guard.pid, !o->no_children);
}

static int begin(struct col_session *s, struct err *e)
{
    const struct col_options *o = s->options;

    /* Rings fill while we wait for a CPU: raise our priority if permitted. */
    setpriority(PRIO_PROCESS, 0, PRIORITY);
    s->start_ns = s->engine.processes.start_ns = clock_mono_ns();
    if (col_rung_is_paced(s->probe.rung)) {
        if (begin_paced(s, e) < 0)
            return -1;
    } else if (!s->plan.on_exec) {
        col_perf_start_side(&s->perf);
        if (o->system_wide)
            add_processes(s);
        for (size_t i = 0; i < o->n_pids; i++)
            add_threads(s, o->pids[i]);
        note_chosen_threads(s);
        if (!s->plan.delayed)
            col_perf_start(&s->perf);
    }
    if (o->command && col_target_go(&s->target, o->command, e) < 0)
        return -1;
    if (o->command && col_rung_is_paced(s->probe.rung))
        follow_command(s);
    return 0;
}

/* Libraries keep the chosen variants in the target's memory: read them while it runs. */
static int look_at_variants(void *with, uint64_t now_ns)
{
    (void)now_ns;
    perf_ifunc_look(with);
    return COL_POLL_MS;
}

static void add_sources(struct col_session *s)
{
    uint64_t delay_ns = (uint64_t)(s->options->delay_s * 1e9);

    if (col_rung_is_paced(s->probe.rung)) {
        vec_push(&s->sources.v, col_agent_source(&s->agent));
    } else {
        col_rings_init(&s->rings, &s->perf, &s->engine, &s->look, s->start_ns,
                       s->plan.delayed ? s->start_ns + delay_ns : 0);
        vec_push(&s->sources.v, col_rings_source(&s->rings));
    }
    vec_push(&s->sources.v, ((struct col_source){ .with = &s->engine.ifuncs,
                                                  .settle = look_at_variants }));
}

/* --- while it runs --- */

struct wait_set {
    struct pollfd *v;
    size_t n;
};

static struct wait_set wait_set_of(struct col_session *s)
{
    size_t n = col_sources_poll(&s->sources, NULL, 0);
    struct wait_set w = { mem_zalloc((n + 1 + COL_MAX_PIDS) * sizeof *w.v), 0 };

    w.n = col_sources_poll(&s->sources, w.v, n);
    w.v[w.n++] = (struct pollfd){ .fd = s->target.signals.fd, .events = POLLIN };
    for (size_t i = 0; i < s->target.n_watch; i++)
        w.v[w.n++] = (struct pollfd){ .fd = s->target.watch[i], .events = POLLIN };
    return w;
}

static void wait_for_something(struct wait_set *w, int timeout_ms)
{
    poll(w->v, w->n, timeout_ms);
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].revents & (POLLHUP | POLLERR | POLLNVAL))
            w->v[i].fd = -1; /* its threads have ended: it would always be readable */
}

static bool time_is_up(const struct col_session *s, uint64_t now)
{
    const struct col_options *o = s->options;

    return o->duration_s > 0 && now - s->start_ns >= (uint64_t)((o->duration_s + o->delay_s) * 1e9);
}

static void run(struct col_session *s)
{
    const struct col_options *o = s->options;
    struct wait_set w = wait_set_of(s);
    uint64_t last_tick = s->start_ns, now = s->start_ns;
    int timeout_ms = col_sources_drain(&s->sources, now);

    if (o->tick) { /* at once, so that a recorder that is killed soon leaves a file */
        col_quality_summary(s);
        o->tick(o->context, &s->sum);
    }
    while (!col_target_done(&s->target)) {
        wait_for_something(&w, timeout_ms);
        now = clock_mono_ns();
        if (time_is_up(s, now))
            break;
        timeout_ms = col_sources_drain(&s->sources, now);
        if (o->tick && now - last_tick >= tick_ns) {
            col_quality_summary(s);
            o->tick(o->context, &s->sum);
            last_tick = now;
        }
    }
    free(w.v);
}

static void name_and_keep(struct col_session *s)
{
    struct sym_resolve names;

    perf_names(&s->engine, &names);
    if (!s->options->no_source)
        col_keep(&(struct col_keep){ &names, s->engine.self.v, s->engine.self.n });
    sym_resolve_release(&names);
}

/* What was recorded reaches the disk before files that somebody else named are opened. */
static void save(struct col_session *s)
{
    const struct col_options *o = s->options;
    int again;

    if (o->patience)
        o->patience(o->context, NULL, NULL);
    again = col_target_let_end(&s->target);
    if (o->save)
        o->save(o->context);
    if (again)
        raise(again);
}

/* A command is in our cgroup.  Its own entry in /proc may already be that of a dead process. */
static void look_around(struct col_session *s)
{
    const struct col_target *t = &s->target;
    int64_t process = s->options->n_pids ? s->options->pids[0]
                      : t->n_threads     ? t->thread[0].pid
                                         : t->pid;

    col_surroundings_start(&s->around, s->options->command ? getpid() : process, s->perf.cgroup);
    col_surroundings_allowed(&s->around, process);
}

static void finish(struct col_session *s)
{
    s->stop_ns = clock_mono_ns();
    col_surroundings_stop(&s->around);
    col_sources_finish(&s->sources, s->stop_ns);
    if (col_rung_is_paced(s->probe.rung))
        s->counted_ns = col_agent_cpu_ns(&s->agent);
    else if (s->events.v[0].is_clock && !s->options->system_wide)
        s->counted_ns = col_perf_first_count(&s->perf);
    col_quality_cpu(s);
    if (s->knows_unsampled && !s->plan.delayed)
        perf_engine_unsampled(&s->engine, s->unsampled_ns, s->stop_ns);
    col_target_finish(&s->target);
    col_sources_finish_in_target(&s->sources, s->stop_ns);
    save(s);
    name_and_keep(s);
    col_quality_end(s);
}

static void release(struct col_session *s)
{
    col_sources_release(&s->sources);
    col_agent_release(&s->agent);
    col_perf_release(&s->perf);
    col_target_release(&s->target);
    perf_engine_release(&s->engine);
    vec_release(&s->events);
    for (size_t i = 0; i < COL_MAX_PIDS; i++)
        free(s->not_entered[i]);
    intern_release(&s->in);
}

int col_record(const struct col_options *o, struct sink *out, struct col_summary *sum,
               struct err *e)
{
    struct col_session s = { .options = o, .sources.engine = &s.engine };
    int rc = -1;

    intern_init(&s.in, out);
    s.zones.into = (struct region_zones){ .in = &s.in, .thread = zone_thread,
                                          .process = zone_process, .context = &s };
    s.host = col_host;
    perf_engine_init(&s.engine, &s.in, &s.host);
    if (col_target_init(&s.target, e) < 0 || choose_events(&s, e) < 0 ||
        col_probe(&s.events, o, &s.probe, e) < 0)
        goto out;
    if (o->patience)
        o->patience(o->context, col_target_ready, &s.target);
    choose_way(&s);
    s.host.rereads_maps = col_rung_is_paced(s.probe.rung);
    s.host.own_library = s.probe.rung->in_process ? AGENT_LIBRARY : NULL;
    make_plan(&s);
    col_perf_init(&s.perf, &s.plan, &s.engine);
    if (open_all(&s, e) < 0)
        goto out;
    s.engine.processes.no_children = o->no_children;
    define_metrics(&s);
    if (o->wall) {
        perf_wait_begin(&s.engine.waits);
        col_look_init(&s.look, &s.engine.waits);
    }
    if (begin(&s, e) < 0)
        goto out;
    look_around(&s);
    add_sources(&s);
    col_quality_start(&s);
    run(&s);
    finish(&s);
    rc = 0;
out:
    if (rc < 0 && o->patience)
        o->patience(o->context, NULL, NULL);
    *sum = s.sum;
    release(&s);
    return rc;
}
