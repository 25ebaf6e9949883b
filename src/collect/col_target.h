/* col_target.h - the program that is recorded: started by us, or running already.
 *
 * A command is started in two steps, so that events can be opened on it before its first
 * instruction: col_target_spawn forks, col_target_go lets it call exec.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_TARGET_H
#define FATHOM_COLLECT_COL_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/collect.h"

struct col_target {
    pid_t pid;       /* of our command; 0 when it is not ours */
    int go, failure; /* pipes to and from the waiting child, -1 when done with */
    int watch[COL_MAX_PIDS]; /* pidfds: readable when the process has ended */
    size_t n_watch, n_gone;
    int signals;     /* signalfd of SIGINT, SIGTERM and SIGHUP */
    sigset_t old_mask;
    bool ended;      /* status and cpu_ns are valid */
    int status;      /* exit status or 128 + signal */
    uint64_t cpu_ns; /* user and system time, of its children too */
    int stops;       /* signals that asked us to stop */
    uint64_t stop_ns; /* when the first did */
    bool stop_now;
    bool output_to_stderr; /* what the command prints must not mix with our result */
};

/* Take over the signals; everything else leaves them alone. */
int col_target_init(struct col_target *t, struct err *e);
int col_target_spawn(struct col_target *t, char *const *command, const char *pin, struct err *e);
int col_target_go(struct col_target *t, char *const *command, struct err *e);
int col_target_watch(struct col_target *t, int64_t pid, struct err *e);
/* Look at signals and ends; true when there is nothing more to record. */
bool col_target_done(struct col_target *t);
/* End a command of ours that still runs when the recording is over. */
void col_target_finish(struct col_target *t);
void col_target_release(struct col_target *t);

#endif
