/* unwind.h - from registers and stack bytes to return addresses.
 *
 * A module's .eh_frame/.debug_frame is compiled once (unw_table_*), kept in a cache file by
 * build id, and used for every process that maps the module.  The tables hold no pointers, so
 * that they can be mapped from the cache, shared, or loaded elsewhere unchanged.
 *
 * unw_walk allocates nothing, takes no lock and reads only the caller's stack bytes: over
 * prepared tables it is async-signal-safe.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_UNWIND_UNWIND_H
#define FATHOM_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum unw_arch { UNW_X86_64, UNW_AARCH64 };

/* Compiled unwind rules of one ELF file; addresses are the file's own virtual addresses. */
struct unw_table;

/* Compile the CFI of the ELF image IMAGE (whole file bytes, untrusted).  NULL with *E set when
 * it is not an ELF file of a known machine; a file without CFI gives an empty table. */
struct unw_table *unw_table_build(const void *image, size_t size, struct err *e);
/* The table for the file open at FD (which the caller may close), through the cache folder when
 * BUILD_ID is given: mapped if it is there, else built and stored.  NULL as above. */
struct unw_table *unw_table_open(int fd, const uint8_t *build_id, size_t build_id_size,
                                 struct err *e);
/* The table of the vDSO, which every process of a machine shares; NULL when there is none. */
struct unw_table *unw_table_vdso(void);
void unw_table_free(struct unw_table *t);
/* unw_table_open puts the work off until the first look-up; this does it now.  Needed only
 * where a look-up may not allocate (signal handlers) or where threads share the table. */
void unw_table_prepare(const struct unw_table *t);

struct unw_table_info {
    enum unw_arch arch;
    uint64_t rows, rules, bytes; /* bytes: of all there is, as in the cache file */
    uint64_t low, high;          /* address range covered */
    bool from_cache;
};
struct unw_table_info unw_table_info(const struct unw_table *t); /* prepares T */

/* *BIAS for unw_space_map when the file's bytes from FILE_OFFSET are mapped at START; false when
 * no executable segment of the file lies there. */
bool unw_table_bias(const struct unw_table *t, uint64_t start, uint64_t file_offset,
                    uint64_t *bias);

/* What a process has mapped: executable ranges, each with a table (may be NULL).  Tables are
 * the caller's and must outlive the spaces that name them. */
struct unw_space;
struct unw_space *unw_space_new(enum unw_arch arch);
struct unw_space *unw_space_copy(const struct unw_space *from); /* fork */
void unw_space_free(struct unw_space *s);
/* Map [START, END); address ADDR there is virtual address ADDR - BIAS in the file.  MODULE is
 * the caller's number, given back by unw_space_find.  Replaces what was mapped there. */
void unw_space_map(struct unw_space *s, uint64_t start, uint64_t end, uint64_t bias,
                   const struct unw_table *t, uint32_t module);
void unw_space_unmap(struct unw_space *s, uint64_t start, uint64_t end);

struct unw_range {
    uint64_t start, end, bias;
    const struct unw_table *table;
    uint32_t module;
};
const struct unw_range *unw_space_find(const struct unw_space *s, uint64_t address);

struct unw_regs {
    uint64_t pc, sp, fp;
    uint64_t lr;      /* aarch64 only */
    uint64_t bx, r10; /* x86_64 only; 0 = not known.  glibc's lazy binding and functions that
                         realign their stack cannot be unwound without them */
};

/* Stack bytes copied at SP: [base, base + size). */
struct unw_stack {
    uint64_t base;
    const unsigned char *data;
    size_t size;
};

enum unw_end {
    UNW_ROOT,      /* reached the outermost frame */
    UNW_CUT,       /* needed bytes beyond the copied stack */
    UNW_LOST,      /* no rule and no plausible frame pointer */
    UNW_FULL,      /* more frames than asked for */
};

struct unw_frame {
    uint64_t pc;    /* as executed; for callers the return address */
    uint64_t sp;    /* of that frame, once its callee has returned (the callee's CFA): two
                       stacks of one thread with a frame of equal (pc, sp) share its callers */
    bool is_return; /* look up pc - 1 */
};

struct unw_walk_stats {
    uint64_t frames, cache_hits, by_rule, by_fp, by_guess;
};

/* Address-keyed rule cache shared by all spaces of one recorder; not thread-safe. */
struct unw_cache;
struct unw_cache *unw_cache_new(void);
void unw_cache_free(struct unw_cache *c);
const struct unw_walk_stats *unw_cache_stats(const struct unw_cache *c);

/* Walk from REGS.  Fills at most CAP frames, leaf first, *N of them.  CACHE may be NULL. */
enum unw_end unw_walk(const struct unw_space *s, struct unw_cache *cache, struct unw_regs regs,
                      const struct unw_stack *stack, struct unw_frame *frames, size_t cap,
                      size_t *n);

#endif
