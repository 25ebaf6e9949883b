/* test_perf_decode.c - decode perf records; last-branch records; wait kinds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_blocked.h"
#include "perf/perf_lbr.h"
#include "perf_build.h"
#include "test.h"

static bool decode(const struct pb *b, size_t size, struct perf_record *r)
{
    struct perf_attrs attrs = { .arch = UNW_X86_64 };
    struct perf_raw raw = pb_raw(b, 0);
    struct perf_attr a = b->attr[0];
    bool ok;

    raw.body.end = raw.body.p + size;
    vec_push(&attrs.v, &a);
    ok = perf_decode(&attrs, &raw, r);
    vec_release(&attrs.v);
    return ok;
}

static size_t body_of(const struct pb *b)
{
    return b->record.v[0].n - 8;
}

TEST(perf_decode_reads_a_sample_with_chain_registers_and_stack)
{
    static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1234, 0 }, stack[] = { 1, 2 };
    struct pb b;
    struct perf_record r;

    pb_init(&b);
    pb_stacks(&b);
    b.attr[0].regs_user = 1 << 1 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 18; /* of x86 */
    b.cpu = 3;
    pb_sample(&b, &(struct pb_sample){ .time = 1000, .period = 5, .pid = 11, .tid = 12,
                                       .chain = chain, .pc = 0x1234, .sp = 0x7000, .fp = 0x7008,
                                       .stack = stack, .n_stack = 2 });
    CHECK(decode(&b, body_of(&b), &r));
    CHECK_EQ(r.id, 100);
    CHECK_EQ(r.ip, 0x1234);
    CHECK_EQ(r.pid, 11);
    CHECK_EQ(r.tid, 12);
    CHECK_EQ(r.cpu, 3);
    CHECK_EQ(r.period, 5);
    CHECK_EQ(r.chain.n, 2);
    CHECK_EQ(perf_word(&r.chain, 1), 0x1234);
    CHECK(r.has_regs && r.has_stack);
    CHECK_EQ(r.regs.pc, 0x1234);
    CHECK_EQ(r.regs.sp, 0x7000);
    CHECK_EQ(r.regs.fp, 0x7008);
    CHECK_EQ(r.stack.base, 0x7000);
    CHECK_EQ(r.stack.size, 16);
    for (size_t n = 0; n < body_of(&b); n++)
        CHECK(!decode(&b, n, &r));
    pb_release(&b);
}

/* One register after the other: 1000 + its number in the mask. */
static struct perf_record with_regs(struct pb *b, uint64_t mask, enum unw_arch arch)
{
    struct perf_attrs attrs = { .arch = arch };
    struct perf_record r;
    struct perf_raw raw;

    b->attr[0].sample_type = PERF_SAMPLE_REGS_USER;
    b->attr[0].regs_user = mask;
    buf_u64(&b->bytes, PERF_SAMPLE_REGS_ABI_64);
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1)
            buf_u64(&b->bytes, 1000 + i);
    raw = (struct perf_raw){ .type = PERF_RECORD_SAMPLE,
                             .body = cursor_of(b->bytes.data, b->bytes.n) };
    vec_push(&attrs.v, &b->attr[0]);
    CHECK(perf_decode(&attrs, &raw, &r));
    vec_release(&attrs.v);
    return r;
}

TEST(perf_decode_finds_registers_by_the_mask_of_the_event)
{
    struct perf_record r;
    struct pb b;

    pb_init(&b);
    r = with_regs(&b, 0xff0fff, UNW_X86_64); /* as perf record requests them */
    CHECK_EQ(r.regs.bx, 1001);
    CHECK_EQ(r.regs.fp, 1006);
    CHECK_EQ(r.regs.sp, 1007);
    CHECK_EQ(r.regs.pc, 1008);
    CHECK_EQ(r.regs.r10, 1018);
    pb_release(&b);
    pb_init(&b);
    r = with_regs(&b, (1ull << 33) - 1, UNW_AARCH64);
    CHECK_EQ(r.regs.fp, 1029);
    CHECK_EQ(r.regs.lr, 1030);
    CHECK_EQ(r.regs.sp, 1031);
    CHECK_EQ(r.regs.pc, 1032);
    CHECK_EQ(r.regs.bx, 0);
    pb_release(&b);
}

TEST(perf_decode_refuses_a_chain_longer_than_its_record)
{
    static const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 1, 0 };
    struct pb b;
    struct perf_record r;

    pb_init(&b);
    pb_sample(&b, &(struct pb_sample){ .time = 1, .pid = 1, .chain = chain });
    CHECK(decode(&b, body_of(&b), &r));
    memset(b.bytes.data + b.bytes.n - 24, 0x3f, 8); /* the number of words */
    CHECK(!decode(&b, body_of(&b), &r));
    pb_release(&b);
}

TEST(perf_decode_reads_a_mapping_with_its_build_id)
{
    static const unsigned char id[20] = { 1, 2, 3, 4 };
    struct pb b;
    struct perf_record r;

    pb_init(&b);
    pb_map(&b, 1000, 7, 0x400000, 0x1000, 0x2000, "/bin/x");
    CHECK(decode(&b, body_of(&b), &r));
    CHECK_EQ(r.pid, 7);
    CHECK_EQ(r.start, 0x400000);
    CHECK_EQ(r.size, 0x1000);
    CHECK_EQ(r.file_offset, 0x2000);
    CHECK_EQ(r.build_id_size, 20);
    CHECK(memcmp(r.build_id, id, 20) == 0);
    CHECK_STR(r.text, "/bin/x");
    CHECK_EQ(r.time_ns, 1000);
    CHECK(!decode(&b, 24, &r)); /* too short for its trailer */
    b.bytes.data[8 + 32] = 21; /* an id longer than its field */
    CHECK(!decode(&b, body_of(&b), &r));
    pb_release(&b);
}

TEST(perf_decode_ignores_the_flag_of_build_ids_that_were_not_asked_for)
{
    static const struct {
        uint32_t first; /* word of the file's identity */
        bool asked, decoded, is_id;
    } cases[] = {
        { 254, false, true, false }, { 8, false, true, false }, { 20, false, true, true },
        { 16, false, true, true }, { 8, true, true, true }, { 254, true, false, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pb b;
        struct perf_record r;

        pb_init(&b);
        b.attr[0].no_build_ids = b.attr[1].no_build_ids = !cases[i].asked;
        pb_map(&b, 1000, 7, 0x400000, 0x1000, 0x2000, "/bin/x");
        memcpy(b.bytes.data + 8 + 32, &cases[i].first, 4);
        CHECK_EQ(decode(&b, body_of(&b), &r), cases[i].decoded);
        if (cases[i].decoded) {
            CHECK_EQ(r.build_id_size, cases[i].is_id ? cases[i].first : 0);
            CHECK_EQ(r.major, cases[i].is_id ? 0 : cases[i].first);
            CHECK_EQ(r.minor, cases[i].is_id ? 0 : 0x04030201);
            CHECK_EQ(r.prot, 5);
        }
        pb_release(&b);
    }
}

TEST(perf_decode_refuses_a_name_without_an_end)
{
    struct pb b;
    struct perf_record r;

    pb_init(&b);
    pb_comm(&b, 1, 1, 1, "abcdefgh", false);
    CHECK(decode(&b, body_of(&b), &r));
    CHECK_STR(r.text, "abcdefgh");
    memset(b.bytes.data + 16, 'x', 16);
    CHECK(!decode(&b, body_of(&b), &r));
    pb_release(&b);
}

/* --- wait kinds --- */

TEST(perf_blocked_recognizes_calls_and_kernel_functions)
{
    CHECK_STR(perf_blocked_by_call(-1), "page fault");
    CHECK_STR(perf_blocked_by_call(100000), WAIT_UNKNOWN);
    CHECK_STR(perf_blocked_by_function("futex_wait_queue.isra.0"), "futex");
    CHECK(perf_blocked_by_function("schedule") == NULL);
}

/* --- last-branch records --- */

static struct perf_record branches(struct buf *b, const uint64_t *calls, size_t n)
{
    struct perf_record r = { .misc = PERF_RECORD_MISC_USER, .ip = 0x999 };

    b->n = 0;
    for (size_t i = n; i-- > 0;) { /* newest first */
        buf_u64(b, calls[i]);
        buf_u64(b, calls[i] + 0x1000);
        buf_u64(b, 0);
    }
    r.branches = (struct perf_words){ b->data, n * 3 };
    return r;
}

TEST(perf_lbr_stitches_a_full_stack_onto_the_one_before)
{
    static const uint64_t first[] = { 1, 2, 3, 4 }, deeper[] = { 3, 4, 5, 6 },
                          other[] = { 90, 91, 92, 93 }, shallow[] = { 1, 2 },
                          one_alike[] = { 6, 71, 72, 73 };
    struct perf_lbr known = { 0 };
    struct unw_frame frames[16];
    struct buf b = { 0 };
    struct perf_lbr_stack s;
    struct perf_record r;
    size_t depth = 4;

    r = branches(&b, shallow, 2);
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(s.complete && s.n == 3 && !s.joined);
    r = branches(&b, first, 4);
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(s.complete && s.n == 5);
    r = branches(&b, deeper, 4);
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(s.complete);
    CHECK_EQ(s.joined, 2);
    CHECK_EQ(s.n, 7);
    CHECK_EQ(frames[0].pc, 0x999);
    CHECK_EQ(frames[1].pc, 7);
    CHECK_EQ(frames[6].pc, 2);
    r = branches(&b, one_alike, 4); /* a single equal call may be a coincidence */
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(!s.complete && s.n == 5);
    r = branches(&b, other, 4);
    s = perf_lbr_walk(&r, &known, &depth, frames, 16);
    CHECK(!s.complete && s.n == 5);
    vec_release(&known);
    buf_release(&b);
}

/* --- layouts of other recordings --- */

struct layout {
    struct perf_attrs attrs;
    struct perf_attr attr[2];
    struct buf body;
};

static void begin_layout(struct layout *l, uint64_t sample_type)
{
    *l = (struct layout){ .attrs.arch = UNW_X86_64 };
    for (size_t i = 0; i < 2; i++) {
        l->attr[i] = (struct perf_attr){ .sample_type = sample_type, .has_trailer = true,
                                         .period = 77 + i, .regs_user = 1 << 7 | 1 << 8 };
        vec_push(&l->attrs.v, &l->attr[i]);
        umap_put(&l->attrs.of_id, 100 + i, (uint32_t)i + 1);
    }
}

static bool decode_layout(struct layout *l, uint32_t type, uint16_t misc, struct perf_record *r)
{
    struct perf_raw raw = { .type = type, .misc = misc,
                            .body = cursor_of(l->body.data, l->body.n) };

    return perf_decode(&l->attrs, &raw, r);
}

static void end_layout(struct layout *l)
{
    vec_release(&l->attrs.v);
    umap_release(&l->attrs.of_id);
    buf_release(&l->body);
}

TEST(perf_decode_finds_the_event_of_samples_and_of_other_records)
{
    struct layout l;
    struct perf_record r;

    begin_layout(&l, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP);
    buf_u64(&l.body, 101);
    buf_u64(&l.body, 0x1234);
    CHECK(decode_layout(&l, PERF_RECORD_SAMPLE, 0, &r));
    CHECK(r.attr == &l.attr[1] && r.ip == 0x1234);
    CHECK_EQ(r.period, 78); /* not in the record: that of the event */
    l.attr[1].is_frequency = true;
    CHECK(decode_layout(&l, PERF_RECORD_SAMPLE, 0, &r));
    CHECK_EQ(r.period, 1);
    memcpy(l.body.data, &(uint64_t){ 999 }, 8);
    CHECK(!decode_layout(&l, PERF_RECORD_SAMPLE, 0, &r)); /* no such event */
    l.body.n = 0;
    buf_u64(&l.body, 5); /* id and number of a loss, then the trailer */
    buf_u64(&l.body, 12);
    buf_u64(&l.body, 101);
    CHECK(decode_layout(&l, PERF_RECORD_LOST, 0, &r));
    CHECK(r.attr == &l.attr[1]);
    CHECK_EQ(r.lost, 12);
    end_layout(&l);
}

TEST(perf_decode_skips_the_values_of_a_group)
{
    struct layout l;
    struct perf_record r;

    begin_layout(&l, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN);
    l.attr[0].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
    buf_u64(&l.body, 100);
    buf_u64(&l.body, 1);  /* one counter: value, id, lost */
    buf_u64(&l.body, 50);
    buf_u64(&l.body, 100);
    buf_u64(&l.body, 0);
    buf_u64(&l.body, 1);  /* one call */
    buf_u64(&l.body, 0x42);
    CHECK(decode_layout(&l, PERF_RECORD_SAMPLE, 0, &r));
    CHECK_EQ(r.read.n, 4);
    CHECK_EQ(r.chain.n, 1);
    CHECK_EQ(perf_word(&r.chain, 0), 0x42);
    end_layout(&l);
}

TEST(perf_decode_takes_registers_of_64_bits_only)
{
    struct layout l;
    struct perf_record r;

    begin_layout(&l, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_REGS_USER);
    buf_u64(&l.body, 100);
    buf_u64(&l.body, PERF_SAMPLE_REGS_ABI_32);
    buf_u64(&l.body, 0x7000);
    buf_u64(&l.body, 0x1000);
    CHECK(decode_layout(&l, PERF_RECORD_SAMPLE, 0, &r));
    CHECK(!r.has_regs);
    memcpy(l.body.data + 8, &(uint64_t){ PERF_SAMPLE_REGS_ABI_64 }, 8);
    CHECK(decode_layout(&l, PERF_RECORD_SAMPLE, 0, &r));
    CHECK(r.has_regs && r.regs.sp == 0x7000 && r.regs.pc == 0x1000);
    end_layout(&l);
}

TEST(perf_decode_reads_only_the_copied_part_of_a_stack)
{
    struct layout l;
    struct perf_record r;

    begin_layout(&l, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_STACK_USER);
    buf_u64(&l.body, 100);
    buf_u64(&l.body, 24); /* room */
    for (int i = 0; i < 3; i++)
        buf_u64(&l.body, (uint64_t)i);
    buf_u64(&l.body, 16); /* used */
    CHECK(decode_layout(&l, PERF_RECORD_SAMPLE, 0, &r));
    CHECK_EQ(r.stack.size, 16);
    memcpy(l.body.data + 5 * 8, &(uint64_t){ 32 }, 8); /* more than the size of the copy */
    CHECK(!decode_layout(&l, PERF_RECORD_SAMPLE, 0, &r));
    end_layout(&l);
}

TEST(perf_decode_distinguishes_mapped_data_from_code)
{
    struct layout l;
    struct perf_record r;

    begin_layout(&l, PERF_SAMPLE_IDENTIFIER);
    buf_u32(&l.body, 7);
    buf_u32(&l.body, 7);
    for (int i = 1; i <= 3; i++)
        buf_u64(&l.body, (uint64_t)i << 12);
    buf_add(&l.body, "/lib/x\0", 8);
    buf_u64(&l.body, 100);
    CHECK(decode_layout(&l, PERF_RECORD_MMAP, 0, &r));
    CHECK_EQ(r.prot, 4);
    CHECK_STR(r.text, "/lib/x");
    CHECK(decode_layout(&l, PERF_RECORD_MMAP, PERF_RECORD_MISC_MMAP_DATA, &r));
    CHECK_EQ(r.prot, 0);
    end_layout(&l);
}
