/* perf_decode.c - see perf_decode.h.  perf_event_open(2) defines the layout: a sample has the
 * fields of its sample_type in a fixed order; other records end with some of them, the trailer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_decode.h"

#include <string.h>

enum { HEADER = 8 };

/* Fields before the id in a sample, and between the id and the end in a trailer. */
static const uint64_t before_id = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                  PERF_SAMPLE_ADDR;
static const uint64_t after_id = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
static const uint64_t in_trailer = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                                   PERF_SAMPLE_IDENTIFIER;

static size_t n_bits(uint64_t x)
{
    return (size_t)__builtin_popcountll(x);
}

bool perf_decode_header(struct cursor *c, struct perf_raw *raw)
{
    struct cursor at = *c;
    uint16_t size;

    if (cur_left(&at) < HEADER)
        return false;
    raw->type = cur_u32(&at);
    raw->misc = cur_u16(&at);
    size = cur_u16(&at);
    if (size < HEADER || size - (size_t)HEADER > cur_left(&at))
        return false;
    raw->body = cur_sub(&at, size - (size_t)HEADER);
    *c = at;
    return true;
}

/* --- which event --- */

/* perf puts the id at the same place for all events of a recording. */
static uint64_t id_of(const struct perf_raw *raw, uint64_t type)
{
    struct cursor c = raw->body;
    size_t from_end = 8 * (type & PERF_SAMPLE_IDENTIFIER ? 1 : 1 + n_bits(type & after_id));

    if (!(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID)))
        return 0;
    if (raw->type != PERF_RECORD_SAMPLE)
        cur_skip(&c, from_end <= cur_left(&c) ? cur_left(&c) - from_end : 0);
    else if (!(type & PERF_SAMPLE_IDENTIFIER))
        cur_skip(&c, 8 * n_bits(type & before_id));
    return cur_u64(&c);
}

static struct perf_attr *attr_of(const struct perf_attrs *attrs, const struct perf_raw *raw)
{
    struct perf_attr *first = attrs->v.n ? attrs->v.v[0] : NULL;
    uint64_t id;
    uint32_t found;

    if (!first || attrs->v.n == 1)
        return first;
    id = id_of(raw, first->sample_type);
    found = umap_find(&attrs->of_id, id);
    if (found)
        return attrs->v.v[found - 1];
    /* Records without an event (perf's own MMAP and COMM) have id 0. */
    return id == 0 || raw->type != PERF_RECORD_SAMPLE ? first : NULL;
}

/* --- registers, numbered as in asm/perf_regs.h --- */

enum { X86_BX = 1, X86_BP = 6, X86_SP = 7, X86_IP = 8, X86_R10 = 18 };
enum { ARM_FP = 29, ARM_LR = 30, ARM_SP = 31, ARM_PC = 32 };

uint64_t perf_decode_regs_mask(void)
{
#if defined(__aarch64__)
    return 1ull << ARM_FP | 1ull << ARM_LR | 1ull << ARM_SP | 1ull << ARM_PC;
#else
    return 1ull << X86_BX | 1ull << X86_BP | 1ull << X86_SP | 1ull << X86_IP | 1ull << X86_R10;
#endif
}

/* Register NUMBER, given the registers in MASK; 0 when absent. */
static uint64_t reg(struct cursor c, uint64_t mask, unsigned number)
{
    if (!(mask >> number & 1))
        return 0;
    cur_skip(&c, 8 * n_bits(mask & ((1ull << number) - 1)));
    return cur_u64(&c);
}

static void read_regs(struct cursor *c, enum unw_arch arch, struct perf_record *r)
{
    uint64_t abi = cur_u64(c), mask = r->attr->regs_user;
    struct cursor regs;

    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return; /* a kernel thread */
    regs = cur_sub(c, 8 * n_bits(mask));
    r->has_regs = abi == PERF_SAMPLE_REGS_ABI_64 && mask;
    if (!r->has_regs)
        return;
    if (arch == UNW_AARCH64)
        r->regs = (struct unw_regs){ .pc = reg(regs, mask, ARM_PC), .sp = reg(regs, mask, ARM_SP),
                                     .fp = reg(regs, mask, ARM_FP), .lr = reg(regs, mask, ARM_LR) };
    else
        r->regs = (struct unw_regs){ .pc = reg(regs, mask, X86_IP), .sp = reg(regs, mask, X86_SP),
                                     .fp = reg(regs, mask, X86_BP), .bx = reg(regs, mask, X86_BX),
                                     .r10 = reg(regs, mask, X86_R10) };
}

/* --- samples --- */

static struct perf_words take_words(struct cursor *c, uint64_t n)
{
    struct perf_words w = { NULL, 0 };

    if (n > cur_left(c) / 8) {
        c->failed = true;
        return w;
    }
    w.n = (size_t)n;
    w.p = cur_bytes(c, w.n * 8);
    return w;
}

static void read_values(struct cursor *c, uint64_t format, struct perf_record *r)
{
    size_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
    size_t before = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
                    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    struct cursor peek = *c;
    uint64_t n = 1;

    if (format & PERF_FORMAT_GROUP) {
        n = cur_u64(&peek);
        before++;
    }
    r->read = take_words(c, n > cur_left(c) / 8 ? UINT64_MAX : before + n * each);
}

static void read_branches(struct cursor *c, uint64_t branch_type, struct perf_record *r)
{
    uint64_t n = cur_u64(c);

    if (branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
        cur_skip(c, 8);
    if (n > cur_left(c) / 24) {
        c->failed = true;
        return;
    }
    r->branches = take_words(c, n * 3);
    if (branch_type & PERF_BRANCH_COUNTERS_)
        take_words(c, n);
}

static void read_stack(struct cursor *c, struct perf_record *r)
{
    uint64_t reserved = cur_u64(c), used;
    const unsigned char *data;

    r->has_stack = true;
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

/* Decode up to the stack copy; later fields are not needed. */
static void read_parts(struct cursor *c, const struct perf_attrs *attrs, struct perf_record *r)
{
    uint64_t type = r->attr->sample_type;

    if (type & PERF_SAMPLE_READ)
        read_values(c, r->attr->read_format, r);
    if (type & PERF_SAMPLE_CALLCHAIN)
        r->chain = take_words(c, cur_u64(c));
    if (type & PERF_SAMPLE_RAW)
        cur_skip(c, cur_u32(c));
    if (type & PERF_SAMPLE_BRANCH_STACK)
        read_branches(c, r->attr->branch_type, r);
    if (type & PERF_SAMPLE_REGS_USER)
        read_regs(c, attrs->arch, r);
    if (type & PERF_SAMPLE_STACK_USER)
        read_stack(c, r);
}

/* The fields that samples and trailers have in one order; a trailer has no address. */
static void read_common(struct cursor *c, uint64_t type, struct perf_record *r)
{
    if (type & PERF_SAMPLE_TID) {
        r->pid = cur_u32(c);
        r->tid = cur_u32(c);
    }
    if (type & PERF_SAMPLE_TIME)
        r->time_ns = cur_u64(c);
    if (type & PERF_SAMPLE_ADDR)
        cur_skip(c, 8);
    if (type & PERF_SAMPLE_ID)
        r->id = cur_u64(c);
    if (type & PERF_SAMPLE_STREAM_ID)
        cur_skip(c, 8);
    if (type & PERF_SAMPLE_CPU) {
        r->cpu = (int32_t)cur_u32(c);
        cur_skip(c, 4);
    }
}

static bool read_sample(struct cursor c, const struct perf_attrs *attrs, struct perf_record *r)
{
    const struct perf_attr *a = r->attr;
    uint64_t type = a->sample_type;

    if (type & PERF_SAMPLE_IDENTIFIER)
        r->id = cur_u64(&c);
    if (type & PERF_SAMPLE_IP)
        r->ip = cur_u64(&c);
    read_common(&c, type, r);
    r->period = type & PERF_SAMPLE_PERIOD ? cur_u64(&c) : a->is_frequency ? 1 : a->period;
    read_parts(&c, attrs, r);
    return !c.failed;
}

/* --- other records --- */

/* Remove the trailer from *BODY and return it.  False when the record is too short. */
static bool split_trailer(struct cursor *body, const struct perf_attr *a, struct cursor *trailer)
{
    size_t n = a && a->has_trailer ? 8 * n_bits(a->sample_type & in_trailer) : 0;

    if (n > cur_left(body))
        return false;
    *trailer = cursor_of(body->end - n, n);
    body->end -= n;
    return true;
}

static void read_trailer(struct cursor c, struct perf_record *r)
{
    uint64_t type = cur_left(&c) ? r->attr->sample_type & in_trailer : 0;

    read_common(&c, type, r);
    if (type & PERF_SAMPLE_IDENTIFIER)
        r->id = cur_u64(&c);
}

/* While another recorder asks for build ids, kernels also set the flag of records that have none.
 * If the kernel was not asked for them, perf itself may have added them, but only of usual sizes,
 * which no disk has as its major number. */
static bool has_build_id(struct cursor c, const struct perf_record *r)
{
    uint32_t size = cur_u32(&c); /* and three bytes that are 0 */

    return r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID &&
           (!r->attr || !r->attr->no_build_ids || size == 16 || size == 20);
}

static void read_file_id(struct cursor *c, struct perf_record *r)
{
    if (has_build_id(*c, r)) {
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
}

static void read_mapping(struct cursor *c, struct perf_record *r)
{
    r->pid = cur_u32(c);
    r->tid = cur_u32(c);
    r->start = cur_u64(c);
    r->size = cur_u64(c);
    r->file_offset = cur_u64(c);
    if (r->type == PERF_RECORD_MMAP2) {
        read_file_id(c, r);
        r->prot = cur_u32(c);
        cur_skip(c, 4);
    } else {
        r->prot = r->misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : 4; /* PROT_EXEC */
    }
    r->text = cur_cstr(c);
}

static void read_task(struct cursor *c, struct perf_record *r)
{
    uint64_t time_ns;

    r->pid = cur_u32(c);
    r->parent_pid = cur_u32(c);
    r->tid = cur_u32(c);
    r->parent_tid = cur_u32(c);
    time_ns = cur_u64(c);
    r->time_ns = r->time_ns ? r->time_ns : time_ns;
}

static void read_body(struct cursor *c, struct perf_record *r)
{
    switch (r->type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        read_mapping(c, r);
        break;
    case PERF_RECORD_COMM:
        r->pid = cur_u32(c);
        r->tid = cur_u32(c);
        r->text = cur_cstr(c);
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        read_task(c, r);
        break;
    case PERF_RECORD_LOST:
        cur_skip(c, 8);
        r->lost = cur_u64(c);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        r->lost = cur_u64(c);
        break;
    case PERF_RECORD_KSYMBOL:
        r->start = cur_u64(c);
        r->size = cur_u32(c);
        cur_skip(c, 4); /* kind and flags */
        r->text = cur_cstr(c);
        break;
    case PERF_RECORD_CALLCHAIN_DEFERRED_:
        r->cookie = cur_u64(c);
        r->chain = take_words(c, cur_u64(c));
        break;
    default: /* THROTTLE, SWITCH and unrecognized records: the trailer is enough */
        break;
    }
}

bool perf_decode(const struct perf_attrs *attrs, const struct perf_raw *raw, struct perf_record *r)
{
    struct cursor body = raw->body, trailer;

    memset(r, 0, sizeof *r);
    r->type = raw->type;
    r->misc = raw->misc;
    r->cpu = -1;
    r->attr = attr_of(attrs, raw);
    if (raw->type == PERF_RECORD_SAMPLE)
        return r->attr && read_sample(body, attrs, r);
    if (!split_trailer(&body, r->attr, &trailer))
        return false;
    read_trailer(trailer, r);
    read_body(&body, r);
    return !body.failed;
}

uint64_t perf_decode_time(const struct perf_attrs *attrs, const struct perf_raw *raw)
{
    const struct perf_attr *a = attr_of(attrs, raw);
    struct cursor c = raw->body, trailer;

    if (!a || !(a->sample_type & PERF_SAMPLE_TIME))
        return 0;
    if (raw->type != PERF_RECORD_SAMPLE) {
        if (!split_trailer(&c, a, &trailer))
            return 0;
        cur_skip(&trailer, a->sample_type & PERF_SAMPLE_TID ? 8 : 0);
        return cur_u64(&trailer);
    }
    cur_skip(&c, 8 * n_bits(a->sample_type &
                            (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)));
    return cur_u64(&c);
}
