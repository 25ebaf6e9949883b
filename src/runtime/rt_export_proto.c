/* rt_export_proto.c - the two formats that are protocol buffers: pprof (profile.proto, not
 * compressed, as its readers accept) and Perfetto (trace.proto: track descriptors, slices,
 * counters).  Field numbers are those of the public .proto files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_export.h"

#include <string.h>
#include <sys/mman.h>

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static void tag(struct rt_out *o, uint32_t field, enum wire wire)
{
    rt_out_uleb(o, (uint64_t)field << 3 | wire);
}

static void put_varint(struct rt_out *o, uint32_t field, uint64_t x)
{
    tag(o, field, VARINT);
    rt_out_uleb(o, x);
}

static void put_bytes(struct rt_out *o, uint32_t field, const void *data, size_t n)
{
    tag(o, field, BYTES);
    rt_out_uleb(o, n);
    rt_out_add(o, data, n);
}

static void put_text(struct rt_out *o, uint32_t field, const char *s)
{
    put_bytes(o, field, s, strlen(s));
}

/* A message built in its own buffer, put into its parent, and emptied for the next. */
static void put_message(struct rt_out *o, uint32_t field, struct rt_out *m)
{
    put_bytes(o, field, m->data, m->n);
    o->failed |= m->failed;
    m->n = 0;
}

/* ---- pprof.  String table: "" 0, then count, time, nanoseconds, then two per row ---- */

enum { S_COUNT = 1, S_CALLS, S_TIME, S_NS, S_ROWS };

static bool is_stack(const struct row *w)
{
    return w->kind == LIVE_ZONE || w->kind == LIVE_OP || w->kind == LIVE_LOCK_WAIT;
}

static void value_type(struct rt_out *o, struct rt_out *m, uint32_t field, uint64_t type,
                       uint64_t unit)
{
    put_varint(m, 1, type);
    put_varint(m, 2, unit);
    put_message(o, field, m);
}

static void pprof_sample(struct rt_out *o, const struct result *r, uint32_t row,
                         struct rt_out *m, struct rt_out *ids)
{
    for (uint32_t up = row; up != LIVE_NO_NODE; up = r->row[up].parent)
        if (is_stack(&r->row[up]))
            rt_out_uleb(ids, up + 1);
    put_message(m, 1, ids);
    rt_out_uleb(ids, r->row[row].count);
    rt_out_uleb(ids, (uint64_t)r->row[row].self);
    put_message(m, 2, ids);
    put_message(o, 2, m);
}

static void pprof_place(struct rt_out *o, const struct row *w, uint32_t row, struct rt_out *m,
                        struct rt_out *line)
{
    put_varint(line, 1, row + 1);
    put_varint(line, 2, w->line);
    put_varint(m, 1, row + 1);
    put_message(m, 4, line);
    put_message(o, 4, m);
    put_varint(m, 1, row + 1);
    put_varint(m, 2, S_ROWS + 2 * (uint64_t)row);
    put_varint(m, 4, S_ROWS + 2 * (uint64_t)row + 1);
    put_varint(m, 5, w->line);
    put_message(o, 5, m);
}

void rt_export_pprof(struct rt_out *o, const struct result *r)
{
    struct rt_out m = { 0 }, inner = { 0 };

    value_type(o, &m, 1, S_CALLS, S_COUNT);
    value_type(o, &m, 1, S_TIME, S_NS);
    for (uint32_t i = 0; i < r->n; i++)
        if (is_stack(&r->row[i]) && r->row[i].count)
            pprof_sample(o, r, i, &m, &inner);
    for (uint32_t i = 0; i < r->n; i++)
        if (is_stack(&r->row[i]))
            pprof_place(o, &r->row[i], i, &m, &inner);
    put_text(o, 6, "");
    put_text(o, 6, "count");
    put_text(o, 6, "calls");
    put_text(o, 6, "time");
    put_text(o, 6, "nanoseconds");
    for (uint32_t i = 0; i < r->n; i++) {
        put_text(o, 6, r->row[i].name);
        put_text(o, 6, r->row[i].file);
    }
    put_varint(o, 9, r->view.head.start_realtime_ns);
    put_varint(o, 10, (uint64_t)r->wall_ns);
    value_type(o, &m, 11, S_TIME, S_NS);
    put_varint(o, 12, 1);
    put_varint(o, 14, S_TIME);
    rt_out_release(&m);
    rt_out_release(&inner);
}

/* ---- Perfetto ---- */

enum { PACKET = 1, P_TIME = 8, P_SEQUENCE = 10, P_EVENT = 11, P_CLOCK = 58, P_TRACK = 60 };
enum { E_TYPE = 9, E_TRACK = 11, E_NAME = 23, E_COUNTER_F = 44, E_FLOW = 47 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { D_UUID = 1, D_NAME = 2, D_PROCESS = 3, D_THREAD = 4, D_PARENT = 5, D_COUNTER = 8 };
enum { CLOCK_IS_MONOTONIC = 3 };

struct perfetto {
    struct rt_out *o, packet, event, inner;
    const struct result *r;
    const struct events *e;
};

static uint64_t process_track(const struct perfetto *p)
{
    return p->r->view.head.pid + 1ull;
}

static uint64_t thread_track(uint32_t thread)
{
    return ((uint64_t)1 << 32) + thread;
}

static uint64_t counter_track(uint32_t row)
{
    return ((uint64_t)2 << 32) + row;
}

static void end_packet(struct perfetto *p)
{
    put_varint(&p->packet, P_SEQUENCE, 1);
    put_message(p->o, PACKET, &p->packet);
}

static void put_double(struct rt_out *o, uint32_t field, uint64_t bits)
{
    tag(o, field, FIXED64);
    rt_out_u64(o, bits);
}

static void describe_tracks(struct perfetto *p)
{
    const struct live_header *h = &p->r->view.head;

    put_varint(&p->event, D_UUID, process_track(p));
    put_varint(&p->inner, 1, h->pid);
    put_text(&p->inner, 6, h->comm);
    put_message(&p->event, D_PROCESS, &p->inner);
    put_message(&p->packet, P_TRACK, &p->event);
    end_packet(p);
    for (uint32_t t = 0; t < p->e->n_threads; t++) {
        put_varint(&p->event, D_UUID, thread_track(t));
        put_varint(&p->event, D_PARENT, process_track(p));
        put_varint(&p->inner, 1, h->pid);
        put_varint(&p->inner, 2, p->e->thread[t].tid);
        put_text(&p->inner, 5, p->e->thread[t].name);
        put_message(&p->event, D_THREAD, &p->inner);
        put_message(&p->packet, P_TRACK, &p->event);
        end_packet(p);
    }
    for (uint32_t i = 0; i < p->r->n; i++) {
        uint32_t kind = p->r->row[i].kind;

        if (kind != LIVE_COUNTER && kind != LIVE_GAUGE && kind != LIVE_POOL)
            continue;
        put_varint(&p->event, D_UUID, counter_track(i));
        put_varint(&p->event, D_PARENT, process_track(p));
        put_text(&p->event, D_NAME, p->r->row[i].name);
        put_message(&p->event, D_COUNTER, &p->inner);
        put_message(&p->packet, P_TRACK, &p->event);
        end_packet(p);
    }
}

static void event_at(struct perfetto *p, uint64_t ticks, uint32_t type, uint64_t track)
{
    put_varint(&p->packet, P_TIME, (uint64_t)live_ns_at(&p->r->view.head, ticks));
    put_varint(&p->packet, P_CLOCK, CLOCK_IS_MONOTONIC);
    put_varint(&p->event, E_TYPE, type);
    put_varint(&p->event, E_TRACK, track);
}

static void finish_event(struct perfetto *p)
{
    put_message(&p->packet, P_EVENT, &p->event);
    end_packet(p);
}

static void point(struct perfetto *p, const struct event *v)
{
    const struct row *w = &p->r->row[v->row];

    if (v->has_value && w->kind != LIVE_FLOW) {
        event_at(p, v->start, COUNTER, counter_track(v->row));
        put_double(&p->event, E_COUNTER_F, v->value);
    } else {
        event_at(p, v->start, INSTANT, thread_track(v->task));
        put_text(&p->event, E_NAME, w->name);
        if (v->has_value)
            put_double(&p->event, E_FLOW, v->value);
    }
    finish_event(p);
}

/* Slices of a thread nest: those that ended before this one starts are closed first. */
struct open_slices {
    uint64_t end[256];
    uint32_t n;
};

static void close_until(struct perfetto *p, struct open_slices *s, uint64_t ticks, uint32_t task)
{
    while (s->n && s->end[s->n - 1] <= ticks) {
        event_at(p, s->end[--s->n], SLICE_END, thread_track(task));
        finish_event(p);
    }
}

void rt_export_perfetto(struct rt_out *o, const struct result *r, const struct events *e)
{
    struct perfetto p = { .o = o, .r = r, .e = e };
    struct open_slices open = { .n = 0 };
    uint32_t task = 0;

    describe_tracks(&p);
    for (size_t i = 0; i < e->n; i++) {
        const struct event *v = &e->list[i];
        const struct row *w = &r->row[v->row];

        if (v->task != task) {
            close_until(&p, &open, UINT64_MAX, task);
            task = v->task;
        }
        if (v->has_value || w->kind == LIVE_INSTANT) {
            point(&p, v);
            continue;
        }
        if (w->kind == LIVE_FRAME || w->kind == LIVE_LOCK_HOLD)
            continue; /* lie across the tree */
        close_until(&p, &open, v->start, task);
        if (open.n == 256)
            continue;
        event_at(&p, v->start, SLICE_BEGIN, thread_track(task));
        put_text(&p.event, E_NAME, w->name);
        finish_event(&p);
        open.end[open.n++] = v->start + v->duration;
    }
    close_until(&p, &open, UINT64_MAX, task);
    rt_out_release(&p.packet);
    rt_out_release(&p.event);
    rt_out_release(&p.inner);
}
