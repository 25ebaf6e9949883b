/* collect.h - record a program, a running process or the whole machine into a sink.
 *
 * One call records from start to end: it starts or attaches to the target, drains and unwinds
 * while the target runs, symbolizes the frames, and writes the quality of the recording as meta
 * keys ("quality.*", docs/internals/collect.md).  The caller calls end() of the sink and may write
 * more before.  Prints nothing.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COLLECT_H
#define FATHOM_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/sink.h"

enum col_graph { COL_GRAPH_AUTO, COL_GRAPH_FP, COL_GRAPH_DWARF, COL_GRAPH_LBR, COL_GRAPH_NONE };
enum col_levels { COL_KERNEL_AND_USER, COL_USER_ONLY, COL_KERNEL_ONLY };

enum { COL_DEFAULT_HZ = 999, COL_MAX_PIDS = 32 };

/* Progress of a recording; passed to tick() while it runs and returned at the end. */
struct col_summary {
    uint64_t samples, lost, throttled;
    uint64_t complete, cut, joined, unreadable; /* stacks; joined ones are complete */
    uint64_t wall_ns, own_cpu_ns, target_cpu_ns;
    uint64_t processes, threads;
    uint64_t stops, stopped_ns;       /* of threads, to sample them */
    char without[1024];               /* list of processes without the agent, at the end */
    double rate_asked, rate_achieved; /* Hz; achieved is per CPU second of the target */
    const char *rung;                 /* "kernel+user", "user", "in-process", "stops" */
    char why[256];                    /* why the rung above failed, "" at the top */
    uint32_t copy_bytes;              /* size of stack copies, as last used */
    int exit_status;                  /* its exit status, or 128 + signal */
};

struct col_options { /* {0} plus a command, pids, tids or system_wide is valid */
    char *const *command; /* NULL-terminated, or NULL */
    int64_t pids[COL_MAX_PIDS];
    size_t n_pids;
    int64_t tids[COL_MAX_PIDS]; /* threads of other processes */
    size_t n_tids;
    bool system_wide;
    const char *cgroup; /* with system_wide: sample only processes in it; or NULL */
    uint64_t frequency_hz; /* 0: COL_DEFAULT_HZ */
    enum col_graph graph;
    uint32_t depth;        /* of frame-pointer chains, 0: the kernel's limit */
    uint32_t copy_bytes;   /* 0: automatic */
    const char *events;    /* comma-separated; NULL: the best clock */
    double duration_s, delay_s;
    enum col_levels levels;
    const char *pin; /* "0,2-3": CPUs that the command may use */
    bool no_children, wall, no_source;
    bool in_process; /* sample from inside the command, or by stops, not by perf events */
    bool output_to_stderr; /* redirect the command's standard output */
    /* Called about ten times a second with the progress so far. */
    void (*tick)(void *context, const struct col_summary *now);
    /* Called when all events are in the sink, before names are looked up: write them to disk.  From
     * then on a second Ctrl-C, counting those before, ends the process. */
    void (*save)(void *context);
    /* Called with a function for struct out (text/out.h) before anything is written, and with NULL
     * before save().  While the reader of a pipe is slow, the function handles stop signals; after
     * the second it gives up. */
    void (*patience)(void *context, bool (*ready)(void *with, int fd), void *with);
    void *context;
};

/* "fp[,DEPTH]", "dwarf[,BYTES]", "lbr", "auto", "none" or "" (auto). */
int col_parse_graph(const char *text, struct col_options *o, struct err *e);

/* Returns -1 when nothing could be recorded; the command has then not run. */
int col_record(const struct col_options *o, struct sink *out, struct col_summary *s,
               struct err *e);

#endif
