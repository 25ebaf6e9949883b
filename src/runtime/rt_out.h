/* rt_out.h - build text and bytes inside the program, in one mapping that grows or is written to a
 * file as it fills.  Errors are sticky.  Initialize with {0}.
 *
 * Text is cleaned before it leaves (as by text/out.h in the tool): the labels of a program may come
 * from its input.
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
    size_t clean; /* bytes of data that are clean */
    bool failed, is_open;
    bool is_binary; /* do not clean */
    struct save save; /* destination, when is_open */
};

void rt_out_add(struct rt_out *o, const void *data, size_t n);
void rt_out_str(struct rt_out *o, const char *s);
void rt_out_printf(struct rt_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rt_out_json(struct rt_out *o, const char *s); /* with quotes */
void rt_out_number(struct rt_out *o, double x);    /* in JSON syntax */
void rt_out_csv(struct rt_out *o, const char *s);  /* quoted if necessary */
void rt_out_name(struct rt_out *o, const char *s); /* on one line */
void rt_out_clean(struct rt_out *o); /* before reading data */
void rt_out_release(struct rt_out *o);
/* Write to PATH (base/save.h) as the mapping fills.  Returns 0 or FATHOM_E_*. */
int rt_out_open(struct rt_out *o, const char *path, mode_t mode);
/* Rename the file into place, or discard it when not GOOD.  Returns 0 or FATHOM_E_*. */
int rt_out_save(struct rt_out *o, bool good);

#endif
