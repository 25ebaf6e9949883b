/* human.h - format numbers for people: 1.23 s, 12.3 MiB, 1,234.  Each result is a small struct:
 * printf("%s", human_ns(x).s).  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_HUMAN_H
#define FATHOM_TEXT_HUMAN_H

#include <stdint.h>

struct human {
    char s[40];
};

struct human human_ns(double ns);       /* 870 ns, 4.50 ms, 1.23 s, 3m05s, 2h04m */
struct human human_bytes(double bytes); /* 512 B, 12.3 MiB */
struct human human_count(int64_t n);    /* 1,234,567 */
struct human human_u64(uint64_t n);
struct human human_pct(double pct);     /* 0.12, 3.40, 100.00: two decimals, no percent sign */
/* VALUE in UNIT: "ns" and "bytes" as above, anything else as a count. */
struct human human_weight(double value, const char *unit);

#endif
