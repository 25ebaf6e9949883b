/* stats.h - estimators and their intervals.  Pure functions, no I/O; docs/math.md derives each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_STATS_STATS_H
#define FATHOM_STATS_STATS_H

#include <stddef.h>
#include <stdint.h>

struct interval {
    double low, high;
    double confidence; /* achieved, e.g. 0.95; lower with too little data */
};

/* 95 % Wilson interval of a share K/N; N may be fractional (an effective size).
 * [0, 1] when N is 0. */
struct interval stats_wilson(double k, double n);
/* The number of equal samples with the same information: (sum w)^2 / sum w^2 (Kish). */
double stats_effective(double sum, double sum_of_squares);

struct summary {
    size_t n;
    double min, max, mean, stddev, median;
};
/* Sorts V. */
struct summary stats_summary(double *v, size_t n);
double stats_quantile(const double *sorted, size_t n, double q);
/* Interval of the median from order statistics: exact for any distribution; at least 95 %
 * where N allows it (N >= 6), otherwise the range with its true confidence. */
struct interval stats_median_interval(const double *sorted, size_t n);

#endif
