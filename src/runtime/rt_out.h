/* rt_out.h - text and bytes being put together inside the program: one mapping that grows, or
 * is written out as it fills.  Sticky on failure.  Start from {0}.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_OUT_H
#define FATHOM_RUNTIME_RT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/save.h"

struct rt_out {
    char *data;
    size_t n, cap;
    bool failed, is_open;
    struct save save; /* where to, when is_open */
};

void rt_out_add(struct rt_out *o, const void *data, size_t n);
void rt_out_str(struct rt_out *o, const char *s);
void rt_out_printf(struct rt_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rt_out_json(struct rt_out *o, const char *s); /* with its quotes */
void rt_out_number(struct rt_out *o, double x);    /* as JSON takes it */
void rt_out_csv(struct rt_out *o, const char *s);  /* quoted when it must be */
void rt_out_release(struct rt_out *o);
/* Write to PATH (base/save.h) as the mapping fills.  0 or FATHOM_E_*. */
int rt_out_open(struct rt_out *o, const char *path, mode_t mode);
/* Put the file in place, or when not GOOD discard it.  0 or FATHOM_E_*. */
int rt_out_save(struct rt_out *o, const char *path, bool good);

#endif
