/* unw_self.h - for tests: this process (or a copy of it) as an address space to unwind.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_UNW_SELF_H
#define FATHOM_TESTS_UNW_SELF_H

#include "unwind/unwind.h"

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

#endif
