/* pipeline.c - a pipeline with a zone for each stage.
 *
 *     cc -O2 pipeline.c -lfathom -o pipeline
 *     ./pipeline                                  measures nothing
 *     FATHOM_PROFILE=1 ./pipeline                 prints where the time went
 *     FATHOM_PROFILE=trace:p.fathom ./pipeline && fathom flame p.fathom
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fathom.h>

#include <stdlib.h>

enum { WORDS = 20000, ROUNDS = 50 };

static void fill(unsigned *word, unsigned seed)
{
    FATHOM_ZONE("fill");
    for (int i = 0; i < WORDS; i++)
        word[i] = seed = seed * 1664525u + 1013904223u;
}

static int by_value(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return x < y ? -1 : x > y;
}

/* An operation has a size and a backend: reports show its throughput, advice its scaling. */
static void order(unsigned *word, int n)
{
    FATHOM_OP("sort", (uint64_t)n * sizeof *word, "qsort");
    qsort(word, (size_t)n, sizeof *word, by_value);
}

static unsigned count_distinct(const unsigned *word)
{
    unsigned n = 1;

    FATHOM_ZONE("distinct");
    for (int i = 1; i < WORDS; i++)
        n += word[i] != word[i - 1];
    FATHOM_GAUGE("distinct words", n);
    return n;
}

int main(void)
{
    static unsigned word[WORDS];
    unsigned all = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        FATHOM_ZONE("round");
        fill(word, i);
        order(word, WORDS - (int)(i * 300));
        all += count_distinct(word);
        FATHOM_COUNT("words", WORDS);
    }
    printf("%u\n", all);
    return 0;
}
