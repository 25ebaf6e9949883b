/* stats_share.c - intervals of shares; see stats.h.  SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "stats/stats.h"

static const double Z_95 = 1.959963984540054;

struct interval stats_wilson(double k, double n)
{
    struct interval i = { 0, 1, 0.95 };
    double p, z2 = Z_95 * Z_95, center, half;

    if (!(n > 0))
        return i;
    p = k / n;
    p = p < 0 ? 0 : p > 1 ? 1 : p;
    center = (p + z2 / (2 * n)) / (1 + z2 / n);
    half = Z_95 / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
    i.low = center - half < 0 ? 0 : center - half;
    i.high = center + half > 1 ? 1 : center + half;
    return i;
}

double stats_effective(double sum, double sum_of_squares)
{
    return sum_of_squares > 0 ? sum * sum / sum_of_squares : 0;
}
