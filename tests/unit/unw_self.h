/* unw_self.h - this process (or a copy of it) as an address space for unwinding tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_UNW_SELF_H
#define FATHOM_TESTS_UNW_SELF_H

#include "base/buf.h"
#include "cfi/cfi.h"

#ifdef __SANITIZE_ADDRESS__
#define UNW_SELF_SANITIZED
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define UNW_SELF_SANITIZED
#endif
#endif

/* Every executable mapping of this process, the vDSO included.  Tables are never freed. */
struct unw_space *unw_self_space(void);
uint64_t unw_self_stack_top(void); /* of the main thread */
/* The path of workload NAME, or NULL if it was not built. */
const char *unw_self_workload(const char *name);

/* An ELF file for MACHINE with one executable segment, 0x1000 to 0x2000, and one section NAME
 * of FLAGS, at address 0x5000. */
struct buf unw_self_elf(int machine, const char *name, uint64_t flags, const struct buf *bytes);

#endif
