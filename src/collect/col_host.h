/* col_host.h - the running processes of this machine, for the perf engine.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_HOST_H
#define FATHOM_COLLECT_COL_HOST_H

#include "perf/perf_host.h"

extern const struct perf_host col_host;

#endif
