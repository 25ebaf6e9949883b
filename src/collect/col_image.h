/* col_image.h - the code and the stacks of a running process, looked at once: its mappings, the
 * files behind its code, their unwind tables and function symbols.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_IMAGE_H
#define FATHOM_COLLECT_COL_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "base/mem.h"
#include "unwind/unwind.h"

struct col_area { /* a line of its maps */
    uint64_t start, end, file_offset;
    char prot[5];
    char *path;
};

struct col_object { /* a file with code */
    char *path;
    int fd;
    struct elf_file elf;
    uint64_t start, end; /* of its code */
    uint64_t bias;
    struct unw_table *table;
};

struct col_image {
    int64_t pid;
    VEC(struct col_area) area;
    VEC(struct col_object) object;
    struct unw_space *space; /* modules are indexes in object + 1; 0: no file */
    struct unw_cache *rules;
    struct unw_table *vdso;
};

/* Read the mappings of PID and open its files.  Returns false if that is refused. */
bool col_image_open(struct col_image *m, int64_t pid);
void col_image_release(struct col_image *m);
const struct col_area *col_image_area(const struct col_image *m, uint64_t address); /* or NULL */

/* The object whose file name begins with NAME; NULL: none. */
struct col_object *col_image_object(struct col_image *m, const char *name);
/* Address of the function NAME that O exports; 0: none. */
uint64_t col_image_function(struct col_object *o, const char *name);
/* Call EACH for the function symbols of O, exported or not; addresses are those of the process. */
void col_image_functions(struct col_object *o,
                         void (*each)(void *with, const char *name, uint64_t start, uint64_t end),
                         void *with);
/* Whether threads have, by their guards, stacks of less than 64 KB. */
bool col_image_small_stacks(const struct col_image *m);

#endif
