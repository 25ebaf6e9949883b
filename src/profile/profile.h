/* profile.h - a profile in memory.
 *
 * Its sink fills it, and profile_free() frees everything in it.  All tables are indexed by id - 1
 * (ids start at 1; 0 means none); the accessors take ids and accept 0.  Every id stored in a
 * profile is in range, because the sink rejects others.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_PROFILE_H
#define FATHOM_PROFILE_PROFILE_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/mem.h"
#include "profile/sink.h"

struct profile_text {
    const char *s; /* NUL-terminated */
    uint32_t n;
};

struct profile_meta {
    const char *key, *value;
};

struct profile_chain {
    uint32_t first, n;
};
struct profile_node {
    uint32_t parent, frame;
};
struct profile_row {
    struct line_row at;
    struct profile_chain chain; /* range of profile.location */
};

/* A sample without its time: most aggregated formats have millions of samples and no times. */
struct profile_sample {
    int64_t weight;
    uint64_t count;
    uint32_t thread, stack, metric, tags;
    int32_t cpu;
};
struct profile_time {
    uint64_t start_ns, duration_ns;
};

struct profile {
    struct arena arena;
    VEC(struct profile_meta) meta;
    VEC(struct profile_text) string;
    VEC(struct metric) metric;
    VEC(struct process) process;
    VEC(struct thread) thread;
    VEC(struct module) module;
    VEC(struct frame) frame;
    VEC(struct function) function;
    /* By frame id - 1: the chain is location[first .. first + n), outermost first; n = 0 when
     * unresolved. */
    VEC(struct profile_chain) chain;
    VEC(struct location) location;
    VEC(struct profile_node) stack; /* parent id < own id */
    VEC(uint16_t) depth;            /* by stack id - 1: its number of frames, 1 or more */
    VEC(struct tag) tag;            /* parent id < own id */
    VEC(struct profile_sample) sample;
    VEC(struct profile_time) time;  /* one for each sample, or none if no sample has a time */
    VEC(struct span) span;
    VEC(struct counter) counter;
    VEC(struct profile_row) row;    /* the stored part of the line tables */
    VEC(struct source_text) source; /* text in the arena */
    VEC(struct code_bytes) code;    /* bytes in the arena */
    /* What the reader could not read, as a sentence for reports; "" when nothing is missing. */
    const char *damage;
    uint64_t missing_bytes;
    const char *cut; /* what exceeded the limits of limits.h, likewise */
    struct index meta_of; /* by key: index in meta, + 1 */
};

struct profile *profile_new(void);
void profile_free(struct profile *p);
/* Return the sink that fills P; P owns it.  Its end() returns the first error. */
struct sink *profile_sink(struct profile *p);
/* Send all of P to OUT, definitions first, without calling end(). */
void profile_replay(const struct profile *p, struct sink *out);

/* Time of sample number I; 0 when it has none. */
static inline struct profile_time profile_time(const struct profile *p, size_t i)
{
    return p->time.n ? p->time.v[i] : (struct profile_time){ 0, 0 };
}
/* Sample number I as its producer wrote it. */
struct sample profile_sample(const struct profile *p, size_t i);
/* Replace sample number TO by sample number FROM; for loops that keep some of the samples. */
void profile_move_sample(struct profile *p, size_t to, size_t from);
/* Keep the first N samples. */
void profile_keep_samples(struct profile *p, size_t n);

const char *profile_string(const struct profile *p, uint32_t id);   /* "" for 0 */
const char *profile_meta(const struct profile *p, const char *key); /* "" when absent */
struct profile_meta *profile_find_meta(const struct profile *p, const char *key); /* or NULL */
/* A finite number, OTHERWISE when absent. */
double profile_meta_number(const struct profile *p, const char *key, double otherwise);
/* Start of the recording in the clock of its samples; 0 when it has no times. */
uint64_t profile_start_ns(const struct profile *p);
uint32_t profile_find_string(const struct profile *p, const char *text); /* id or 0 */
uint32_t profile_find_metric(const struct profile *p, const char *name); /* id or 0 */

#endif
