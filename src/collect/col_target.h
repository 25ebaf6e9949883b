/* col_target.h - the recorded program: a command that we start, or running processes.
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
#include "collect/col_stops.h"
#include "collect/collect.h"

struct col_target_thread {
    int64_t tid, pid;
    int stat; /* its stat file in /proc; -1: it has ended */
};

struct col_target {
    pid_t pid;       /* of our command; 0: none */
    int go, failure; /* pipes to and from the waiting child; -1: closed */
    int watch[COL_MAX_PIDS]; /* pidfds: readable when the process has ended */
    size_t n_watch;
    struct col_target_thread thread[COL_MAX_PIDS];
    size_t n_threads;
    size_t n_ended;  /* of watch and thread */
    struct col_stops signals;
    sigset_t old_mask;
    bool ended;      /* status and cpu_ns are valid */
    int status;      /* exit status or 128 + signal */
    uint64_t cpu_ns; /* user and system time, including children it waited for */
    uint64_t user_ns; /* the user part */
    int stops;       /* number of stop signals received */
    uint64_t stop_ns; /* time of the first */
    bool stop_now;
    pid_t keep;  /* a child of ours that is not part of the command, or 0 */
    bool adopts; /* col_target_finish ends all that the command started, too */
    bool output_to_stderr; /* redirect the command's output: ours uses stdout */
    bool can_be_ended;
    struct sigaction old_action[COL_STOPS];
};

/* Block SIGINT, SIGTERM and SIGHUP and poll for them.  No other code handles them. */
int col_target_init(struct col_target *t, struct err *e);
int col_target_spawn(struct col_target *t, char *const *command, const char *pin, struct err *e);
int col_target_go(struct col_target *t, char *const *command, struct err *e);
int col_target_watch(struct col_target *t, int64_t pid, struct err *e);
/* Find the process of thread TID and wait for the thread's end too. */
int col_target_watch_thread(struct col_target *t, int64_t tid, struct err *e);
/* Process signals and ends of processes and threads.  Returns true when there is nothing more to
 * record. */
bool col_target_done(struct col_target *t);
/* Wait until FD can be written.  False: a second stop signal came first.  A struct out calls it. */
bool col_target_ready(void *target, int fd);
/* From now on the second stop signal ends this process, counting those of the recording: names are
 * looked up next, in files that others can make slow.  Returns a second Ctrl-C that came before,
 * for the caller to raise once everything is written, or 0. */
int col_target_let_end(struct col_target *t);
/* Terminate a command of ours that still runs after the recording. */
void col_target_finish(struct col_target *t);
void col_target_release(struct col_target *t);

#endif
