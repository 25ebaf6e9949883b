/* doc_overhead.h - the overhead of recording a program, measured by running it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DOCTOR_DOC_OVERHEAD_H
#define FATHOM_DOCTOR_DOC_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "stats/stats.h"

struct doc_cost { /* of one way to record; in percent of the bare run */
    const char *graph;
    uint64_t hz;
    double cpu_pct, wall_pct;      /* medians over the rounds; 0: no overhead */
    struct interval cpu, wall;     /* of those */
    double recorder_pct;           /* CPU time of the recorder, in percent of the program's */
    double samples, lost, complete_pct;
    bool refused;                  /* this way of recording failed; see why */
    char why[200];
};

struct doc_costs {
    VEC(struct doc_cost) v;
    double bare_cpu_ns, bare_wall_ns; /* medians */
};

/* Run COMMAND bare and with each way of recording in turn, ROUNDS times.  Its output is discarded.
 * PROGRESS is called before each run with its number and the total. */
int doc_overhead(struct doc_costs *out, char *const *command, size_t rounds,
                 void (*progress)(void *context, size_t run, size_t runs), void *context,
                 struct err *e);

#endif
