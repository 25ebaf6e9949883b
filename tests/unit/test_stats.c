/* test_stats.c - compare estimators with known values.  SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "stats/stats.h"
#include "test.h"

#define CHECK_NEAR(a, b, tolerance) CHECK(fabs((a) - (b)) <= (tolerance))

TEST(stats_wilson_agrees_with_published_values)
{
    struct interval i = stats_wilson(81, 263); /* Newcombe 1998, method 3 */

    CHECK_NEAR(i.low, 0.2553, 0.0001);
    CHECK_NEAR(i.high, 0.3662, 0.0001);
    i = stats_wilson(0, 20);
    CHECK_NEAR(i.low, 0, 1e-12);
    CHECK_NEAR(i.high, 0.1611, 0.0001);
    i = stats_wilson(0, 0);
    CHECK(i.low == 0 && i.high == 1);
}

TEST(stats_wilson_stays_within_zero_and_one)
{
    struct interval all = stats_wilson(20, 20), i;

    for (int n = 1; n < 1000; n++) { /* rounding must not lead outside */
        CHECK(stats_wilson(0, n).low >= 0);
        CHECK(stats_wilson(n, n).high <= 1);
    }
    i = stats_wilson(30, 20); /* the rest of the weights is negative */
    CHECK(i.low == all.low && i.high == all.high);
    i = stats_wilson(-3, 20);
    CHECK(i.low == 0 && i.high == stats_wilson(0, 20).high);
}

TEST(stats_effective_size_of_equal_weights_is_their_number)
{
    CHECK_NEAR(stats_effective(300, 900), 100, 1e-9);
    CHECK(stats_effective(0, 0) == 0);
}

TEST(stats_summary_of_a_small_set)
{
    double v[] = { 4, 1, 3, 2 };
    struct summary s = stats_summary(v, 4);

    CHECK(s.min == 1 && s.max == 4 && s.mean == 2.5 && s.median == 2.5);
    CHECK_NEAR(s.stddev, 1.2910, 0.0001);
}

TEST(stats_median_interval_takes_the_order_statistics)
{
    double v[20];
    struct interval i;

    for (int k = 0; k < 20; k++)
        v[k] = k + 1;
    i = stats_median_interval(v, 20); /* tables: 6th and 15th, 95.86 % */
    CHECK(i.low == 6 && i.high == 15);
    CHECK_NEAR(i.confidence, 0.9586, 0.0001);
    i = stats_median_interval(v, 5);
    CHECK(i.low == 1 && i.high == 5);
    CHECK_NEAR(i.confidence, 0.9375, 1e-9);
}
