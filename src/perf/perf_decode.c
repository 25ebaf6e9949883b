/* perf_decode.c - see perf_decode.h; the layout is that of perf_event_open(2).
 * SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_decode.h"

#include <string.h>

#include "base/cursor.h"

enum { TRAILER_BYTES = 8 + 8 + 8 + 8 };

uint64_t perf_word(const struct perf_words *w, size_t i)
{
    uint64_t x;

    memcpy(&x, w->p + i * 8, 8);
    return x;
}

#if defined(__aarch64__)
enum { REG_FP = 29, REG_LR = 30, REG_SP = 31, REG_PC = 32 };
uint64_t perf_decode_regs_mask(void)
{
    return 1ull << REG_FP | 1ull << REG_LR | 1ull << REG_SP | 1ull << REG_PC;
}
static void read_regs(struct cursor *c, struct unw_regs *r)
{
    r->fp = cur_u64(c);
    r->lr = cur_u64(c);
    r->sp = cur_u64(c);
    r->pc = cur_u64(c);
}
#else
enum { REG_BX = 1, REG_BP = 6, REG_SP = 7, REG_IP = 8, REG_R10 = 18 }; /* asm/perf_regs.h */
uint64_t perf_decode_regs_mask(void)
{
    return 1ull << REG_BX | 1ull << REG_BP | 1ull << REG_SP | 1ull << REG_IP | 1ull << REG_R10;
}
static void read_regs(struct cursor *c, struct unw_regs *r)
{
    r->bx = cur_u64(c);
    r->fp = cur_u64(c);
    r->sp = cur_u64(c);
    r->pc = cur_u64(c);
    r->r10 = cur_u64(c);
}
#endif

/* A count of words, then the words. */
static struct perf_words read_words(struct cursor *c, size_t words_each)
{
    uint64_t n = cur_u64(c);
    struct perf_words w = { NULL, 0 };

    if (n > cur_left(c) / 8 / words_each) {
        c->failed = true;
        return w;
    }
    w.n = (size_t)n * words_each;
    w.p = cur_bytes(c, w.n * 8);
    return w;
}

static void read_stack(struct cursor *c, struct perf_record *r)
{
    uint64_t reserved = cur_u64(c), used;
    const unsigned char *data;

    if (!reserved)
        return;
    if (reserved > cur_left(c)) {
        c->failed = true;
        return;
    }
    data = cur_bytes(c, (size_t)reserved);
    used = cur_u64(c);
    if (used > reserved)
        c->failed = true;
    r->stack = (struct unw_stack){ r->regs.sp, data, c->failed ? 0 : (size_t)used };
}

static void read_sample(struct cursor *c, uint64_t sample_type, struct perf_record *r)
{
    r->id = cur_u64(c);
    r->ip = cur_u64(c);
    r->pid = cur_u32(c);
    r->tid = cur_u32(c);
    r->time_ns = cur_u64(c);
    r->cpu = cur_u32(c);
    cur_skip(c, 4);
    r->period = cur_u64(c);
    r->chain = read_words(c, 1);
    if (sample_type & PERF_SAMPLE_BRANCH_STACK)
        r->branches = read_words(c, 3);
    if (sample_type & PERF_SAMPLE_REGS_USER) {
        r->has_regs = cur_u64(c) == PERF_SAMPLE_REGS_ABI_64;
        if (r->has_regs)
            read_regs(c, &r->regs);
        else
            return; /* a kernel thread or a 32-bit program: nothing we can unwind follows */
    }
    if (sample_type & PERF_SAMPLE_STACK_USER)
        read_stack(c, r);
}

static void read_mmap2(struct cursor *c, struct perf_record *r)
{
    r->pid = cur_u32(c);
    r->tid = cur_u32(c);
    r->start = cur_u64(c);
    r->size = cur_u64(c);
    r->file_offset = cur_u64(c);
    if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        r->build_id_size = cur_u8(c);
        cur_skip(c, 3);
        r->build_id = cur_bytes(c, 20);
        if (r->build_id_size > 20)
            c->failed = true;
    } else {
        r->major = cur_u32(c);
        r->minor = cur_u32(c);
        r->inode = cur_u64(c);
        cur_skip(c, 8);
    }
    r->prot = cur_u32(c);
    cur_skip(c, 4);
    r->text = cur_cstr(c);
}

static void read_body(struct cursor *c, struct perf_record *r)
{
    switch (r->type) {
    case PERF_RECORD_MMAP2:
        read_mmap2(c, r);
        break;
    case PERF_RECORD_COMM:
        r->pid = cur_u32(c);
        r->tid = cur_u32(c);
        r->text = cur_cstr(c);
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        r->pid = cur_u32(c);
        r->parent_pid = cur_u32(c);
        r->tid = cur_u32(c);
        r->parent_tid = cur_u32(c);
        break;
    case PERF_RECORD_LOST:
        cur_skip(c, 8);
        r->lost = cur_u64(c);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        r->lost = cur_u64(c);
        break;
    default: /* THROTTLE, SWITCH and records of newer kernels: what we need is in the trailer */
        break;
    }
}

/* A thread's own records name it in the body, the others in the trailer. */
static void read_trailer(struct cursor *c, struct perf_record *r)
{
    uint32_t pid = cur_u32(c), tid = cur_u32(c);

    if (r->type != PERF_RECORD_MMAP2 && r->type != PERF_RECORD_COMM &&
        r->type != PERF_RECORD_FORK && r->type != PERF_RECORD_EXIT) {
        r->pid = pid;
        r->tid = tid;
    }
    r->time_ns = cur_u64(c);
    r->cpu = cur_u32(c);
    cur_skip(c, 4);
    r->id = cur_u64(c);
}

bool perf_decode(const void *bytes, size_t n, uint64_t sample_type, struct perf_record *r)
{
    struct perf_event_header h;
    struct cursor c, trailer;

    memset(r, 0, sizeof *r);
    if (n < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    r->type = h.type;
    r->misc = h.misc;
    c = cursor_of((const unsigned char *)bytes + sizeof h, n - sizeof h);
    if (h.type == PERF_RECORD_SAMPLE) {
        read_sample(&c, sample_type, r);
        return !c.failed;
    }
    if (cur_left(&c) < TRAILER_BYTES)
        return false;
    c.end -= TRAILER_BYTES;
    trailer = cursor_of(c.end, TRAILER_BYTES);
    read_body(&c, r);
    read_trailer(&trailer, r);
    return !c.failed;
}
