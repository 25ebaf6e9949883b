/* unwind.h - compute return addresses from registers and stack bytes.
 *
 * No code in this directory allocates, takes a lock, prints or ends the process, and unw_walk
 * reads only the caller's stack bytes: with loaded tables it is async-signal-safe.  The caller
 * provides all memory.  cfi/ builds tables from ELF files and provides spaces and caches on the
 * heap.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_UNWIND_UNWIND_H
#define FATHOM_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unw_arch { UNW_X86_64, UNW_AARCH64 };

/* Compiled unwind rules of one ELF file (unw_table.h); addresses are the file's own virtual
 * addresses. */
struct unw_table;

/* The mappings of a process: executable ranges, each with a table.  Without one the code was
 * generated at run time, and frame pointers are followed; a file that cannot be read has the table
 * unw_table_empty.  The caller owns the tables, which outlive the spaces that use them. */
struct unw_range {
    uint64_t start, end, bias; /* ADDR there is virtual address ADDR - BIAS in the file */
    const struct unw_table *table;
    uint32_t module; /* the caller's number */
};

struct unw_space {
    const struct unw_machine *machine;
    uint32_t generation; /* changes when cached rules become invalid */
    struct unw_range *range; /* sorted, disjoint */
    size_t n, cap;
};

enum { UNW_SPACE_ROOM = 2 }; /* ranges that one mapping may add */

/* Create an empty space with room for CAP ranges at RANGES; both may be replaced by larger ones
 * later. */
void unw_space_init(struct unw_space *s, enum unw_arch arch, struct unw_range *ranges, size_t cap);
/* Map R, replacing older mappings, or unmap [START, END).  Returns false, with nothing changed,
 * when fewer than UNW_SPACE_ROOM ranges are free. */
bool unw_space_map(struct unw_space *s, struct unw_range r);
bool unw_space_unmap(struct unw_space *s, uint64_t start, uint64_t end);
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
    UNW_BARE,      /* the last frame's code has no unwind information */
    UNW_LOST,      /* the rule of the last frame led nowhere */
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

/* Address-keyed rule cache, shared by any number of spaces; one thread at a time. */
struct unw_cache;
size_t unw_cache_bytes(void);
/* Create a cache in unw_cache_bytes() of zeroed MEMORY, which the caller frees. */
struct unw_cache *unw_cache_init(void *memory);
const struct unw_walk_stats *unw_cache_stats(const struct unw_cache *c);

/* Walk from REGS.  Fills at most CAP frames, leaf first, and sets *N.  CACHE may be NULL. */
enum unw_end unw_walk(const struct unw_space *s, struct unw_cache *cache, struct unw_regs regs,
                      const struct unw_stack *stack, struct unw_frame *frames, size_t cap,
                      size_t *n);

/* Whether PC can be a return address: it lies behind a call instruction in mapped code, or in code
 * that is entered otherwise (a signal frame, an outermost function).  Where the bytes of the code
 * are not available (code generated at run time), being mapped is enough. */
bool unw_is_return(const struct unw_space *s, uint64_t pc);
/* Whether at ADDRESS the frame pointer holds the frame of the function there, so that a chain of
 * frame pointers does not skip its caller. */
bool unw_keeps_frame(const struct unw_space *s, uint64_t address);

#endif
