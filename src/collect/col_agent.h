/* col_agent.h - samples taken inside the recorded program, without perf_event_open.
 *
 * The agent (src/agent) is preloaded into the command and what it starts.  col_pacer asks it for
 * samples, and stops the threads of processes without it; here they become perf records, and what
 * it tells of processes becomes records of forks, programs and mappings.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_AGENT_H
#define FATHOM_COLLECT_COL_AGENT_H

#include "base/err.h"
#include "base/program.h"
#include "collect/col_guard.h"
#include "collect/col_pacer.h"
#include "collect/col_source.h"
#include "perf/perf_engine.h"

struct col_agent { /* zeroed: not used */
    struct perf_engine *engine;
    struct agent_memory *memory;
    int fd; /* of the memory */
    struct col_pacer pacer;
    struct col_batch batch;
    VEC(struct perf_record) records; /* of the batch, in order of time */
    size_t at;                       /* the next to return */
    uint64_t begin_ns;               /* samples before are dropped, */
    uint64_t skipped_ns;             /* with this weight */
    uint32_t looks;                  /* number of the event of looks at waiting threads */
    bool is_shown;
    char *preload;                   /* the user's own LD_PRELOAD, or NULL */
    struct col_others_sum others;    /* valid after finish */
    struct buf without;              /* list of processes without the agent */
};

/* Why a program with FIT has no agent. */
const char *col_agent_why(enum program_fit fit);
/* Why the program NAME cannot load the agent; NULL: it can, or there is no such program. */
const char *col_agent_refuses(const char *name);
/* Prepare to record at HZ, with links to the agent and its memory in FOLDER.  FOLLOW: children,
 * too. */
int col_agent_open(struct col_agent *a, struct perf_engine *engine, const struct col_guard *folder,
                   uint64_t hz, bool follow, struct err *e);
/* Prepare to sample processes at HZ without the agent, by brief stops. */
void col_agent_open_stops(struct col_agent *a, struct perf_engine *engine, uint64_t hz);
/* Between the two calls, programs that we start load the agent. */
int col_agent_show(struct col_agent *a, const struct col_guard *folder, struct err *e);
void col_agent_hide(struct col_agent *a);
/* Record waits too. */
int col_agent_watch(struct col_agent *a, struct err *e);
/* Make the running process PID join.  Returns -1 if it cannot, and *E says why. */
int col_agent_attach(struct col_agent *a, const struct col_guard *folder, int64_t pid,
                     struct err *e);
/* Start asking for samples; those before BEGIN_NS are dropped. */
int col_agent_start(struct col_agent *a, uint64_t begin_ns, struct err *e);
/* CPU time of all processes with the agent, as far as known; valid after the source's finish. */
uint64_t col_agent_cpu_ns(const struct col_agent *a);
void col_agent_release(struct col_agent *a);
struct col_source col_agent_source(struct col_agent *a);

#endif
