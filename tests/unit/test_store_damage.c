/* test_store_damage.c - lose each chunk of a file in turn and check the exact remaining profile.
 *
 * Each of three rounds defines one record of every kind in separate chunks, so that a lost chunk
 * leaves a gap between two good ones and later ids shift.  Then every round gets another sample.
 * The expected profile is computed from the rules of docs/format.md, not by the reader.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "profile/profile.h"
#include "store/store.h"
#include "store/store_chunk.h"
#include "text/out.h"

enum { ROUNDS = 3, NAMES = 5 };
enum { METRIC = 1, PROCESS, THREAD, MODULE, FUNCTION }; /* order of a round's strings */

static uint32_t name_id(uint32_t round, uint32_t which)
{
    return (round - 1) * NAMES + which;
}

static void write_sample(struct sink *s, uint32_t r)
{
    sink_sample(s, &(struct sample){ .thread = r, .stack = r, .metric = r, .weight = 10 * r,
                                     .count = 1 });
}

/* EARLY: use each definition at once, so that a placeholder for it precedes later ids. */
static void write_round(struct sink *s, uint32_t r, bool early)
{
    static const char *const kinds[NAMES] = { "metric", "process", "thread", "module", "function" };
    char text[40];

    for (int i = 0; i < NAMES; i++)
        sink_string(s, text, (size_t)snprintf(text, sizeof text, "%s%u", kinds[i], r));
    sink_metric(s, &(struct metric){ .name = name_id(r, METRIC) });
    sink_process(s, &(struct process){ .pid = 100 + (int)r, .name = name_id(r, PROCESS) });
    sink_thread(s, &(struct thread){ .process = r, .name = name_id(r, THREAD) });
    if (early) {
        sink_update_process(s, r, &(struct process){ .end_ns = 1000 + r });
        sink_update_thread(s, r, &(struct thread){ .end_ns = 2000 + r });
    }
    sink_module(s, &(struct module){ .path = name_id(r, MODULE) });
    sink_frame(s, &(struct frame){ .module = r, .address = r });
    sink_function(s, &(struct function){ .name = name_id(r, FUNCTION) });
    sink_resolve(s, r, &(struct location){ .function = r, .line = r }, 1);
    sink_stack(s, r - 1, r);
    if (early)
        write_sample(s, r);
}

static struct out three_rounds(bool early)
{
    struct out o = out_memory();
    struct store_writer *w = store_writer_new(&o);
    struct err e = { 0 };

    for (uint32_t r = 1; r <= ROUNDS; r++) {
        write_round(store_writer_sink(w), r, early);
        store_writer_flush(w);
    }
    for (uint32_t r = 1; r <= ROUNDS; r++)
        write_sample(store_writer_sink(w), r);
    CHECK_EQ(sink_end(store_writer_sink(w), &e), 0);
    store_writer_free(w);
    return o;
}

struct loss { /* the chunk of TYPE of a ROUND is lost */
    uint8_t type;
    uint32_t round;
    bool early;
};

static bool is_lost(const struct loss *l, enum store_type type, uint32_t round)
{
    return l->type == type && l->round == round;
}

/* The remaining name of a record of ROUND. */
static void want_name(struct buf *b, const struct loss *l, enum store_type type, uint32_t round,
                      const char *kind)
{
    if (is_lost(l, type, round) || is_lost(l, STORE_string, round))
        buf_printf(b, "[lost]");
    else
        buf_printf(b, "%s%u", kind, round);
}

static void want_stack(struct buf *b, const struct loss *l, uint32_t round)
{
    for (uint32_t i = round; i; i--) {
        buf_printf(b, " ");
        if (is_lost(l, STORE_stack, i) || is_lost(l, STORE_frame, i)) {
            buf_printf(b, "[lost]");
            if (l->type == STORE_stack)
                return;
        } else if (is_lost(l, STORE_location, i)) {
            want_name(b, l, STORE_module, i, "module");
            buf_printf(b, "+%u", i);
        } else {
            want_name(b, l, STORE_function, i, "function");
        }
    }
}

static void want_sample(struct buf *b, const struct loss *l, uint32_t r)
{
    bool no_thread = is_lost(l, STORE_thread, r), no_process = is_lost(l, STORE_process, r);

    want_name(b, l, STORE_metric, r, "metric");
    buf_printf(b, " ");
    want_name(b, l, STORE_thread, r, "thread");
    buf_printf(b, " %u ", no_thread || !l->early ||
                                  is_lost(l, STORE_thread_update, r) ? 0 : 2000 + r);
    want_name(b, l, no_thread ? STORE_thread : STORE_process, r, "process");
    buf_printf(b, " %u", no_thread || no_process || !l->early ||
                                 is_lost(l, STORE_process_update, r) ? 0 : 1000 + r);
    buf_printf(b, " %u:", 10 * r);
    want_stack(b, l, r);
    buf_printf(b, "\n");
}

static void got_frame(struct buf *b, const struct profile *p, uint32_t id)
{
    const struct frame *f = &p->frame.v[id - 1];
    const struct profile_chain *c = &p->chain.v[id - 1];

    if (c->n)
        buf_printf(b, " %s",
                   profile_string(p, p->function.v[p->location.v[c->first].function - 1].name));
    else
        buf_printf(b, " %s+%u", profile_string(p, p->module.v[f->module - 1].path),
                   (unsigned)f->address);
}

static void got_sample(struct buf *b, const struct profile *p, const struct profile_sample *s)
{
    const struct thread *t = &p->thread.v[s->thread - 1];
    const struct process *own = &p->process.v[t->process - 1];

    buf_printf(b, "%s %s %u %s %u %u:", profile_string(p, p->metric.v[s->metric - 1].name),
               profile_string(p, t->name), (unsigned)t->end_ns, profile_string(p, own->name),
               (unsigned)own->end_ns, (unsigned)s->weight);
    for (uint32_t at = s->stack; at; at = p->stack.v[at - 1].parent)
        got_frame(b, p, p->stack.v[at - 1].frame);
    buf_printf(b, "\n");
}

static void check_loss(const struct out *file, const struct loss *l)
{
    uint32_t last = l->early ? ROUNDS + 1 : 1;
    struct buf want = { 0 }, got = { 0 };
    struct store_damage d;
    struct err e = { 0 };
    struct profile *p = profile_new();

    CHECK_EQ(store_read(file->buf.data, file->buf.n, profile_sink(p), &d, &e), 0);
    for (uint32_t r = 1; r <= ROUNDS && l->early; r++)
        if (!is_lost(l, STORE_sample, r))
            want_sample(&want, l, r);
    for (uint32_t r = 1; r <= ROUNDS && !is_lost(l, STORE_sample, last); r++)
        want_sample(&want, l, r); /* again, after all definitions */
    for (size_t i = 0; i < p->sample.n; i++)
        got_sample(&got, p, &p->sample.v[i]);
    buf_printf(&want, "of type %u, round %u\n", l->type, l->round);
    buf_printf(&got, "of type %u, round %u\n", l->type, l->round);
    CHECK_STR(buf_text(&got), buf_text(&want));
    CHECK_EQ(d.bad_chunks, l->type != 0);
    CHECK_EQ(d.lost_samples, l->type != STORE_sample ? 0 : l->round == last ? ROUNDS : 1);
    CHECK_EQ(d.unfinished, l->type == STORE_end);
    profile_free(p);
    buf_release(&want);
    buf_release(&got);
}

static void lose_each_chunk(bool early)
{
    struct out file = three_rounds(early);
    uint32_t round[STORE_TYPES] = { 0 }, chunks = 0, stored;

    check_loss(&file, &(struct loss){ .early = early });
    for (size_t at = 8; at < file.buf.n; at += STORE_HEAD_SIZE + stored, chunks++) {
        uint8_t type = file.buf.data[at + 4];

        memcpy(&stored, file.buf.data + at + 20, 4);
        file.buf.data[at + STORE_HEAD_SIZE] ^= 0xff;
        check_loss(&file, &(struct loss){ type, ++round[type], early });
        file.buf.data[at + STORE_HEAD_SIZE] ^= 0xff;
    }
    CHECK_EQ(chunks, (early ? 12 : 9) * ROUNDS + 2);
    out_close(&file, NULL);
}

TEST(store_loses_only_what_was_in_the_damaged_chunk)
{
    lose_each_chunk(true);
}

TEST(store_attributes_nothing_to_what_came_after_a_damaged_chunk)
{
    lose_each_chunk(false);
}
