/* doc_measure.h - latencies and bandwidths of this machine, measured.
 *
 * Each measurement is a row of a table: a function that runs for some milliseconds and returns
 * nanoseconds (or gigabytes per second), or NAN if it is not possible here, with the reason in
 * NOTE.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_DOCTOR_DOC_MEASURE_H
#define FATHOM_DOCTOR_DOC_MEASURE_H

#include <stddef.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

enum { DOC_NOTE = 160 };

struct doc_latency {
    const char *key, *label;
    const char *unit; /* "ns" or "GB/s" */
    double value;     /* NAN when not measured */
    char note[DOC_NOTE];
};
struct doc_latencies {
    VEC(struct doc_latency) v;
};

/* Measure everything; PROGRESS is called before each row and may be NULL. */
void doc_measure(struct doc_latencies *out, void (*progress)(void *context, const char *label),
                 void *context);
/* Store the result in the cache directory, for later analyses. */
int doc_measure_save(const struct doc_latencies *l, char *path, size_t cap, struct err *e);

/* One function for each row; several notes are static facts such as a cache's size. */
double doc_mem_cycle(char *note);
double doc_mem_l1(char *note);
double doc_mem_l2(char *note);
double doc_mem_l3(char *note);
double doc_mem_dram(char *note);
double doc_mem_tlb(char *note);
double doc_mem_branch(char *note);
double doc_mem_read_gbs(char *note);
double doc_mem_copy_gbs(char *note);

double doc_sys_call(char *note);
double doc_sys_clock(char *note);
double doc_sys_fault(char *note);
double doc_sys_switch(char *note);
double doc_sys_futex(char *note);
double doc_sys_thread(char *note);
double doc_sys_process(char *note);

double doc_io_pipe(char *note);
double doc_io_loopback(char *note);
double doc_io_cached(char *note);
double doc_io_direct(char *note);

double doc_gpu_launch(char *note);
double doc_gpu_copy_small(char *note);
double doc_gpu_copy_gbs(char *note);

#endif
