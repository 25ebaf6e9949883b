/* perf_record.h - a decoded perf record, and the events that records belong to.
 *
 * The writer of a record may be the kernel (ring), perf (file), or code inside the target.
 * Pointers point into the bytes of the record and are valid as long as these.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_RECORD_H
#define FATHOM_PERF_PERF_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"
#include "unwind/unwind.h"

enum { /* newer than the headers of Debian 12 */
    PERF_RECORD_CALLCHAIN_DEFERRED_ = 22,
    PERF_CONTEXT_USER_DEFERRED_ = -640,
    PERF_BRANCH_COUNTERS_ = 1 << 19,
};

struct perf_attr { /* an event: the layout of its records, and its metric */
    uint32_t type;
    uint64_t config, period, sample_type, read_format, branch_type, regs_user;
    bool is_frequency; /* the period varies */
    bool has_trailer;  /* other records end with fields of a sample */
    bool no_build_ids; /* the kernel was not asked for those of mappings */
    bool is_clock;     /* the period is nanoseconds */
    bool at_switch;    /* samples are taken when a thread leaves its CPU and show why it waits */
    bool in_wait;      /* samples are taken while a thread waits */
    bool no_metric;    /* samples are used for nothing else */
    bool expected;     /* the source is known to have samples of it */
    const char *name;  /* must outlive the engine, like */
    const char *unit;  /* of the period; NULL: "ns" for a clock, else "events" */
    uint32_t metric;   /* id in the sink, 0 until first used */
    uint64_t samples, weight; /* so far */
};

struct perf_attrs {
    VEC(struct perf_attr *) v;
    struct umap of_id;  /* sample id -> index in v + 1 */
    enum unw_arch arch; /* of the machine that wrote the records */
};

struct perf_words { /* 64-bit words that may not be aligned */
    const unsigned char *p;
    size_t n;
};

static inline uint64_t perf_word(const struct perf_words *w, size_t i)
{
    uint64_t x;

    memcpy(&x, w->p + i * 8, 8);
    return x;
}

struct perf_record {
    uint32_t type; /* PERF_RECORD_* */
    uint16_t misc;
    uint32_t pid, tid;
    int32_t cpu; /* -1 when unknown */
    uint64_t time_ns, id;
    struct perf_attr *attr;

    /* SAMPLE */
    uint64_t ip, period;
    uint64_t count; /* events in the period; 0: one */
    uint32_t tags;  /* tag set of the sample, 0 when none */
    struct perf_words read;     /* values of a group, laid out by attr->read_format */
    struct perf_words chain;    /* with context markers; also for */
    struct perf_words branches; /* three words each: from, to, flags */
    bool no_fp; /* the frame pointer in regs is unknown, and 0 */
    bool has_regs, has_stack;   /* 64-bit registers; a copy of the stack, which may be empty */
    struct unw_regs regs;
    struct unw_stack stack;

    /* MMAP, MMAP2, KSYMBOL */
    uint64_t start, size, file_offset;
    uint32_t major, minor, prot;
    uint64_t inode;
    uint8_t build_id_size;
    const uint8_t *build_id;
    const char *text; /* path of a mapping, name of COMM and KSYMBOL; NUL-terminated */

    const char *waits_for; /* SWITCH, SAMPLE in a wait: the wait kind; NULL: unknown */

    uint32_t parent_pid, parent_tid; /* FORK, EXIT */
    uint64_t lost;                   /* LOST, LOST_SAMPLES */
    uint64_t cookie;                 /* CALLCHAIN_DEFERRED */
};

/* Whether the sample interrupted the kernel, a hypervisor or the kernel of a guest. */
static inline bool perf_record_in_kernel(const struct perf_record *r)
{
    unsigned mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;

    return mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_HYPERVISOR ||
           mode == PERF_RECORD_MISC_GUEST_KERNEL;
}

/* A mapping of the kernel or one of its modules. */
static inline bool perf_record_maps_kernel(const struct perf_record *r)
{
    return r->pid == UINT32_MAX ||
           (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
}

#endif
