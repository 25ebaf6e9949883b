/* col_batch.h - what happened in recorded processes, handed from the pacing thread to the main one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_BATCH_H
#define FATHOM_COLLECT_COL_BATCH_H

#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "unwind/unwind.h"

enum col_batch_kind {
    COL_BATCH_EXEC, /* a process started a program; BYTES: its maps */
    COL_BATCH_FORK, /* a process is a copy of its parent */
    COL_BATCH_NAME, /* a thread took the name NAME */
    COL_BATCH_MAPS, /* its mappings changed; BYTES: its maps; removed ones have no file */
    COL_BATCH_SAMPLE, /* BYTES: the stack from regs.sp */
    COL_BATCH_LEAVES, /* a thread begins to wait in CALL, */
    COL_BATCH_QUEUES, /* or for a CPU, */
    COL_BATCH_RETURNS, /* until then */
    COL_BATCH_LOOK,   /* it waits in CALL; BYTES: as of SAMPLE */
    COL_BATCH_END,
};

struct col_batch_event {
    enum col_batch_kind kind;
    uint64_t time_ns;
    int64_t pid, tid;
    int64_t parent;      /* FORK */
    uint64_t weight;     /* SAMPLE: ns of CPU time */
    struct unw_regs regs; /* SAMPLE; of LOOK only pc and sp */
    long call;           /* LEAVES, LOOK: a system call, see col_offcpu.h */
    char name[16];       /* EXEC, NAME */
    size_t at, n;        /* of its bytes in the batch */
    size_t number;       /* in order of discovery */
};

struct col_batch { /* what happened since the previous one, in order of discovery */
    VEC(struct col_batch_event) v;
    struct buf bytes;
};

/* Append an event of KIND at TIME_NS with N bytes, for the caller to complete.  Returns NULL if it
 * has a stack and the main thread is so slow that there is no room for it; then other events have
 * no bytes. */
struct col_batch_event *col_batch_add(struct col_batch *b, enum col_batch_kind kind,
                                      uint64_t time_ns, const void *bytes, size_t n);
/* Order the events by time; at one time, programs and maps come first, and the end last. */
void col_batch_sort(struct col_batch *b);
void col_batch_clear(struct col_batch *b);
void col_batch_release(struct col_batch *b);

#endif
