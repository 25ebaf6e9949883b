/* fmt_perfetto.c - export to Perfetto's trace protobuf: tracks, calls and counters as track
 * events.  A name is written in full in its first event and by number afterwards.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/hash.h"
#include "formats/formats.h"
#include "formats/protobuf.h"
#include "formats/tags.h"
#include "formats/trace.h"
#include "profile/intern.h"

enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
    INTERNED_NAME = 2,
    NAME_ID = 1,
    NAME_TEXT = 2,
    EVENT_ANNOTATION = 4,
    ANNOTATION_INT = 4,
    ANNOTATION_TEXT = 6,
    ANNOTATION_NAME = 10,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER_DOUBLE = 44,
    EVENT_FLOW = 47,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    SLICE_BEGIN = 1,
    SLICE_END = 2,
    INSTANT = 3,
    COUNTER = 4,
    SEQUENCE = 1, /* there is one writer */
    FLAG_CLEARED = 1, /* numbers of names restart here */
    FLAG_NEEDED = 2,
};

struct writer {
    struct trace_writer trace; /* first: the callbacks cast */
    struct out *out;
    struct buf b;
    uint64_t next_uuid, track;
    struct intern names;
    struct sink nowhere;
    bool begun; /* the packet that clears the names is written */
    struct umap process_of, counter_of; /* -> uuid */
    VEC(uint64_t) open; /* ends of the open calls, outermost first */
};

static struct writer *writer_of(struct trace_writer *w)
{
    return (struct writer *)w;
}

static void flush(struct writer *w)
{
    out_add(w->out, w->b.data, w->b.n);
    w->b.n = 0;
}

/* The number of NAME; defined in the current packet when it is new. */
static uint64_t name_id(struct writer *w, const char *name)
{
    size_t known = w->names.string.n, interned, entry;
    uint64_t id = intern_string(&w->names, name, strlen(name));

    if (id > known) {
        interned = pb_begin(&w->b, PACKET_INTERNED);
        entry = pb_begin(&w->b, INTERNED_NAME);
        pb_u64(&w->b, NAME_ID, id);
        pb_text(&w->b, NAME_TEXT, name, strlen(name));
        pb_end(&w->b, entry);
        pb_end(&w->b, interned);
    }
    return id;
}

static void put_annotations(struct writer *w, uint32_t set)
{
    const struct profile *p = w->trace.p;
    const struct tag *v[TAGS_MOST];
    size_t n = tags_of(p, set, v);

    while (n--) {
        size_t at = pb_begin(&w->b, EVENT_ANNOTATION);
        const char *key = profile_string(p, v[n]->key), *text = profile_string(p, v[n]->text);

        pb_text(&w->b, ANNOTATION_NAME, key, strlen(key));
        if (v[n]->text)
            pb_text(&w->b, ANNOTATION_TEXT, text, strlen(text));
        else
            pb_u64(&w->b, ANNOTATION_INT, (uint64_t)v[n]->value);
        pb_end(&w->b, at);
    }
}

struct event {
    uint64_t type, time;
    const char *name;    /* NULL for the end of a call */
    uint32_t tags;
    const int64_t *flow; /* NULL unless work is passed to another thread here */
};

/* Write an event on the current track. */
static void put_event(struct writer *w, const struct event *e)
{
    size_t packet = pb_begin(&w->b, TRACE_PACKET), event;
    uint64_t id = e->name ? name_id(w, e->name) : 0;

    pb_u64(&w->b, PACKET_TIMESTAMP, e->time);
    pb_u64(&w->b, PACKET_SEQUENCE, SEQUENCE);
    pb_u64(&w->b, PACKET_FLAGS, w->begun ? FLAG_NEEDED : FLAG_CLEARED | FLAG_NEEDED);
    w->begun = true;
    event = pb_begin(&w->b, PACKET_EVENT);
    pb_u64(&w->b, EVENT_TYPE, e->type);
    pb_u64(&w->b, EVENT_TRACK, w->track);
    pb_opt_u64(&w->b, EVENT_NAME_ID, id);
    put_annotations(w, e->tags);
    if (e->flow) {
        pb_tag(&w->b, EVENT_FLOW, PB_FIXED64);
        buf_u64(&w->b, (uint64_t)*e->flow);
    }
    pb_end(&w->b, event);
    pb_end(&w->b, packet);
    flush(w);
}

/* End the calls that have ended by TIME. */
static void end_until(struct writer *w, uint64_t time)
{
    while (w->open.n && w->open.v[w->open.n - 1] <= time)
        put_event(w, &(struct event){ .type = SLICE_END, .time = w->open.v[--w->open.n] });
}

static uint64_t process_track(struct writer *w, const struct trace_track *t)
{
    uint64_t uuid = umap_find(&w->process_of, (uint64_t)t->pid);
    size_t packet, track, process;

    if (uuid)
        return uuid;
    uuid = ++w->next_uuid;
    umap_put(&w->process_of, (uint64_t)t->pid, (uint32_t)uuid);
    packet = pb_begin(&w->b, TRACE_PACKET);
    pb_u64(&w->b, PACKET_SEQUENCE, SEQUENCE);
    track = pb_begin(&w->b, PACKET_TRACK);
    pb_u64(&w->b, TRACK_UUID, uuid);
    process = pb_begin(&w->b, TRACK_PROCESS);
    pb_u64(&w->b, PROCESS_PID, (uint64_t)t->pid);
    pb_text(&w->b, PROCESS_NAME, t->process, strlen(t->process));
    pb_end(&w->b, process);
    pb_end(&w->b, track);
    pb_end(&w->b, packet);
    return uuid;
}

static void put_track(struct trace_writer *trace, const struct trace_track *t)
{
    struct writer *w = writer_of(trace);
    uint64_t parent;
    size_t packet, track, thread;

    end_until(w, UINT64_MAX);
    parent = process_track(w, t);
    w->track = ++w->next_uuid;
    packet = pb_begin(&w->b, TRACE_PACKET);
    pb_u64(&w->b, PACKET_SEQUENCE, SEQUENCE);
    track = pb_begin(&w->b, PACKET_TRACK);
    pb_u64(&w->b, TRACK_UUID, w->track);
    pb_u64(&w->b, TRACK_PARENT, parent);
    thread = pb_begin(&w->b, TRACK_THREAD);
    pb_u64(&w->b, THREAD_PID, (uint64_t)t->pid);
    pb_u64(&w->b, THREAD_TID, (uint64_t)t->tid);
    pb_text(&w->b, THREAD_NAME, t->name, strlen(t->name));
    pb_end(&w->b, thread);
    pb_end(&w->b, track);
    pb_end(&w->b, packet);
    flush(w);
}

static void put_call(struct trace_writer *trace, const struct trace_call *c)
{
    struct writer *w = writer_of(trace);
    uint64_t end = c->start_ns + c->duration_ns;

    end_until(w, c->start_ns);
    if (c->flow) {
        put_event(w, &(struct event){ INSTANT, c->start_ns, c->name, c->tags, c->flow });
        return;
    }
    if (w->open.n && end > w->open.v[w->open.n - 1])
        end = w->open.v[w->open.n - 1]; /* calls on a track must nest */
    put_event(w, &(struct event){ SLICE_BEGIN, c->start_ns, c->name, c->tags, NULL });
    vec_push(&w->open, end);
}

static uint64_t counter_track(struct writer *w, int64_t pid, const struct counter *c)
{
    uint64_t key = hash_pair(hash_pair((uint64_t)pid, c->name), c->tags);
    uint64_t uuid = umap_find(&w->counter_of, key);
    uint64_t parent = pid ? umap_find(&w->process_of, (uint64_t)pid) : 0;
    size_t packet, track, counter;
    char *name;

    if (uuid)
        return uuid;
    name = tags_counter_name(w->trace.p, c);
    uuid = ++w->next_uuid;
    umap_put(&w->counter_of, key, (uint32_t)uuid);
    packet = pb_begin(&w->b, TRACE_PACKET);
    pb_u64(&w->b, PACKET_SEQUENCE, SEQUENCE);
    track = pb_begin(&w->b, PACKET_TRACK);
    pb_u64(&w->b, TRACK_UUID, uuid);
    pb_opt_u64(&w->b, TRACK_PARENT, parent);
    pb_text(&w->b, TRACK_NAME, name, strlen(name));
    counter = pb_begin(&w->b, TRACK_COUNTER);
    pb_end(&w->b, counter);
    pb_end(&w->b, track);
    pb_end(&w->b, packet);
    free(name);
    return uuid;
}

static void put_counter(struct trace_writer *trace, int64_t pid, const struct counter *c)
{
    struct writer *w = writer_of(trace);
    uint64_t uuid = counter_track(w, pid, c);
    size_t packet = pb_begin(&w->b, TRACE_PACKET), event;

    pb_u64(&w->b, PACKET_TIMESTAMP, c->time_ns);
    pb_u64(&w->b, PACKET_SEQUENCE, SEQUENCE);
    event = pb_begin(&w->b, PACKET_EVENT);
    pb_u64(&w->b, EVENT_TYPE, COUNTER);
    pb_u64(&w->b, EVENT_TRACK, uuid);
    put_annotations(w, c->tags);
    pb_double(&w->b, EVENT_COUNTER_DOUBLE, c->value);
    pb_end(&w->b, event);
    pb_end(&w->b, packet);
    flush(w);
}

static int perfetto_write(const struct an_view *v, const struct export_options *o, struct out *out,
                          struct err *e)
{
    const struct profile *p = v->profile;
    struct writer w = { .trace = { put_track, put_call, put_counter, p, out }, .out = out };
    int rc;

    intern_init(&w.names, &w.nowhere);
    rc = trace_write(&w.trace, v, e);
    end_until(&w, UINT64_MAX);
    flush(&w);
    buf_release(&w.b);
    umap_release(&w.process_of);
    umap_release(&w.counter_of);
    vec_release(&w.open);
    intern_release(&w.names);
    return rc;
}

const struct format format_perfetto = {
    .name = "perfetto",
    .extension = ".perfetto-trace",
    .about = "Perfetto's trace protobuf",
    .view = AN_VIEW_BOTH,
    .has_spans = true,
    .is_binary = true,
    .write = perfetto_write,
};
