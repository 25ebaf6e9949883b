/* test_export.c - details of exported files that no import would show.
 * SPDX-License-Identifier: Apache-2.0 */
#include "build_profile.h"
#include "formats/formats.h"
#include "formats/pprof.h"
#include "formats/protobuf.h"
#include "formats/unwrap.h"
#include "profile/intern.h"
#include "test.h"

extern const struct format format_pprof, format_speedscope;

static struct buf written(const struct format *f, const struct profile *p)
{
    struct export_options opt = { 0 };
    struct out o = out_memory();
    struct err e = { 0 };
    struct buf text = { 0 };
    struct an_view v;

    CHECK_EQ(an_view_open(&v, p, NULL, f->view, &e), 0);
    CHECK_EQ(f->write(&v, &opt, &o, &e), 0);
    an_view_release(&v);
    buf_add(&text, o.buf.data, o.buf.n);
    out_close(&o, NULL);
    return text;
}

/* A leaf at 0x500 in one module, under frames at 0x1ffe and before 0x2000 in another. */
static struct profile *with_addresses(void)
{
    struct profile *p = profile_new();
    struct intern in;
    uint32_t metric, first, second, caller, stack;

    intern_init(&in, profile_sink(p));
    metric = intern_metric(&in, &(struct metric){ .name = intern_cstr(&in, "cpu"),
                                                  .unit = intern_cstr(&in, "ns") });
    first = intern_module(&in, &(struct module){ .path = intern_cstr(&in, "/bin/first") });
    second = intern_module(&in, &(struct module){ .path = intern_cstr(&in, "/bin/second") });
    caller = intern_frame(&in, &(struct frame){ FRAME_NATIVE, FRAME_RETURN, first, 0x2000 });
    stack = intern_stack(&in, 0, caller);
    stack = intern_stack(&in, stack,
                         intern_frame(&in, &(struct frame){ FRAME_NATIVE, 0, first, 0x1ffe }));
    stack = intern_stack(&in, stack,
                         intern_frame(&in, &(struct frame){ FRAME_NATIVE, 0, second, 0x500 }));
    sink_sample(in.out, &(struct sample){ .stack = stack, .metric = metric, .weight = 5,
                                          .count = 1, .cpu = -1 });
    CHECK_EQ(sink_end(in.out, NULL), 0);
    intern_release(&in);
    return p;
}

static uint64_t limit_of(struct cursor mapping)
{
    struct pb_reader r = pb_reader_of(mapping);
    uint64_t limit = 0;

    while (pb_next(&r))
        if (r.field == PPROF_MAPPING_LIMIT)
            limit = r.value;
    return limit;
}

/* The only field FIELD of the profile. */
static struct pb_reader field_of(struct buf *plain, uint32_t field)
{
    struct pb_reader r = pb_reader_of(cursor_of(plain->data, plain->n));

    while (pb_next(&r))
        if (r.field == field)
            return r;
    return (struct pb_reader){ 0 };
}

TEST(export_pprof_takes_a_duration_of_any_size)
{
    static const struct {
        const char *duration_ns;
        uint64_t written;
    } cases[] = { { "1e300", UINT64_MAX }, { "1e19", 10000000000000000000u }, { "1.5", 1 },
                  { "-1e300", 0 }, { "nan", 0 }, { "inf", 0 } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct profile *p = build_profile("t main 7\n");
        struct buf packed, plain = { 0 };
        bool cut;

        sink_meta(profile_sink(p), "duration_ns", cases[i].duration_ns);
        packed = written(&format_pprof, p);
        CHECK_EQ(unwrap(packed.data, packed.n, &plain, &cut, NULL), 0);
        CHECK_EQ(field_of(&plain, PPROF_DURATION).value, cases[i].written);
        buf_release(&packed);
        buf_release(&plain);
        profile_free(p);
    }
}

TEST(export_pprof_mappings_end_behind_their_last_address)
{
    struct profile *p = with_addresses();
    struct buf packed = written(&format_pprof, p), plain = { 0 };
    struct err e = { 0 };
    struct pb_reader r;
    uint64_t limit[2] = { 0 };
    size_t n = 0;
    bool cut;

    CHECK_EQ(unwrap(packed.data, packed.n, &plain, &cut, &e), 0);
    r = pb_reader_of(cursor_of(plain.data, plain.n));
    while (pb_next(&r))
        if (r.field == PPROF_MAPPING && n < 2)
            limit[n++] = limit_of(r.bytes);
    CHECK_EQ(n, 2);
    CHECK_EQ(limit[0], 0x501); /* the leaf comes first */
    CHECK_EQ(limit[1], 0x2000);
    buf_release(&packed);
    buf_release(&plain);
    profile_free(p);
}

TEST(export_pprof_has_a_limit_before_compression)
{
    struct profile *p = build_profile("t main;a 7\nt main;b 5\nt main;c 2\n");
    struct buf packed = written(&format_pprof, p), plain = { 0 };
    struct out o = out_memory();
    struct err e = { 0 };
    bool cut;

    CHECK_EQ(unwrap(packed.data, packed.n, &plain, &cut, &e), 0);
    CHECK_EQ(pprof_export(p, plain.n - 1, &o, &e), -1);
    CHECK_EQ(o.buf.n, 0);
    CHECK_EQ(e.code, ERR_LIMIT);
    CHECK(strstr(e.msg, "more than 0 MiB before compression"));
    CHECK_EQ(pprof_export(p, plain.n, &o, &e), 0);
    CHECK_EQ(o.buf.n, packed.n);
    out_close(&o, NULL);
    buf_release(&packed);
    buf_release(&plain);
    profile_free(p);
}

TEST(export_speedscope_leaves_weights_below_zero_out)
{
    struct profile *p = build_profile("t main;a 7\nt main;b -5\nt main;c 2\n");
    struct buf text = written(&format_speedscope, p);

    CHECK(strstr(buf_text(&text), "\"endValue\":9,"));
    CHECK(strstr(buf_text(&text), "\"weights\":[7,2]"));
    buf_release(&text);
    profile_free(p);
}
