/* col_reader.h - read the stacks of waiting threads without waiting for them.
 *
 * As in col_words.h, a page of the target may take for ever to read.  So a thread of the reader's
 * own reads, the caller asks and collects the answers later, and after a second without an answer
 * it gives up.  An answer is valid only if the thread has not run meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_READER_H
#define FATHOM_COLLECT_COL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COL_READER_BYTES = 64 << 10 };

struct col_reader_request {
    int64_t pid, tid;
    uint64_t time_ns; /* when the thread was seen to wait */
    uint64_t pc, sp;
    uint64_t turns;   /* how often it had got a CPU; see col_schedstat.h */
    long call;
};

struct col_reader_answer {
    struct col_reader_request of;
    size_t n; /* bytes from sp on; 0: the stack cannot be read, or the thread has run */
    unsigned char bytes[COL_READER_BYTES];
};

struct col_reader;

struct col_reader *col_reader_new(void); /* NULL: no thread */
/* Ask for a stack at NOW_NS.  Returns false if too many are being read. */
bool col_reader_ask(struct col_reader *r, const struct col_reader_request *q, uint64_t now_ns);
/* The oldest answer, or NULL.  It is valid until the next call. */
const struct col_reader_answer *col_reader_next(struct col_reader *r);
void col_reader_free(struct col_reader *r);

#endif
