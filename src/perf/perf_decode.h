/* perf_decode.h - the bytes of one record as fields, according to the event it belongs to.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_DECODE_H
#define FATHOM_PERF_PERF_DECODE_H

#include "base/cursor.h"
#include "perf/perf_record.h"

struct perf_raw { /* a record, undecoded */
    uint32_t type;
    uint16_t misc;
    struct cursor body;
    bool passing; /* the bytes are only valid for now: who keeps the record must copy them */
};

/* Take the record at the front of *C; false when it is not whole. */
bool perf_decode_header(struct cursor *c, struct perf_raw *raw);
/* False when it contradicts itself, or when its event is unknown. */
bool perf_decode(const struct perf_attrs *attrs, const struct perf_raw *raw,
                 struct perf_record *r);
/* Only its time; 0 when it has none. */
uint64_t perf_decode_time(const struct perf_attrs *attrs, const struct perf_raw *raw);

/* The user registers that the unwinder can use on this machine, for perf_event_attr. */
uint64_t perf_decode_regs_mask(void);

#endif
