/* stats_summary.c - summaries of repeated measurements; see stats.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stats/stats.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double stats_quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n ? n - 1 : 0);
    size_t i = (size_t)at;

    if (n == 0)
        return 0;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

struct summary stats_summary(double *v, size_t n)
{
    struct summary s = { .n = n };
    double squares = 0;

    if (n == 0)
        return s;
    qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++)
        s.mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - s.mean) * (v[i] - s.mean);
    s.stddev = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    s.min = v[0];
    s.max = v[n - 1];
    s.median = stats_quantile(v, n, 0.5);
    return s;
}

/* P(X <= k) of a binomial with N trials of probability 1/2.  Terms are computed as logarithms, so
 * that no N overflows. */
static double binomial_half(size_t k, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i <= k; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) -
                   (double)n * M_LN2);
    return sum;
}

struct interval stats_median_interval(const double *sorted, size_t n)
{
    size_t k = 0;

    if (n < 2)
        return (struct interval){ n ? sorted[0] : 0, n ? sorted[0] : 0, 0 };
    /* The k-th smallest to the k-th largest covers the median with probability 1 - 2 P(X < k). */
    while (2 * (k + 1) < n && 1 - 2 * binomial_half(k + 1, n) >= 0.95)
        k++;
    return (struct interval){ sorted[k], sorted[n - 1 - k], 1 - 2 * binomial_half(k, n) };
}
