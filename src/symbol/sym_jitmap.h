/* sym_jitmap.h - parse perf-PID.map files of JIT compilers, and locate them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_SYMBOL_SYM_JITMAP_H
#define FATHOM_SYMBOL_SYM_JITMAP_H

#include "base/map.h"
#include "symbol/sym_table.h"
#include "symbol/symbolizer.h"

struct sym_jitmap_code {
    uint64_t start, end;
    const char *name; /* in the text, NAME_SIZE bytes */
    size_t name_size;
};
struct sym_jitmap_list {
    VEC(struct sym_jitmap_code) code;
};
/* Read the lines "START SIZE NAME" of TEXT (untrusted). */
void sym_jitmap_parse(struct sym_jitmap_list *list, const char *text, size_t size);
/* Whether M is code generated at run time. */
bool sym_jitmap_is_jit(const struct sym_module *m);
/* The pid in the process's own pid namespace; its pid in ours when it has ended. */
int64_t sym_jitmap_ns_pid(const struct sym_module *m);
/* The pid of the process that M's code belongs to, from the request or from a path
 * .../perf-PID.map; or 0. */
int64_t sym_jitmap_pid(const struct sym_module *m);
/* Copy FD, because the target may truncate the file, and close it.  Holes take no memory.  False
 * after sym_module_set_problem. */
bool sym_jitmap_read(struct sym_module *m, int fd, struct map *text);

#endif
