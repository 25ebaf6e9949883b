/* human.c - see human.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/human.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/sat.h"

/* Three significant digits. */
static struct human scaled(double x, const char *unit)
{
    struct human h;
    int decimals = fabs(x) < 9.995 ? 2 : fabs(x) < 99.95 ? 1 : 0;

    snprintf(h.s, sizeof h.s, "%.*f%s", decimals, x, unit);
    return h;
}

static struct human long_time(double s)
{
    struct human h;
    int64_t whole = (int64_t)(s + 0.5);

    if (whole < 3600)
        snprintf(h.s, sizeof h.s, "%" PRId64 "m%02ds", whole / 60, (int)(whole % 60));
    else
        snprintf(h.s, sizeof h.s, "%" PRId64 "h%02dm", whole / 3600, (int)(whole / 60 % 60));
    return h;
}

struct human human_ns(double ns)
{
    double size = fabs(ns);

    if (!isfinite(ns))
        return (struct human){ "-" };
    if (size < 0.5e-9)
        return (struct human){ "0 s" };
    if (size < 999.5)
        return scaled(ns, " ns");
    if (size < 999.5e3)
        return scaled(ns / 1e3, " us");
    if (size < 999.5e6)
        return scaled(ns / 1e6, " ms");
    if (size < 120e9 || ns < 0 || ns > 9e18)
        return scaled(ns / 1e9, " s");
    return long_time(ns / 1e9);
}

struct human human_bytes(double bytes)
{
    static const char *const units[] = { " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
    struct human h;
    size_t i = 0;

    if (fabs(bytes) < 1023.5) {
        snprintf(h.s, sizeof h.s, "%.0f B", bytes);
        return h;
    }
    for (bytes /= 1024; fabs(bytes) >= 1023.5 && i + 1 < sizeof units / sizeof *units; i++)
        bytes /= 1024;
    return scaled(bytes, units[i]);
}

/* Digits of N in groups of three, with a minus sign if negative. */
static struct human grouped(uint64_t n, bool negative)
{
    char digits[24];
    struct human h;
    size_t len, out = 0;

    snprintf(digits, sizeof digits, "%" PRIu64, n);
    len = strlen(digits);
    if (negative)
        h.s[out++] = '-';
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            h.s[out++] = ',';
        h.s[out++] = digits[i];
    }
    h.s[out] = 0;
    return h;
}

struct human human_count(int64_t n)
{
    return grouped(n < 0 ? -(uint64_t)n : (uint64_t)n, n < 0);
}

struct human human_u64(uint64_t n)
{
    return grouped(n, false);
}

struct human human_pct(double pct)
{
    struct human h;

    snprintf(h.s, sizeof h.s, "%.2f", pct);
    return h;
}

struct human human_weight(double value, const char *unit)
{
    if (strcmp(unit, "ns") == 0)
        return human_ns(value);
    if (strcmp(unit, "bytes") == 0)
        return human_bytes(value);
    return human_count(sat_of(value));
}
