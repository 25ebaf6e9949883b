/* perf_decode.h - decode the bytes of one record into fields, according to its event.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PERF_PERF_DECODE_H
#define FATHOM_PERF_PERF_DECODE_H

#include "base/cursor.h"
#include "perf/perf_record.h"

struct perf_raw { /* an undecoded record */
    uint32_t type;
    uint16_t misc;
    struct cursor body;
    bool passing; /* the bytes are valid only during the call: copy them to keep the record */
};

/* Read the record at the front of *C; false when it is incomplete. */
bool perf_decode_header(struct cursor *c, struct perf_raw *raw);
/* Decode a record.  Returns false when it is invalid or its event is unknown. */
bool perf_decode(const struct perf_attrs *attrs, const struct perf_raw *raw,
                 struct perf_record *r);
/* Decode only the time; 0 when it has none. */
uint64_t perf_decode_time(const struct perf_attrs *attrs, const struct perf_raw *raw);

/* User registers that the unwinder uses on this machine, for perf_event_attr. */
uint64_t perf_decode_regs_mask(void);

#endif
