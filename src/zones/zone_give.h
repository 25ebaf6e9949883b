/* zone_give.h - what a region holds, handed to a sink: rows as exact samples of each thread,
 * trace records as spans, gauges, counters and pools as counters.
 *
 * Context, backend and label are tags.  Instants are spans without a duration, and so are flow
 * events, with their number as a tag.  Ids belong to the taker, which defines things as they are
 * asked for.  No malloc: runs inside profiled programs and in the
 * tool.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_ZONES_ZONE_GIVE_H
#define FATHOM_ZONES_ZONE_GIVE_H

#include "profile/sink.h"
#include "zones/zone_rows.h"

struct zone_taker {
    struct sink *out;
    uint32_t (*string)(struct zone_taker *t, const char *text); /* 0 for "" */
    uint32_t (*metric)(struct zone_taker *t);                   /* asked for once */
    uint32_t (*process)(struct zone_taker *t);                  /* likewise */
    /* TID 0: ended threads of one name, added up. */
    uint32_t (*thread)(struct zone_taker *t, uint32_t tid, const char *name);
    /* The set PARENT with one more pair; TEXT NULL: the value is NUMBER. */
    uint32_t (*tag)(struct zone_taker *t, uint32_t parent, const char *key, const char *text,
                    uint64_t number);
    /* W called from PARENT, 0 = from nowhere. */
    uint32_t (*stack)(struct zone_taker *t, uint32_t parent, const struct zone_row *w);
};

/* ROOM is zone_give_room() zeroed words. */
size_t zone_give_room(const struct zone_rows *r);
void zone_give(const struct zone_rows *r, struct zone_taker *t, uint32_t *room);

/* What names a span besides its zone: the backend, or where there is none the label. */
const char *zone_row_detail(const struct zone_row *w);

#define ZONE_METRIC_NAME "zones"
#define ZONE_METRIC_UNIT "ns"
#define ZONE_METRIC_ABOUT "time of zones marked in the program, measured in full"

#endif
