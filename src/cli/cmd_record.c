/* cmd_record.c - record a command, running processes or the whole machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "collect/collect.h"
#include "store/store.h"
#include "text/human.h"
#include "text/notice.h"
#include "text/progress.h"

struct record_args {
    const char *output, *graph, *call_graph, *pin, *cgroup;
    struct opt_list events, pids, tids;
    uint64_t frequency;
    double duration, delay;
    bool system_wide, kernel, user, no_children, no_source, wall, in_process, quiet;
};

#define AT(field) offsetof(struct record_args, field)
static const struct option record_options[] = {
    { OPT_STR, 'o', "output", AT(output), "FILE",
      "write to FILE (default: profile.fathom); - is standard output" },
    { OPT_U64, 'F', "frequency", AT(frequency), "HZ", "samples per second and CPU (default: 999)" },
    { OPT_OPT_STR, 'g', "graph", AT(graph), "MODE",
      "how to record stacks: auto, fp[,DEPTH], dwarf[,BYTES], lbr, none" },
    { OPT_STR, 0, "call-graph", AT(call_graph), "MODE", "the same as --graph" },
    { OPT_LIST, 'e', "event", AT(events), "EVENT,...",
      "events to sample; each becomes a metric; repeatable" },
    { OPT_LIST, 'p', "pid", AT(pids), "PID", "record a running process; repeatable" },
    { OPT_LIST, 't', "tid", AT(tids), "TID",
      "record one thread of a running process; repeatable" },
    { OPT_FLAG, 'a', "all", AT(system_wide), NULL, "record the whole machine" },
    { OPT_STR, 0, "cgroup", AT(cgroup), "PATH", "record every process of a cgroup" },
    { OPT_SECONDS, 'd', "duration", AT(duration), "SECONDS",
      "stop after SECONDS and terminate the command" },
    { OPT_SECONDS, 0, "delay", AT(delay), "SECONDS", "wait SECONDS before sampling" },
    { OPT_FLAG, 0, "wall", AT(wall), NULL, "record waiting as well as running" },
    { OPT_FLAG, 0, "kernel", AT(kernel), NULL, "sample kernel code only" },
    { OPT_FLAG, 0, "user", AT(user), NULL, "sample user code only" },
    { OPT_FLAG, 0, "in-process", AT(in_process), NULL,
      "sample from inside the program, or by brief stops, without perf events" },
    { OPT_STR, 0, "pin", AT(pin), "CPUS", "run the command on CPUS, such as 0,2-3" },
    { OPT_FLAG, 0, "no-children", AT(no_children), NULL,
      "record the command itself, not its child processes" },
    { OPT_FLAG, 0, "no-source", AT(no_source), NULL,
      "do not store source text and machine code" },
    { OPT_FLAG, 'q', "quiet", AT(quiet), NULL, "suppress progress and summary" },
    { 0 },
};
static const struct record_args record_defaults = { .frequency = COL_DEFAULT_HZ };
static const struct opts_table record_tables[] = { { record_options, 0 }, { 0 } };

struct run { /* context of on_tick() */
    struct out out;
    struct store_writer *writer;
    struct progress progress;
    uint64_t flushed_ns;
};

static void on_tick(void *context, const struct col_summary *now)
{
    struct run *r = context;

    progress_show(&r->progress, "recording %s: %s samples, %s lost, %s",
                  human_ns((double)now->wall_ns).s, human_count((int64_t)now->samples).s,
                  human_count((int64_t)now->lost).s,
                  human_bytes((double)store_writer_bytes(r->writer)).s);
    if (now->wall_ns - r->flushed_ns >= 1000000000u || now->wall_ns >= 2 * r->flushed_ns) {
        store_writer_flush(r->writer); /* so that little is lost if the recorder is killed */
        r->flushed_ns = now->wall_ns;
    }
}

static void on_save(void *context)
{
    struct run *r = context;

    store_writer_flush(r->writer);
}

/* A write to a regular file does not wait for anybody. */
static void on_patience(void *context, bool (*ready)(void *with, int fd), void *with)
{
    struct run *r = context;
    struct stat st;

    if (fstat(r->out.fd, &st) == 0 && S_ISREG(st.st_mode))
        return;
    r->out.ready = ready;
    r->out.context = with;
}

struct ids { /* a list of -p or -t */
    const char *option, *one, *many;
    int64_t *v;
    size_t *n;
};

static void add_id(const struct ids *ids, int64_t id)
{
    for (size_t i = 0; i < *ids->n; i++)
        if (ids->v[i] == id)
            return; /* given twice */
    ids->v[(*ids->n)++] = id;
}

static int take_ids(const struct opt_list *list, const struct ids *ids, struct err *e)
{
    for (size_t i = 0; i < list->n; i++) {
        const char *p = list->v[i];

        do {
            char *end;
            long id = strtol(p, &end, 10);

            if (end == p || id <= 0 || id > INT32_MAX || (*end && *end != ','))
                return err_set(e, ERR_USAGE, "%s: \"%s\" is not a %s id", ids->option, list->v[i],
                               ids->one);
            if (*ids->n == COL_MAX_PIDS)
                return err_set(e, ERR_USAGE, "%s: more than %d %s", ids->option, COL_MAX_PIDS,
                               ids->many);
            add_id(ids, id);
            p = end + (*end == ',');
        } while (*p);
    }
    return 0;
}

static bool is_graph_mode(const char *word)
{
    struct col_options o = { 0 };

    return *word && col_parse_graph(word, &o, NULL) == 0;
}

/* Parse the mode of -g.  As in perf, -ga means -g -a. */
static int take_graph(const struct record_args *a, struct col_options *o, struct err *e)
{
    const char *graph = a->call_graph ? a->call_graph : a->graph ? a->graph : "";

    if (strcmp(graph, "a") == 0) {
        o->system_wide = true;
        graph = "";
    }
    if (col_parse_graph(graph, o, e) < 0)
        return -1;
    if (a->graph && !*a->graph && o->command && is_graph_mode(o->command[0])) {
        err_hint(e, "-g%s", o->command[0]);
        return err_set(e, ERR_USAGE, "-g: the mode must follow without a space");
    }
    return 0;
}

/* The whole machine or a cgroup may be recorded while a command runs. */
static int check_targets(const struct record_args *a, const struct col_options *o, struct err *e)
{
    int n = (o->command && !o->system_wide) + (o->n_pids + o->n_tids > 0) + o->system_wide;

    if (n > 1 || (a->system_wide && a->cgroup))
        return err_set(e, ERR_USAGE, "use only one of a command, -p or -t, -a, and --cgroup");
    if (n == 1)
        return 0;
    err_hint(e, "use: fathom record -- ./program, or -p PID, -t TID, -a or --cgroup PATH");
    return err_set(e, ERR_USAGE, "no target: give a command, -p PID, -t TID or -a");
}

static int take_options(const struct record_args *a, const struct opts_rest *rest,
                        struct col_options *o, struct err *e)
{
    o->command = rest->command && rest->command[0] ? rest->command : NULL;
    o->system_wide = a->system_wide || a->cgroup;
    o->cgroup = a->cgroup;
    o->frequency_hz = a->frequency;
    o->duration_s = a->duration;
    o->delay_s = a->delay;
    o->pin = a->pin;
    o->no_children = a->no_children;
    o->no_source = a->no_source;
    o->wall = a->wall;
    o->in_process = a->in_process;
    o->output_to_stderr = a->output && strcmp(a->output, "-") == 0;
    o->levels = a->kernel ? COL_KERNEL_ONLY : a->user ? COL_USER_ONLY : COL_KERNEL_AND_USER;
    if (a->kernel && a->user)
        return err_set(e, ERR_USAGE, "--kernel and --user cannot be combined");
    if (take_ids(&a->pids, &(struct ids){ "-p", "process", "processes", o->pids, &o->n_pids },
                 e) < 0 ||
        take_ids(&a->tids, &(struct ids){ "-t", "thread", "threads", o->tids, &o->n_tids }, e) < 0)
        return -1;
    if (take_graph(a, o, e) < 0)
        return -1;
    if (a->frequency == 0)
        return err_set(e, ERR_USAGE, "-F: the rate must be at least 1");
    if (a->frequency > 100000)
        return err_set(e, ERR_USAGE, "-F: the rate must be at most 100,000");
    if (check_targets(a, o, e) < 0)
        return -1;
    if (a->wall && a->cgroup) /* the kernel's records of switches are of all processes */
        return err_set(e, ERR_USAGE, "--wall cannot be combined with --cgroup");
    if (a->pin && !o->command)
        return err_set(e, ERR_USAGE, "--pin requires a command");
    return 0;
}

static char *join_events(const struct opt_list *list)
{
    struct buf b = { 0 };
    char *text;

    if (!list->n)
        return NULL;
    for (size_t i = 0; i < list->n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", list->v[i]);
    text = mem_strdup(buf_text(&b));
    buf_release(&b);
    return text;
}

static int open_output(struct output *o, const char *path, struct err *e)
{
    if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO)) {
        err_hint(e, "fathom record -o - -- CMD | fathom report -");
        return err_set(e, ERR_USAGE, "refusing to write a binary profile to a terminal");
    }
    return output_start(o, path, e);
}

static void add_stacks(struct buf *line, const struct col_summary *s)
{
    uint64_t all = s->complete + s->cut + s->unreadable;

    if (!all)
        return;
    buf_printf(line, ", %.1f %% of stacks complete", 100.0 * (double)s->complete / (double)all);
    if (s->joined)
        buf_printf(line, " (%s joined)", human_count((int64_t)s->joined).s);
}

static void summarize(const char *path, uint64_t bytes, const struct col_summary *s)
{
    bool named = strcmp(path, "-") != 0, is_default = strcmp(path, INPUT_DEFAULT) == 0;
    struct buf line = { 0 };

    buf_printf(&line, "recorded %s: %s sample%s, %s lost", human_ns((double)s->wall_ns).s,
               human_count((int64_t)s->samples).s, s->samples == 1 ? "" : "s",
               human_count((int64_t)s->lost).s);
    if (s->rate_achieved > 0)
        buf_printf(&line, ", %.0f of %.0f Hz", s->rate_achieved, s->rate_asked);
    add_stacks(&line, s);
    notice("%s", buf_text(&line));
    notice("%s, recorder used %s of CPU%s%s", s->rung, human_ns((double)s->own_cpu_ns).s,
           !s->why[0]                           ? ""
           : strcmp(s->rung, "in-process") == 0 ? "; no perf events: "
           : strcmp(s->rung, "stops") == 0      ? "; by brief stops: "
                                                : "; user space only: ",
           s->why);
    if (s->stops)
        notice("%s stop%s took %s", human_count((int64_t)s->stops).s, s->stops == 1 ? "" : "s",
               human_ns((double)s->stopped_ns).s);
    if (s->without[0])
        notice("without the agent: %s", s->without);
    if (named)
        notice("wrote %s to %s; next: fathom report%s%s", human_bytes((double)bytes).s, path,
               is_default ? "" : " ", is_default ? "" : path);
    else
        notice("wrote %s to standard output", human_bytes((double)bytes).s);
    buf_release(&line);
}

static int record_run(void *args, const struct opts_rest *rest, struct err *e)
{
    const struct record_args *a = args;
    const char *path = a->output ? a->output : INPUT_DEFAULT;
    struct col_options o = { 0 };
    struct col_summary s = { 0 };
    struct run r = { .out = out_memory() };
    struct sink *sink;
    char *events = join_events(&a->events);
    struct output out = { .fd = -1, .at.folder = -1 };
    int rc = -1;
    bool undo = false;

    o.events = events;
    if (take_options(a, rest, &o, e) < 0)
        goto out;
    if (open_output(&out, path, e) < 0)
        goto out;
    r.out = output_profile(&out);
    r.writer = store_writer_new(&r.out);
    sink = store_writer_sink(r.writer);
    progress_init(&r.progress, STDERR_FILENO);
    r.progress.on &= !a->quiet;
    o.tick = on_tick;
    o.save = on_save;
    o.patience = on_patience;
    o.context = &r;
    rc = col_record(&o, sink, &s, e);
    progress_clear(&r.progress);
    undo = rc < 0;
    if (undo)
        goto out;
    if (r.out.failed == ECANCELED) {
        rc = err_set(e, ERR_SYSTEM, "%s: stopped while the reader of the pipe did not read", path);
    } else if (sink_end(sink, e) < 0) {
        rc = err_wrap(e, "%s", path);
        undo = !store_writer_bytes(r.writer);
        if (out.path && !undo)
            err_hint(e, "the profile can be read up to that point: fathom report %s", path);
    }
    if (rc == 0 && !a->quiet)
        summarize(path, store_writer_bytes(r.writer), &s);
    rc = rc < 0 ? rc : s.exit_status;
out:
    store_writer_free(r.writer);
    out_close(&r.out, NULL);
    output_end(&out, undo);
    free(events);
    return rc;
}

const struct command cmd_record = {
    .name = "record",
    .summary = "record where a program spends its time",
    .usage = "record [options] [--] CMD...\nrecord [options] -p PID\nrecord [options] -t TID\n"
             "record [options] -a\nrecord [options] --cgroup PATH",
    .examples = "  fathom record -- ./prog args       record a command into profile.fathom\n"
                "  fathom record -p 1234 -d 10        record a running process for ten seconds\n"
                "  fathom record -F 9999 -o x.fathom -- ./prog\n"
                "  fathom record --wall -- ./server   record waiting as well as running",
    .options = record_tables,
    .args_size = sizeof(struct record_args),
    .defaults = &record_defaults,
    .stop_at_operand = 1,
    .run = record_run,
};
