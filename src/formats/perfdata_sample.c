/* perfdata_sample.c - the fields of one record.  A sample's come in the fixed order of the
 * bits below; other records end with a few of them.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/perfdata.h"

enum { READ_ENABLED = 1, READ_RUNNING = 2, READ_ID = 4, READ_GROUP = 8, READ_LOST = 16 };
enum { BRANCH_HW_INDEX = 1 << 17, BRANCH_COUNTERS = 1 << 19, BRANCH_BYTES = 24 };

/* Bits that stand before the id in a sample, and after it in a trailer. */
static const uint64_t before_id = PERF_BIT_IP | PERF_BIT_TID | PERF_BIT_TIME | PERF_BIT_ADDR;
static const uint64_t after_id = PERF_BIT_STREAM_ID | PERF_BIT_CPU;

static unsigned n_bits(uint64_t x)
{
    return (unsigned)__builtin_popcountll(x);
}

struct perf_attr *perfdata_attr_of(struct perf_file *f, const struct perf_record *r)
{
    struct perf_attr *first = f->attr.n ? &f->attr.v[0] : NULL;
    struct cursor c = r->body;
    uint64_t type, id = 0;
    uint32_t found;

    if (!first || f->attr.n == 1)
        return first;
    type = first->sample_type; /* perf makes the place of the id agree between events */
    if (r->type == PERF_SAMPLE && type & PERF_BIT_IDENTIFIER) {
        id = cur_u64(&c);
    } else if (r->type == PERF_SAMPLE && type & PERF_BIT_ID) {
        cur_skip(&c, 8 * (size_t)n_bits(type & before_id));
        id = cur_u64(&c);
    } else if (r->type != PERF_SAMPLE && type & (PERF_BIT_IDENTIFIER | PERF_BIT_ID)) {
        size_t from_end = 8 * (type & PERF_BIT_IDENTIFIER ? 1 : 1 + n_bits(type & after_id));

        if (from_end <= cur_left(&c))
            cur_skip(&c, cur_left(&c) - from_end);
        id = cur_u64(&c);
    }
    found = umap_find(&f->attr_of_id, id);
    if (found)
        return &f->attr.v[found - 1];
    /* Records that belong to no event (perf's own MMAP and COMM) carry id 0; a sample does too
     * when there is one event only. */
    return id == 0 || r->type != PERF_SAMPLE ? first : NULL;
}

static struct cursor read_values(struct cursor *c, uint64_t format)
{
    size_t each = 1 + !!(format & READ_ID) + !!(format & READ_LOST);
    size_t times = !!(format & READ_ENABLED) + !!(format & READ_RUNNING);
    struct cursor peek = *c;
    uint64_t nr = 1;

    if (format & READ_GROUP) {
        nr = cur_u64(&peek);
        times++;
    }
    if (nr > cur_left(c) / 8 / each)
        return cur_sub(c, SIZE_MAX); /* fails */
    return cur_sub(c, 8 * (times + nr * each));
}

void perfdata_read_group(const struct perf_sample *s, void *with,
                         void (*each)(void *with, uint64_t id, uint64_t value))
{
    struct cursor c = s->read;
    uint64_t format = s->attr->read_format;

    if (!(format & READ_GROUP) || !(format & READ_ID))
        return;
    cur_skip(&c, 8 * (1 + (size_t)!!(format & READ_ENABLED) + !!(format & READ_RUNNING)));
    while (cur_left(&c) >= 16) {
        uint64_t value = cur_u64(&c), id = cur_u64(&c);

        if (format & READ_LOST)
            cur_u64(&c);
        each(with, id, value);
    }
}

static void skip_branches(struct cursor *c, uint64_t branch_type)
{
    uint64_t n = cur_u64(c), bytes = BRANCH_BYTES;

    if (branch_type & BRANCH_HW_INDEX)
        cur_u64(c);
    if (branch_type & BRANCH_COUNTERS)
        bytes += 8;
    if (n > cur_left(c) / bytes)
        n = SIZE_MAX / bytes; /* fails */
    cur_skip(c, n * bytes);
}

static struct cursor counted(struct cursor *c, uint64_t n, size_t item)
{
    return cur_sub(c, n > cur_left(c) / item ? SIZE_MAX : n * item);
}

/* Up to the stack bytes; what follows them is not needed. */
static void read_rest(struct cursor *c, uint64_t type, struct perf_sample *s)
{
    if (type & PERF_BIT_READ)
        s->read = read_values(c, s->attr->read_format);
    if (type & PERF_BIT_CALLCHAIN)
        s->chain = counted(c, cur_u64(c), 8);
    if (type & PERF_BIT_RAW)
        cur_skip(c, cur_u32(c));
    if (type & PERF_BIT_BRANCH_STACK)
        skip_branches(c, s->attr->branch_type);
    if (type & PERF_BIT_REGS_USER) {
        s->regs_abi = cur_u64(c);
        if (s->regs_abi)
            s->regs = counted(c, n_bits(s->attr->regs_user), 8);
    }
    if (type & PERF_BIT_STACK_USER) {
        uint64_t size = cur_u64(c), valid;

        s->stack = counted(c, size, 1);
        valid = size ? cur_u64(c) : 0;
        if (valid < cur_left(&s->stack))
            s->stack.end = s->stack.p + valid;
    }
}

bool perfdata_sample(struct perf_file *f, const struct perf_record *r, struct perf_sample *s)
{
    struct cursor c = r->body;
    uint64_t type;

    *s = (struct perf_sample){ .attr = perfdata_attr_of(f, r), .cpu = -1, .misc = r->misc };
    if (!s->attr)
        return false;
    type = s->attr->sample_type;
    s->id = type & PERF_BIT_IDENTIFIER ? cur_u64(&c) : 0;
    s->ip = type & PERF_BIT_IP ? cur_u64(&c) : 0;
    s->pid = type & PERF_BIT_TID ? cur_u32(&c) : 0;
    s->tid = type & PERF_BIT_TID ? cur_u32(&c) : 0;
    s->time = type & PERF_BIT_TIME ? cur_u64(&c) : 0;
    s->addr = type & PERF_BIT_ADDR ? cur_u64(&c) : 0;
    s->id = type & PERF_BIT_ID ? cur_u64(&c) : s->id;
    cur_skip(&c, type & PERF_BIT_STREAM_ID ? 8 : 0);
    if (type & PERF_BIT_CPU)
        s->cpu = (int32_t)cur_u64(&c);
    if (type & PERF_BIT_PERIOD)
        s->period = cur_u64(&c);
    else
        s->period = s->attr->is_frequency ? 1 : s->attr->period;
    read_rest(&c, type, s);
    return !c.failed;
}

void perfdata_trailer(struct perf_file *f, const struct perf_record *r, struct cursor *body,
                      struct perf_sample *s)
{
    const uint64_t all = PERF_BIT_TID | PERF_BIT_TIME | PERF_BIT_ID | PERF_BIT_STREAM_ID |
                         PERF_BIT_CPU | PERF_BIT_IDENTIFIER;
    struct cursor c = r->body;
    uint64_t type;
    size_t n;

    *body = r->body;
    *s = (struct perf_sample){ .attr = perfdata_attr_of(f, r), .cpu = -1, .misc = r->misc };
    if (!s->attr || !s->attr->has_trailer || r->type >= PERF_KERNEL_RECORDS_END)
        return;
    type = s->attr->sample_type;
    n = 8 * (size_t)n_bits(type & all);
    if (n > cur_left(&c))
        return;
    cur_skip(&c, cur_left(&c) - n);
    body->end = c.p;
    s->pid = type & PERF_BIT_TID ? cur_u32(&c) : 0;
    s->tid = type & PERF_BIT_TID ? cur_u32(&c) : 0;
    s->time = type & PERF_BIT_TIME ? cur_u64(&c) : 0;
    s->id = type & PERF_BIT_ID ? cur_u64(&c) : 0;
    cur_skip(&c, type & PERF_BIT_STREAM_ID ? 8 : 0);
    if (type & PERF_BIT_CPU)
        s->cpu = (int32_t)cur_u64(&c);
}

uint64_t perfdata_time(struct perf_file *f, const struct perf_record *r)
{
    struct perf_sample s;
    struct cursor c = r->body;
    const struct perf_attr *a;

    if (r->type != PERF_SAMPLE) {
        perfdata_trailer(f, r, &c, &s);
        return s.time;
    }
    a = perfdata_attr_of(f, r);
    if (!a || !(a->sample_type & PERF_BIT_TIME))
        return 0;
    cur_skip(&c, 8 * (size_t)n_bits(a->sample_type &
                                    (PERF_BIT_IDENTIFIER | PERF_BIT_IP | PERF_BIT_TID)));
    return cur_u64(&c);
}
