/* unw_space.h - an address space as the walk sees it.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_UNWIND_UNW_SPACE_H
#define FATHOM_UNWIND_UNW_SPACE_H

#include "base/mem.h"
#include "unwind/unw_machine.h"

struct unw_space {
    const struct unw_machine *machine;
    uint32_t generation; /* changes when a cached rule could have become wrong */
    VEC(struct unw_range) ranges; /* sorted, disjoint */
};

#endif
