/* unw_build.h - hand-made unwind tables for tests.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_UNW_BUILD_H
#define FATHOM_TESTS_UNW_BUILD_H

#include "unwind/unw_table.h"

enum { UNW_BUILD_RULES = 16 };

/* The only table of a test, with one page from LOW on; rule I + 1 applies from AT[I] on. */
static inline struct unw_table unw_build_table(uint64_t low, const struct unw_rule *rules,
                                               const uint16_t *at, size_t n)
{
    static uint32_t pages[2];
    static struct unw_header header;
    static struct unw_rule all[UNW_BUILD_RULES + 1];
    static struct unw_row rows[UNW_BUILD_RULES];

    for (size_t i = 0; i < n; i++) {
        all[i + 1] = rules[i];
        rows[i] = (struct unw_row){ at[i], (uint16_t)(i + 1) };
    }
    pages[1] = (uint32_t)n;
    header = (struct unw_header){ .n_rules = (uint32_t)n + 1, .n_pages = 1, .n_rows = (uint32_t)n,
                                  .low = low };
    return (struct unw_table){ .body = { &header, all, pages, rows, 0, false } };
}

#endif
