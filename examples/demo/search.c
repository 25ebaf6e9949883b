/* search.c - a small search engine, the program that `make demo` profiles.
 *
 * It generates documents with a natural distribution of words, builds an inverted index, answers
 * ranked queries and compresses the postings.  The results are correct, but one part is much
 * slower than necessary; the profile shows which.  SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS = 6000, WORDS_EACH = 220, VOCABULARY = 20000, BUCKETS = 65536, QUERIES = 400 };

struct posting {
    uint32_t document, count;
};

struct word {
    char *text;
    struct word *next; /* in the same bucket */
    struct posting *posting;
    size_t n, cap;
};

struct engine {
    struct word *bucket[BUCKETS];
    size_t words;
};

static uint64_t seed = 88172645463325252u;

static uint64_t random_u64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* A few words are common and most are rare, as in any language. */
static void random_word(char *text)
{
    double u = (double)(random_u64() >> 11) / 9007199254740992.0;
    unsigned rank = (unsigned)(pow(VOCABULARY, u)) - 1;
    int n = 0;

    do {
        text[n++] = "etaoinshrdlu"[rank % 12];
        rank /= 12;
    } while (rank);
    text[n++] = 's';
    text[n] = 0;
}

/* The sum of the letters: words with the same letters share a bucket. */
static unsigned hash_word(const char *text)
{
    unsigned sum = 0;

    while (*text)
        sum += (unsigned char)*text++;
    return sum % BUCKETS;
}

static struct word *find_word(struct engine *e, const char *text)
{
    for (struct word *w = e->bucket[hash_word(text)]; w; w = w->next)
        if (strcmp(w->text, text) == 0)
            return w;
    return NULL;
}

static struct word *add_word(struct engine *e, const char *text)
{
    unsigned h = hash_word(text);
    struct word *w = calloc(1, sizeof *w);

    if (!w || !(w->text = strdup(text)))
        exit(1);
    w->next = e->bucket[h];
    e->bucket[h] = w;
    e->words++;
    return w;
}

static void add_posting(struct word *w, uint32_t document)
{
    if (w->n && w->posting[w->n - 1].document == document) {
        w->posting[w->n - 1].count++;
        return;
    }
    if (w->n == w->cap) {
        w->cap = w->cap ? w->cap * 2 : 4;
        w->posting = realloc(w->posting, w->cap * sizeof *w->posting);
        if (!w->posting)
            exit(1);
    }
    w->posting[w->n++] = (struct posting){ document, 1 };
}

static void index_documents(struct engine *e)
{
    char text[32];

    for (uint32_t document = 0; document < DOCUMENTS; document++)
        for (int i = 0; i < WORDS_EACH; i++) {
            struct word *w;

            random_word(text);
            w = find_word(e, text);
            add_posting(w ? w : add_word(e, text), document);
        }
}

static inline double weight(const struct word *w, const struct posting *p)
{
    return (1 + log(p->count)) * log((double)DOCUMENTS / (double)w->n);
}

static void score_word(const struct word *w, double *score)
{
    for (size_t i = 0; i < w->n; i++)
        score[w->posting[i].document] += weight(w, &w->posting[i]);
}

static double *sort_by;

static int better(const void *a, const void *b)
{
    double x = sort_by[*(const uint32_t *)a], y = sort_by[*(const uint32_t *)b];

    return x < y ? 1 : x > y ? -1 : 0;
}

static uint32_t answer(struct engine *e)
{
    static double score[DOCUMENTS];
    static uint32_t order[DOCUMENTS];
    char text[32];

    memset(score, 0, sizeof score);
    for (int i = 0; i < 4; i++) {
        const struct word *w;

        random_word(text);
        w = find_word(e, text);
        if (w)
            score_word(w, score);
    }
    for (uint32_t d = 0; d < DOCUMENTS; d++)
        order[d] = d;
    sort_by = score;
    qsort(order, DOCUMENTS, sizeof *order, better);
    return order[0];
}

/* Gaps between document numbers, seven bits per byte. */
static size_t pack(const struct engine *e)
{
    size_t bytes = 0;

    for (size_t h = 0; h < BUCKETS; h++)
        for (const struct word *w = e->bucket[h]; w; w = w->next) {
            uint32_t before = 0;

            for (size_t i = 0; i < w->n; i++) {
                for (uint32_t gap = w->posting[i].document - before; gap >= 128; gap >>= 7)
                    bytes++;
                bytes++;
                before = w->posting[i].document;
            }
        }
    return bytes;
}

int main(void)
{
    static struct engine e;
    uint64_t sum = 0;

    index_documents(&e);
    for (int i = 0; i < QUERIES; i++)
        sum += answer(&e);
    printf("%zu words, %zu bytes packed, check %llu\n", e.words, pack(&e), (unsigned long long)sum);
    return 0;
}
