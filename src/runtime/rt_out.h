/* rt_out.h - build text and bytes inside the program, in one mapping that grows or is written to a
 * file as it fills.  Errors are sticky.  Initialize with {0}.
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
    struct save save; /* destination, when is_open */
};

void rt_out_add(struct rt_out *o, const void *data, size_t n);
void rt_out_str(struct rt_out *o, const char *s);
void rt_out_printf(struct rt_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rt_out_json(struct rt_out *o, const char *s); /* with quotes */
void rt_out_number(struct rt_out *o, double x);    /* in JSON syntax */
void rt_out_csv(struct rt_out *o, const char *s);  /* quoted if necessary */
void rt_out_release(struct rt_out *o);
/* Write to PATH (base/save.h) as the mapping fills.  Returns 0 or FATHOM_E_*. */
int rt_out_open(struct rt_out *o, const char *path, mode_t mode);
/* Rename the file into place, or discard it when not GOOD.  Returns 0 or FATHOM_E_*. */
int rt_out_save(struct rt_out *o, bool good);

#endif
