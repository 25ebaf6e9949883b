/* col_cgroup.h - find a control group for --cgroup.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_CGROUP_H
#define FATHOM_COLLECT_COL_CGROUP_H

#include "base/err.h"

/* Open the directory of the cgroup PATH, absolute or relative to where cgroups are mounted. */
int col_cgroup_open(const char *path, struct err *e);

#endif
