/* bench_lttng.h - tracepoints of LTTng-UST, the peer.  LTTng's macros include this file again.
 * SPDX-License-Identifier: Apache-2.0 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER fathom_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench_lttng.h"

#if !defined(FATHOM_BENCH_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define FATHOM_BENCH_LTTNG_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(fathom_bench, begin, LTTNG_UST_TP_ARGS(int, i),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(fathom_bench, end, LTTNG_UST_TP_ARGS(int, i),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))

#endif
#include <lttng/tracepoint-event.h>
