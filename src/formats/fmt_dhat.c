/* fmt_dhat.c - import DHAT's JSON.  Program points precede the table of frames they use, so
 * their values are buffered until the table is read.  Other members are skipped.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "formats/formats.h"
#include "formats/json_input.h"
#include "formats/vgframe.h"

/* What is counted at each program point: member, metric, unit. */
static const struct column {
    char key[4];
    const char *name, *unit, *about;
    uint32_t flags;
} columns[] = {
    { "tb", "alloc", "bytes", "bytes allocated", METRIC_EXACT },
    { "tbk", "allocs", "blocks", "blocks allocated", METRIC_EXACT },
    { "gb", "peak", "bytes", "bytes live at the peak", METRIC_EXACT },
    { "gbk", "peak-blocks", "blocks", "blocks live at the peak", METRIC_EXACT },
    { "eb", "live", "bytes", "bytes live at the end", METRIC_EXACT | METRIC_LIVE },
    { "ebk", "live-blocks", "blocks", "blocks live at the end", METRIC_EXACT | METRIC_LIVE },
    { "rb", "reads", "bytes", "bytes read from the blocks", METRIC_EXACT },
    { "wb", "writes", "bytes", "bytes written to the blocks", METRIC_EXACT },
    { "tl", "lifetime", "instructions", "sum of the blocks' lifetimes", METRIC_EXACT },
};
enum { COLUMNS = ARRAY_LEN(columns) };

/* The first two count something else in DHAT's other modes. */
static const struct mode {
    const char *name;
    struct column column[2];
} modes[] = {
    { "copy", { { "tb", "copied", "bytes", "bytes copied by memcpy and the like", METRIC_EXACT },
                { "tbk", "copies", "calls", "calls that copied", METRIC_EXACT } } },
    { "ad-hoc", { { "tb", "units", "units", "units of the program's events", METRIC_EXACT },
                  { "tbk", "events", "events", "events counted by the program", METRIC_EXACT } } },
};

struct point {
    int64_t value[COLUMNS];
    uint32_t first, n; /* of its frames in the pool */
};

struct reader {
    struct json_reader r;
    struct sink *out;
    struct intern in;
    VEC(struct point) point;
    VEC(uint32_t) pool;  /* indexes into the table of frames, leaf first */
    VEC(uint32_t) frame; /* the table */
    bool seen[COLUMNS], has_version;
    char command[512], mode[16];
};

static int column_of(const struct json_reader *r)
{
    char key[sizeof columns[0].key] = { 0 }; /* of fixed size: compared without a call */

    if (r->n >= sizeof key)
        return -1;
    for (size_t i = 0; i < r->n; i++)
        key[i] = r->text[i];
    for (int i = 0; i < COLUMNS; i++)
        if (memcmp(key, columns[i].key, sizeof key) == 0)
            return i;
    return -1;
}

static void read_stack(struct reader *x, struct point *p)
{
    p->first = (uint32_t)x->pool.n;
    if (!json_input_array(&x->r))
        return;
    while (json_input_next_number(&x->r))
        vec_push(&x->pool, x->r.number >= 0 && x->r.number < UINT32_MAX ? (uint32_t)x->r.number
                                                                        : UINT32_MAX);
    p->n = (uint32_t)x->pool.n - p->first;
}

static void read_point(struct reader *x)
{
    struct json_reader *r = &x->r;
    struct point p = { { 0 }, 0, 0 };

    while (json_next_key(r)) {
        int i = column_of(r);

        if (i >= 0) {
            p.value[i] = json_read_i64(r, -1);
            x->seen[i] = true;
            if (p.value[i] < 0)
                json_refuse(r, "a count is negative, too large or not a number");
        } else if (json_text_is(r, "fs"))
            read_stack(x, &p);
        else
            json_skip(r);
    }
    vec_push(&x->point, p);
}

static void read_frames(void *with)
{
    struct reader *x = with;

    if (!json_input_array(&x->r))
        return;
    while (json_next(&x->r) == JSON_STRING)
        vec_push(&x->frame, vgframe_of(&x->in, scan_of(x->r.text, x->r.n)));
}

static void read_points(void *with)
{
    struct reader *x = with;

    if (!json_input_array(&x->r))
        return;
    while (json_input_next_object(&x->r))
        read_point(x);
}

static void read_command(void *with)
{
    struct reader *x = with;

    json_input_text(&x->r, x->command, sizeof x->command);
}

static void read_mode(void *with)
{
    struct reader *x = with;

    json_input_text(&x->r, x->mode, sizeof x->mode);
}

static void read_version(void *with)
{
    struct reader *x = with;

    x->has_version = true;
    json_skip(&x->r);
}

static const struct json_member members[] = {
    { "dhatFileVersion", read_version }, { "mode", read_mode }, { "cmd", read_command },
    { "pps", read_points },              { "ftbl", read_frames }, { 0 },
};

static uint32_t stack_of(struct reader *x, const struct point *p)
{
    uint32_t stack = 0;

    for (uint32_t i = p->n; i--;) {
        uint32_t at = x->pool.v[p->first + i];

        if (at < x->frame.n)
            stack = intern_stack(&x->in, stack, x->frame.v[at]);
    }
    return stack;
}

static const struct column *column_at(const struct reader *x, size_t i)
{
    for (size_t k = 0; k < ARRAY_LEN(modes); k++)
        if (i < ARRAY_LEN(modes[k].column) && strcmp(x->mode, modes[k].name) == 0)
            return &modes[k].column[i];
    return &columns[i];
}

static uint32_t define_metric(struct reader *x, const struct column *c)
{
    return intern_metric(&x->in, &(struct metric){ .name = intern_cstr(&x->in, c->name),
                                                   .unit = intern_cstr(&x->in, c->unit),
                                                   .about = intern_cstr(&x->in, c->about),
                                                   .flags = c->flags });
}

static void write_samples(struct reader *x)
{
    uint32_t metric[COLUMNS] = { 0 };

    for (size_t i = 0; i < COLUMNS; i++)
        if (x->seen[i])
            metric[i] = define_metric(x, column_at(x, i));
    for (size_t k = 0; k < x->point.n; k++) {
        const struct point *p = &x->point.v[k];
        struct sample m = { .stack = stack_of(x, p), .cpu = -1 };

        for (int i = 0; i < COLUMNS; i++) {
            m.metric = metric[i];
            m.weight = p->value[i];
            m.count = p->value[1] > 0 ? (uint64_t)p->value[1] : 1;
            if (m.metric && m.weight)
                sink_sample(x->out, &m);
        }
    }
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    struct reader x = { .out = out };
    int rc;

    intern_init(&x.in, out);
    rc = json_input_read(&x.r, in, members, &x, e);
    if (rc == 0 && !x.has_version)
        rc = err_set(e, ERR_FORMAT, "not a DHAT file");
    if (rc == 0 && (!x.point.n || !x.frame.n))
        rc = err_set(e, ERR_FORMAT, "the DHAT file has no program points");
    if (rc == 0) {
        sink_meta(out, "producer", "valgrind --tool=dhat");
        if (x.command[0])
            sink_meta(out, "command", x.command);
        write_samples(&x);
    }
    vec_release(&x.point);
    vec_release(&x.pool);
    vec_release(&x.frame);
    intern_release(&x.in);
    return sink_end(out, e) < 0 || rc < 0 ? -1 : 0;
}

static int recognize(const struct import_input *in)
{
    static const char key[] = "\"dhatFileVersion\"";
    size_t n = in->size < 256 ? in->size : 256;

    return n && in->data[0] == '{' && memmem(in->data, n, key, sizeof key - 1) ? 95 : 0;
}

const struct format format_dhat = {
    .name = "dhat",
    .about = "heap profiles of Valgrind's DHAT",
    .recognize = recognize,
    .import = import,
};
