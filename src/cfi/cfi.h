/* cfi.h - build unwind tables from ELF files, and spaces and rule caches on the heap.
 *
 * The .eh_frame and .debug_frame of a module are compiled once, cached in a file by build id, and
 * used for every process that maps the module.  Tables contain no pointers, so that they can be
 * mapped from the cache, shared, or loaded elsewhere unchanged.  For the tool only: this code
 * allocates.  unwind/ walks over the result.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CFI_CFI_H
#define FATHOM_CFI_CFI_H

#include "base/err.h"
#include "unwind/unwind.h"

/* Compile the CFI of the ELF image IMAGE (whole file bytes, untrusted).  Returns NULL with *E set
 * when it is not an ELF file of a supported machine.  A file without CFI has an empty table. */
struct unw_table *cfi_table_build(const void *image, size_t size, struct err *e);
/* Return the table for the file open at FD, which the caller may close.  With a BUILD_ID, the
 * table is mapped from the cache directory, or built and stored there.  NULL as above. */
struct unw_table *cfi_table_open(int fd, const uint8_t *build_id, size_t build_id_size,
                                 struct err *e);
/* The table of the vDSO, which every process of a machine shares; NULL when there is none. */
struct unw_table *cfi_table_vdso(void);
void cfi_table_free(struct unw_table *t);
/* cfi_table_open defers the work to the first look-up; this does it now.  Needed where a
 * look-up may not allocate (signal handlers) and where threads share the table. */
void cfi_table_prepare(struct unw_table *t);

/* Whether the frame pointer at ADDRESS (file virtual) of T's code is the stack pointer + *OFFSET;
 * see cfi_frame.h.  Remembers the answers, and answers only so many questions. */
bool cfi_table_frame(const struct unw_table *t, uint64_t address, int32_t *offset);

struct cfi_table_info {
    enum unw_arch arch;
    uint64_t rows, rules, bytes; /* bytes: total, as in the cache file */
    uint64_t low, high;          /* address range covered */
    bool from_cache;
};
struct cfi_table_info cfi_table_info(struct unw_table *t); /* prepares T */

/* Spaces that grow. */
struct unw_space *cfi_space_new(enum unw_arch arch);
struct unw_space *cfi_space_copy(const struct unw_space *from); /* fork */
void cfi_space_free(struct unw_space *s);
/* Map [START, END), replacing older mappings.  Address ADDR there is virtual address ADDR - BIAS
 * in the file.  unw_space_find returns MODULE, the caller's number. */
void cfi_space_map(struct unw_space *s, uint64_t start, uint64_t end, uint64_t bias,
                   const struct unw_table *t, uint32_t module);
void cfi_space_unmap(struct unw_space *s, uint64_t start, uint64_t end);

struct unw_cache *cfi_cache_new(void);
void cfi_cache_free(struct unw_cache *c);

#endif
