/* out.h - buffered writing to a descriptor or to memory; keeps the first error.
 *
 * Names come from programs and files that nobody vouches for.  Therefore all text that goes to a
 * descriptor is cleaned here: a byte that is not part of a printable character becomes '?', except
 * line ends.  A format with escapes, such as JSON, escapes before that.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_OUT_H
#define FATHOM_TEXT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct out {
    struct buf buf;
    size_t clean;    /* bytes of buf that are clean */
    bool is_binary;  /* do not clean */
    int fd;          /* -1: memory only */
    int failed;      /* errno of the first failed write; nothing is written after it */
    uint64_t written;
    uint64_t limit;  /* write at most so many bytes and fail with EFBIG; 0: no limit */
    bool full;       /* the limit was reached */
    /* Called before each write to a pipe, if set: wait until FD takes PIPE_BUF bytes.  False gives
     * up: the write fails with ECANCELED. */
    bool (*ready)(void *context, int fd);
    void *context;
};

/* Start from out_fd(FD), out_binary(FD) or out_memory(); end with out_close, which flushes and
 * frees. */
struct out out_fd(int fd);
struct out out_binary(int fd); /* for formats that are not text: nothing is cleaned */
struct out out_memory(void);
void out_flush(struct out *o);
int out_close(struct out *o, struct err *e); /* does not close the descriptor */

void out_spill_(struct out *o);
static inline void out_add(struct out *o, const void *p, size_t n)
{
    buf_add(&o->buf, p, n);
    if (o->fd >= 0 && o->buf.n >= 1 << 16)
        out_spill_(o);
}
static inline void out_str(struct out *o, const char *s)
{
    out_add(o, s, strlen(s));
}
static inline void out_char(struct out *o, char c)
{
    buf_u8(&o->buf, (unsigned char)c);
}
/* Add S, which must be a constant of ours, as it is: for colors. */
void out_trusted(struct out *o, const char *s);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_u64(struct out *o, uint64_t x); /* decimal, fast */
void out_i64(struct out *o, int64_t x);

#endif
