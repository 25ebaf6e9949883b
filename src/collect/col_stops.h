/* col_stops.h - the signals that stop a recording, as records that can be polled for.
 *
 * A thread takes them.  If the recorder has not read one within a second, because it waits for a
 * file that somebody withholds, the next one ends it: nobody must need SIGKILL.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_STOPS_H
#define FATHOM_COLLECT_COL_STOPS_H

#include <pthread.h>
#include <stdint.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "base/err.h"

enum { COL_STOPS = 3 };
extern const int col_stops_signals[COL_STOPS]; /* SIGINT, SIGTERM and SIGHUP */

struct col_stops {
    int fd;            /* readable when col_stops_next has a signal; -1: closed */
    int source, to;    /* the thread takes them from SOURCE and writes them to TO */
    int end[2];        /* closing end[1] ends the thread */
    pthread_t thread;
    bool has_thread;
    uint64_t unread_ns; /* since when fd is readable */
    pid_t command;     /* gets the last signal too; 0: none */
};

/* The signals must be blocked. */
int col_stops_open(struct col_stops *s, struct err *e);
/* The next signal; false if there is none. */
bool col_stops_next(struct col_stops *s, struct signalfd_siginfo *info);
/* From now on signals that are not blocked are delivered as usual. */
void col_stops_let_go(struct col_stops *s);
void col_stops_close(struct col_stops *s);

#endif
