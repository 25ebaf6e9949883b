/* region.c - see region.h.  SPDX-License-Identifier: Apache-2.0 */
#include "region/region.h"

#include <stdlib.h>

#include "base/mem.h"
#include "zones/zone_write.h"

struct import {
    struct zone_consumer consumer; /* first: the callbacks cast */
    struct region_zones *z;
    const struct live_header *h;
};

static struct import *import_of(struct zone_consumer *t)
{
    return (struct import *)t;
}

static uint32_t string_id(struct zone_consumer *t, const char *text)
{
    return intern_cstr(import_of(t)->z->in, text);
}

static uint32_t metric_id(struct zone_consumer *t)
{
    struct region_zones *z = import_of(t)->z;
    struct intern *in = z->in;

    if (!z->metric)
        z->metric = intern_metric(in, &(struct metric){
            .name = intern_cstr(in, ZONE_METRIC_NAME), .unit = intern_cstr(in, ZONE_METRIC_UNIT),
            .about = intern_cstr(in, ZONE_METRIC_ABOUT), .flags = ZONE_METRIC_FLAGS });
    return z->metric;
}

static uint32_t process_id(struct zone_consumer *t)
{
    struct import *m = import_of(t);

    return m->z->process(m->z, m->h);
}

static uint32_t thread_id(struct zone_consumer *t, uint32_t tid, const char *name)
{
    struct import *m = import_of(t);

    return m->z->thread(m->z, m->h, tid, name);
}

static uint32_t tag_id(struct zone_consumer *t, uint32_t parent, const char *key, const char *text,
                       uint64_t number)
{
    struct intern *in = import_of(t)->z->in;

    return text ? intern_tag(in, parent, key, text)
                : intern_tag_number(in, parent, key, (int64_t)number, NULL);
}

static uint32_t stack_id(struct zone_consumer *t, uint32_t parent, const struct zone_row *w)
{
    struct intern *in = import_of(t)->z->in;
    uint32_t function = intern_function(in, &(struct function){
        .name = intern_cstr(in, w->name), .file = intern_cstr(in, w->file), .line = w->line });

    return intern_stack(in, parent, intern_named_frame(in, FRAME_ZONE, function, w->line));
}

int region_import(struct region_zones *z, const void *data, size_t size, struct err *e)
{
    struct zone_rows r;
    struct import m = { { z->in->out, string_id, metric_id, process_id, thread_id, tag_id,
                          stack_id }, z, &r.view.head };
    uint32_t *room;

    if (zone_rows_read(&r, data, size, false) < 0)
        return err_set(e, ERR_FORMAT, "zones: %s", r.view.why);
    room = mem_zalloc((zone_write_room(&r) + 1) * sizeof *room);
    zone_write(&r, &m.consumer, room);
    free(room);
    z->regions++;
    z->overhead_ns += (uint64_t)r.overhead_ns;
    for (int c = 0; c < FATHOM_LOST_CAUSES; c++)
        z->dropped += r.lost[c];
    zone_rows_free(&r);
    return 0;
}
