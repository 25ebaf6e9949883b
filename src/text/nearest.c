/* nearest.c - see nearest.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/nearest.h"

#include <string.h>

enum { LONGEST = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Number of letters to insert, delete, replace or transpose (optimal string alignment). */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t d[3][LONGEST + 1];

    for (size_t k = 0; k <= m; k++)
        d[0][k] = k;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = d[i % 3], *up = d[(i + 2) % 3], *above = d[(i + 1) % 3];

        now[0] = i;
        for (size_t k = 1; k <= m; k++) {
            now[k] = least(up[k - 1] + (a[i - 1] != b[k - 1]), 1 + least(up[k], now[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                now[k] = least(now[k], above[k - 2] + 1);
        }
    }
    return d[n % 3][m];
}

/* Accept a third of the letters as wrong, but none in a word of two letters. */
struct nearest nearest_to(const char *typed, size_t n)
{
    return (struct nearest){ .typed = typed, .n = n, .distance = n < 3 ? 1 : n / 3 + 1 };
}

void nearest_offer(struct nearest *n, const char *word)
{
    size_t m = strlen(word), d;

    if (n->n > LONGEST || m > LONGEST)
        return;
    d = distance(n->typed, n->n, word, m);
    if (d < n->distance) {
        n->best = word;
        n->distance = d;
    }
}
