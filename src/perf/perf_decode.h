/* perf_decode.h - one record of the kernel's ring, as fields.
 *
 * All our events use one order of sample fields, so that a record tells by itself how to read
 * it.  Pointers lead into the record's bytes.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_DECODE_H
#define FATHOM_PERF_PERF_DECODE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

enum {
    /* On every record, at the end of those that are no samples. */
    COL_TRAILER = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
    COL_SAMPLE = COL_TRAILER | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
    COL_STACK = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
};

struct perf_words { /* 64-bit words that may not be aligned */
    const unsigned char *p;
    size_t n;
};
uint64_t perf_word(const struct perf_words *w, size_t i);

struct perf_record {
    uint32_t type; /* PERF_RECORD_* */
    uint16_t misc;
    uint32_t pid, tid, cpu;
    uint64_t time_ns, id;

    /* SAMPLE */
    uint64_t ip, period;
    struct perf_words chain;    /* with context marks */
    struct perf_words branches; /* three words each: from, to, flags */
    bool has_regs;
    struct unw_regs regs;
    struct unw_stack stack; /* size 0 when none */

    /* MMAP2 */
    uint64_t start, size, file_offset;
    uint32_t major, minor, prot;
    uint64_t inode;
    uint8_t build_id_size;
    const uint8_t *build_id;
    const char *text; /* path of MMAP2, name of COMM; NUL-terminated inside the record */

    uint32_t parent_pid, parent_tid; /* FORK, EXIT */
    uint64_t lost;                   /* LOST, LOST_SAMPLES */
};

/* Which user registers to ask for: what the unwinder restores. */
uint64_t perf_decode_regs_mask(void);

/* SAMPLE_TYPE is that of the event: COL_SAMPLE and what was added to it.  False when the
 * record contradicts itself. */
bool perf_decode(const void *bytes, size_t n, uint64_t sample_type, struct perf_record *r);

#endif
