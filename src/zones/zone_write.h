/* zone_write.h - write the contents of a region to a sink: rows as exact samples of each thread,
 * trace records as spans, gauges, counters and pools as counters.
 *
 * Context, backend and label are tags.  Instants and flow events are spans without a duration; the
 * number of a flow is a tag.  The consumer assigns ids and defines things when their ids are first
 * requested.  No malloc: this runs inside profiled programs and in the tool.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ZONES_ZONE_WRITE_H
#define FATHOM_ZONES_ZONE_WRITE_H

#include "profile/sink.h"
#include "zones/zone_rows.h"

struct zone_consumer {
    struct sink *out;
    uint32_t (*string)(struct zone_consumer *t, const char *text); /* 0 for "" */
    uint32_t (*metric)(struct zone_consumer *t);                   /* called once */
    uint32_t (*process)(struct zone_consumer *t);                  /* likewise */
    /* TID 0: ended threads of one name, merged. */
    uint32_t (*thread)(struct zone_consumer *t, uint32_t tid, const char *name);
    /* The set PARENT plus one pair.  If TEXT is NULL the value is NUMBER. */
    uint32_t (*tag)(struct zone_consumer *t, uint32_t parent, const char *key, const char *text,
                    uint64_t number);
    /* W called from PARENT; 0 = no caller. */
    uint32_t (*stack)(struct zone_consumer *t, uint32_t parent, const struct zone_row *w);
};

/* ROOM has zone_write_room() words, all zero. */
size_t zone_write_room(const struct zone_rows *r);
void zone_write(const struct zone_rows *r, struct zone_consumer *t, uint32_t *room);

/* The second name of a span after its zone: the backend, else the label. */
const char *zone_row_detail(const struct zone_row *w);

/* The tags of a row; a text is "" when the row has no such tag. */
struct zone_tag {
    const char *key, *text;
};
enum { ZONE_TAGS = 3 };
void zone_row_tags(const struct zone_rows *r, uint32_t row, struct zone_tag out[ZONE_TAGS]);

#define ZONE_METRIC_NAME "zones"
#define ZONE_METRIC_UNIT "ns"
#define ZONE_METRIC_FLAGS (METRIC_EXACT | METRIC_WHOLE)
#define ZONE_METRIC_ABOUT "time in the zones of the program, exact"

#endif
