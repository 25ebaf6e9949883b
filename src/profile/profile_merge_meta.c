/* profile_merge_meta.c - meta and clock of a merged profile.
 *
 * Counts are added, and start and duration cover all parts.  Other values are kept if all parts
 * that have them agree, and listed otherwise.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/sat.h"
#include "profile/profile_merge.h"

enum { LISTED_MOST = 8, SAME_BOOT_S = 2 };

struct merge_meta {
    const struct profile_part *part;
    size_t n;
    const int64_t *shift;
    struct sink *out;
};

/* --- the clock -------------------------------------------------------------------------- */

/* Wall-clock second in which P starts, or -1. */
static int64_t date_s(const struct profile *p)
{
    const char *date = profile_meta(p, "date");
    struct tm when = { 0 };
    long zone;

    if (!*date || !strptime(date, "%Y-%m-%dT%H:%M:%S%z", &when))
        return -1;
    zone = when.tm_gmtoff;
    return (int64_t)timegm(&when) - zone;
}

static bool agree(const struct profile *a, const struct profile *b, const char *key)
{
    return *profile_meta(a, key) && strcmp(profile_meta(a, key), profile_meta(b, key)) == 0;
}

/* Two profiles share a clock if it has the same origin on the same host. */
static bool same_clock(const struct profile *a, const struct profile *b)
{
    int64_t da = date_s(a), db = date_s(b), apart;

    if (!agree(a, b, "host") || !agree(a, b, "clock") || da < 0 || db < 0)
        return false;
    apart = (da - (int64_t)(profile_start_ns(a) / 1000000000)) -
            (db - (int64_t)(profile_start_ns(b) / 1000000000));
    return apart >= -SAME_BOOT_S && apart <= SAME_BOOT_S;
}

int64_t *profile_merge_shifts(const struct profile_part *part, size_t n)
{
    int64_t *shift = mem_zalloc((n + 1) * sizeof *shift);
    uint64_t first = n ? profile_start_ns(part[0].profile) : 0;

    for (size_t i = 1; i < n; i++) {
        uint64_t start = profile_start_ns(part[i].profile);

        if (first && start && !same_clock(part[0].profile, part[i].profile))
            shift[i] = (int64_t)(first - start);
    }
    return shift;
}

/* --- facts ------------------------------------------------------------------------------ */

static const char *value_of(const struct merge_meta *m, size_t i, const char *key)
{
    return profile_meta(m->part[i].profile, key);
}

static void put_number(const struct merge_meta *m, const char *key, double x, int decimals)
{
    char text[384]; /* for any number */

    snprintf(text, sizeof text, "%.*f", decimals, x);
    sink_meta(m->out, key, text);
}

static void put_sum(const struct merge_meta *m, const char *key)
{
    double sum = 0;

    for (size_t i = 0; i < m->n; i++)
        sum += profile_meta_number(m->part[i].profile, key, 0);
    put_number(m, key, sum, 0);
}

static void put_max(const struct merge_meta *m, const char *key)
{
    double most = 0;

    for (size_t i = 0; i < m->n; i++) {
        double x = profile_meta_number(m->part[i].profile, key, 0);

        most = x > most ? x : most;
    }
    put_number(m, key, most, 0);
}

/* Drop a number that differs: a reader would apply it to all parts. */
static void put_if_same(const struct merge_meta *m, const char *key)
{
    const char *same = NULL;

    for (size_t i = 0; i < m->n; i++) {
        const char *text = value_of(m, i, key);

        if (!same && *text)
            same = text;
        else if (*text && strcmp(text, same) != 0)
            return;
    }
    if (same)
        sink_meta(m->out, key, same);
}

static bool is_first_with(const struct merge_meta *m, size_t i, const char *key)
{
    const char *text = value_of(m, i, key);

    for (size_t k = 0; k < i; k++)
        if (strcmp(value_of(m, k, key), text) == 0)
            return false;
    return *text;
}

static void put_list(const struct merge_meta *m, const char *key)
{
    struct buf list = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++) {
        if (!is_first_with(m, i, key))
            continue;
        if (n == LISTED_MOST) {
            buf_str(&list, ", ...");
            break;
        }
        buf_printf(&list, "%s%s", n++ ? ", " : "", value_of(m, i, key));
    }
    sink_meta(m->out, key, buf_text(&list));
    buf_release(&list);
}

/* Samples per CPU second.  The CPU time of a part is its samples divided by its rate. */
static void put_rate(const struct merge_meta *m, const char *key)
{
    double samples = 0, seconds = 0;

    for (size_t i = 0; i < m->n; i++) {
        double n = profile_meta_number(m->part[i].profile, "quality.samples", 0);
        double rate = profile_meta_number(m->part[i].profile, key, 0);

        samples += rate > 0 ? n : 0;
        seconds += rate > 0 ? n / rate : 0;
    }
    if (seconds > 0)
        put_number(m, key, samples / seconds, 1);
}

static uint64_t moved_start(const struct merge_meta *m, size_t i)
{
    uint64_t start = profile_start_ns(m->part[i].profile);

    return start ? start + (uint64_t)m->shift[i] : 0;
}

/* The part that starts first, SIZE_MAX when none has times. */
static size_t first_part(const struct merge_meta *m)
{
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < m->n; i++)
        if (moved_start(m, i) &&
            (first == SIZE_MAX || moved_start(m, i) < moved_start(m, first)))
            first = i;
    return first;
}

static void put_start(const struct merge_meta *m, const char *key)
{
    size_t first = first_part(m);

    if (first != SIZE_MAX)
        sink_meta_u64(m->out, key, moved_start(m, first));
}

static void put_date(const struct merge_meta *m, const char *key)
{
    size_t first = first_part(m);

    if (first == SIZE_MAX || !*value_of(m, first, key))
        put_if_same(m, key);
    else
        sink_meta(m->out, key, value_of(m, first, key));
}

/* From the first start to the last end. */
static void put_duration(const struct merge_meta *m, const char *key)
{
    size_t first = first_part(m);
    uint64_t last = 0;

    for (size_t i = 0; i < m->n; i++) {
        uint64_t end = moved_start(m, i) +
                       sat_u64_of(profile_meta_number(m->part[i].profile, key, 0));

        last = end > last ? end : last;
    }
    sink_meta_u64(m->out, key, last - (first == SIZE_MAX ? 0 : moved_start(m, first)));
}

static const struct rule {
    const char *key; /* with a final '*': every key with this prefix */
    void (*put)(const struct merge_meta *m, const char *key);
} rules[] = {
    { "quality.ring_bytes", put_max },  { "quality.not_walked_in", put_list },
    { "quality.without_agent", put_list },
    { "quality.*", put_sum },           { "stall.*", put_sum },
    { "limit.*", put_if_same },
    { "file.missing_bytes", put_sum },  { "start_ns", put_start },
    { "duration_ns", put_duration },    { "date", put_date },
    { "rate_achieved", put_rate },      { "rate_asked", put_if_same },
    { "stack_bytes", put_if_same },     { "exit_status", put_max },
    { "*", put_list },
};

static bool matches(const char *pattern, const char *key)
{
    size_t n = strcspn(pattern, "*");

    return pattern[n] ? strncmp(pattern, key, n) == 0 : strcmp(pattern, key) == 0;
}

static void put_fact(const struct merge_meta *m, const char *key)
{
    for (const struct rule *r = rules;; r++)
        if (matches(r->key, key)) {
            r->put(m, key);
            return;
        }
}

static bool is_in_earlier_part(const struct merge_meta *m, size_t part, const char *key)
{
    for (size_t i = 0; i < part; i++)
        if (*value_of(m, i, key))
            return true;
    return false;
}

static void put_merged(const struct merge_meta *m)
{
    double n = 0;

    for (size_t i = 0; i < m->n; i++)
        n += profile_meta_number(m->part[i].profile, "merged", 1);
    put_number(m, "merged", n, 0);
}

void profile_merge_meta(const struct profile_part *part, size_t n, const int64_t *shift,
                        struct sink *out)
{
    struct merge_meta m = { part, n, shift, out };

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < part[i].profile->meta.n; k++) {
            const struct profile_meta *x = &part[i].profile->meta.v[k];

            if (*x->value && !is_in_earlier_part(&m, i, x->key) && strcmp(x->key, "merged") != 0)
                put_fact(&m, x->key);
        }
    if (n > 1)
        put_merged(&m);
}
