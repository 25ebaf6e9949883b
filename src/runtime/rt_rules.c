/* rt_rules.c - rules from rows to advice.  A rule fires on measured evidence only, quotes it,
 * and gives a bound (Amdahl: what is gone when this cost is gone) or a fit, never a factor it
 * did not measure.  Thresholds and their reasons stand with each rule; docs/library.md lists
 * them.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "text/human.h"

enum { MOST = 64, LEAST_NS = 1000 }; /* below it the clock itself has two speeds */

struct collection {
    struct rt_advice *list;
    int n;
    const struct zone_rows *r;
};

static double share_of(const struct zone_rows *r, double ns)
{
    return r->all_ns > 0 ? ns / r->all_ns : 0;
}

static double at_most(double x, double limit)
{
    return x < limit ? x : limit;
}

static const char *priority_of(double gain)
{
    return gain >= 0.25 ? "HIGH" : gain >= 0.1 ? "MEDIUM" : "LOW";
}

static struct rt_advice *add(struct collection *c, const char *rule, uint32_t row, double gain)
{
    struct rt_advice *a;

    if (c->n == MOST)
        return NULL;
    a = &c->list[c->n++];
    memset(a, 0, sizeof *a);
    a->rule = rule;
    a->gain = gain < 0 ? 0 : gain > 1 ? 1 : gain;
    a->priority = priority_of(a->gain);
    a->name = c->r->row[row].name;
    a->description = rt_rule_text(rule)->description;
    a->example = rt_rule_example(rt_rule_text(rule), c->r->row[row].file);
    zone_rows_path(c->r, row, '/', a->path, sizeof a->path);
    return a;
}

#define WORDS(part)                                                                                \
    __attribute__((format(printf, 2, 3))) static void part(struct rt_advice *a, const char *fmt,   \
                                                           ...)                                    \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        va_start(ap, fmt);                                                                         \
        vsnprintf(a->part, sizeof a->part, fmt, ap);                                               \
        va_end(ap);                                                                                \
    }
WORDS(title)
WORDS(evidence)
WORDS(estimate)
#undef WORDS

static void bound(struct rt_advice *a)
{
    if (a->gain > 0 && a->gain < 0.999)
        estimate(a, "at most %.0f %% of the time in zones (%.2fx faster) if all of it went",
                 100 * a->gain, 1 / (1 - a->gain));
}

static double parent_calls(const struct zone_rows *r, const struct zone_row *w)
{
    uint32_t up = w->parent;

    while (up != LIVE_NO_NODE && r->row[up].kind == LIVE_CONTEXT)
        up = r->row[up].parent;
    if (up == LIVE_NO_NODE || r->row[up].kind == LIVE_ROOT || r->row[up].count == 0)
        return 1;
    return (double)r->row[up].count;
}

static bool is_work(const struct zone_row *w)
{
    return (w->kind == LIVE_ZONE || w->kind == LIVE_OP) && w->count > w->untimed;
}

/* Least squares y = a + b x from running sums; false when x hardly varies. */
struct line {
    double a, b;
};
static bool fit_line(double n, double x, double y, double xx, double xy, struct line *l)
{
    double spread = n * xx - x * x;

    if (n < 3 || spread <= 1e-6 * n * xx)
        return false;
    l->b = (n * xy - x * y) / spread;
    l->a = (y - l->b * x) / n;
    return true;
}

/* ---- share: below a tenth there is little to win (bound 1.11x) ---- */
static void rule_share(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double f = share_of(c->r, w->self);
    struct rt_advice *a;

    if (!is_work(w) || f < 0.1 || !(a = add(c, "share", i, f)))
        return;
    title(a, "%.60s takes %.0f %% of the time", w->name, 100 * f);
    evidence(a, "%s of its own in %s calls, %s each", human_ns(w->self).s,
             human_count((int64_t)w->count).s, human_ns(w->mean).s);
    bound(a);
}

/* ---- batch: many alike calls in one parent, each paying a fixed cost a of t = a + b size.
 * 10 siblings, sizes alike (CV < 0.25), most of the parent's time in them (gaps < calls). ---- */
static void rule_batch(struct collection *c, uint32_t i)
{
    const struct zone_rows *r = c->r;
    const struct zone_row *w = &r->row[i];
    double calls = (double)w->count / parent_calls(r, w), mean, variance, fixed, saved;
    uint32_t up = w->parent;
    struct line l;
    struct rt_advice *a;

    if (w->kind != LIVE_OP || calls < 10 || w->n < 10 || w->x <= 0)
        return;
    mean = w->x / w->n;
    variance = w->xx / w->n - mean * mean;
    if (variance > 0.0625 * mean * mean)
        return;
    if (up != LIVE_NO_NODE && r->row[up].kind <= LIVE_OP && r->row[up].total > 2 * w->total)
        return;
    if (!fit_line(w->n, w->x, w->y, w->xx, w->xy, &l) || l.a <= 0 || l.b < 0)
        return;
    fixed = at_most(l.a * r->ns_per_tick, w->mean);
    saved = fixed * ((double)w->count - parent_calls(r, w));
    if (share_of(r, saved) < 0.02 || !(a = add(c, "batch", i, share_of(r, saved))))
        return;
    title(a, "batch %.60s: %.0f calls of about %s each time", w->name, calls, human_bytes(mean).s);
    evidence(a, "fit over %s calls: %s fixed + %.3g ns per byte; %s of %s each is the fixed part",
             human_count((int64_t)w->n).s, human_ns(fixed).s, l.b * r->ns_per_tick,
             human_ns(fixed).s, human_ns(w->mean).s);
    estimate(a, "one call instead of %.0f saves %s by the fit, %.0f %% of the time in zones", calls,
             human_ns(saved).s, 100 * a->gain);
}

/* ---- tiny: ten times the cost of a zone is where measuring becomes a tenth of the figure -- */
static void rule_tiny(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double pair = (double)c->r->view.head.cost[w->precise].pair * c->r->ns_per_tick, part;
    struct rt_advice *a;

    if (w->kind != LIVE_ZONE || w->untimed || w->count < 1000 || w->mean >= 10 * pair)
        return;
    part = pair / (pair + w->mean);
    if (!(a = add(c, "tiny-zone", i, 0)))
        return;
    title(a, "%.60s is too short to time every call", w->name);
    evidence(a, "%s calls of %s; a zone costs %s, %.0f %% of what the program spends here",
             human_count((int64_t)w->count).s, human_ns(w->mean).s, human_ns(pair).s, 100 * part);
    estimate(a, "sampling 1 of 64 takes %s off this run",
             human_ns((double)w->count * pair * 63 / 64).s);
}

/* ---- tail: one call in a hundred takes five times the usual ---- */
/* The median, but no less than a zone can tell. */
static double usual_ns(const struct zone_rows *r, const struct zone_row *w)
{
    double least = (double)r->view.head.cost[w->precise].pair * r->ns_per_tick;

    return w->p50 > least ? w->p50 : least;
}

static double time_above(const struct zone_rows *r, const struct zone_row *w, double limit)
{
    double sum = 0;

    for (uint32_t b = 0; w->hist && b < LIVE_BUCKETS; b++) {
        double ns = live_bucket_low(b) * r->ns_per_tick;

        if (ns > limit)
            sum += (ns - limit) * (double)w->hist[b];
    }
    return sum;
}

static void rule_tail(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double usual = usual_ns(c->r, w), gain;
    struct rt_advice *a;

    if (!is_work(w) || w->count - w->untimed < 100 || w->p99 < 5 * usual ||
        w->p99 < LEAST_NS)
        return;
    gain = at_most(share_of(c->r, time_above(c->r, w, usual)), share_of(c->r, w->total));
    if (gain < 0.01 || !(a = add(c, "tail", i, gain)))
        return;
    title(a, "%.60s: the slowest calls are %.0fx the usual one", w->name, w->p99 / usual);
    evidence(a, "p50 %s, p90 %s, p99 %s, longest %s", human_ns(w->p50).s, human_ns(w->p90).s,
             human_ns(w->p99).s, human_ns(w->max).s);
    estimate(a, "time beyond the median is %.0f %% of the time in zones", 100 * gain);
}

/* ---- bimodal: two heaps of durations, four times apart, a valley between ---- */
enum { STEP = 8, BINS = LIVE_BUCKETS / STEP }; /* half an octave */

struct modes {
    int fast, slow;              /* bins */
    double fast_part, slow_part; /* of the calls */
};

static int fullest(const double *bin, int away_from)
{
    int best = -1;

    for (int b = 0; b < BINS; b++)
        if ((away_from < 0 || b > away_from + 3 || b < away_from - 3) &&
            (best < 0 || bin[b] > bin[best]))
            best = b;
    return best;
}

static bool two_modes(const uint64_t *hist, struct modes *m)
{
    double bin[BINS] = { 0 }, all = 0, valley = 1e300;
    int first, second;

    for (int b = 0; b < LIVE_BUCKETS; b++) {
        bin[b / STEP] += (double)hist[b];
        all += (double)hist[b];
    }
    first = fullest(bin, -1);
    second = fullest(bin, first);
    m->fast = first < second ? first : second;
    m->slow = first < second ? second : first;
    m->fast_part = bin[m->fast] / all;
    m->slow_part = bin[m->slow] / all;
    for (int b = m->fast + 1; b < m->slow; b++)
        valley = bin[b] < valley ? bin[b] : valley;
    return bin[second] >= 0.15 * all && valley <= 0.25 * bin[second];
}

static void rule_bimodal(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double low, high, gain;
    struct modes m;
    struct rt_advice *a;

    if (!is_work(w) || !w->hist || w->count - w->untimed < 100 || !two_modes(w->hist, &m))
        return;
    low = live_bucket_low((uint32_t)(m.fast * STEP)) * c->r->ns_per_tick;
    high = live_bucket_low((uint32_t)(m.slow * STEP)) * c->r->ns_per_tick;
    gain = at_most(share_of(c->r, m.slow_part * (double)w->count * (high - low)),
                   share_of(c->r, w->total));
    if (high < LEAST_NS || gain < 0.01 || !(a = add(c, "bimodal", i, gain)))
        return;
    title(a, "%.60s has two speeds", w->name);
    evidence(a, "%.0f %% of the calls take about %s, %.0f %% about %s, hardly any between",
             100 * m.fast_part, human_ns(low).s, 100 * m.slow_part, human_ns(high).s);
    bound(a);
}

/* ---- first call: ten times the median is set-up work ---- */
static void rule_first(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double usual = usual_ns(c->r, w), gain = share_of(c->r, w->first - usual);
    struct rt_advice *a;

    if (!is_work(w) || w->count - w->untimed < 10 || w->first < 10 * usual)
        return;
    if (gain < 0.01 || !(a = add(c, "first-call", i, gain)))
        return;
    title(a, "the first call of %.60s is %.0fx the usual one", w->name, w->first / usual);
    evidence(a, "first %s, median %s over %s calls", human_ns(w->first).s, human_ns(w->p50).s,
             human_count((int64_t)w->count).s);
    bound(a);
}

/* ---- repeat: half of the calls had the size and tag of one of the four before ---- */
static void rule_repeat(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double part = w->count ? w->repeats / (double)w->count : 0;
    double gain = part * share_of(c->r, w->total);
    struct rt_advice *a;

    if (w->kind != LIVE_OP || w->repeats < 10 || part < 0.5 || gain < 0.02 ||
        !(a = add(c, "repeat-work", i, gain)))
        return;
    title(a, "%.60s does the same work again", w->name);
    evidence(a, "%s of %s calls had the size and checksum of one of the four inputs before",
             human_count((int64_t)w->repeats).s, human_count((int64_t)w->count).s);
    bound(a);
}

/* 2^x for small positive x: whole part by doubling, the rest by the series of e^y. */
static double power_of_two(double x)
{
    double y, whole = 1;

    for (; x >= 1; x -= 1)
        whole *= 2;
    y = x * 0.6931471805599453;
    return whole * (1 + y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * (1 + y / 5)))));
}

/* ---- growth: time grows faster than size^1.3; a sort is about 1.1, a nested loop 2 ---- */
static void rule_growth(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double mean = w->ln > 0 ? w->lx / w->ln : 0;
    double spread = w->ln > 0 ? w->lxx / w->ln - mean * mean : 0;
    struct line l;
    struct rt_advice *a;

    if (w->kind != LIVE_OP || w->ln < 20 || spread < 0.5 || share_of(c->r, w->total) < 0.02 ||
        !fit_line(w->ln, w->lx, w->ly, w->lxx, w->lxy, &l) || l.b < 1.3 ||
        !(a = add(c, "growth", i, share_of(c->r, w->total))))
        return;
    title(a, "%.60s grows faster than its input", w->name);
    evidence(a, "fit over %s calls: time ~ size^%.2f, so twice the size takes %.1fx the time",
             human_count((int64_t)w->ln).s, l.b, power_of_two(l.b));
    bound(a);
}

/* ---- backend: another one did the same operation at least twice as fast at about this size - */
static double predicted(const struct zone_rows *r, const struct zone_row *w, double bytes)
{
    struct line l;
    double mean = w->n > 0 ? w->x / w->n : 0;

    if (fit_line(w->n, w->x, w->y, w->xx, w->xy, &l) && l.a + l.b * bytes > 0)
        return (l.a + l.b * bytes) * r->ns_per_tick;
    if (mean > 0 && bytes >= mean / 2 && bytes <= 2 * mean)
        return w->mean * bytes / mean;
    return 0;
}

static void rule_backend(struct collection *c, uint32_t i)
{
    const struct zone_rows *r = c->r;
    const struct zone_row *w = &r->row[i], *best = NULL;
    double mean = w->n > 0 ? w->x / w->n : 0, fastest = w->mean / 2;
    struct rt_advice *a;

    if (w->kind != LIVE_OP || !w->backend[0] || w->n < 3 || mean <= 0)
        return;
    for (uint32_t k = 0; k < r->n; k++) {
        const struct zone_row *o = &r->row[k];
        double other = o->n > 0 ? o->x / o->n : 0, ns;

        if (o->kind != LIVE_OP || k == i || o->n < 3 || strcmp(o->name, w->name) != 0 ||
            !o->backend[0] || !strcmp(o->backend, w->backend) || other < mean / 4 ||
            other > 4 * mean)
            continue;
        ns = predicted(r, o, mean);
        if (ns > 0 && ns < fastest) {
            fastest = ns;
            best = o;
        }
    }
    if (!best || !(a = add(c, "backend", i, share_of(r, (w->mean - fastest) * (double)w->count))))
        return;
    title(a, "%.50s: use %.20s, not %.20s, at this size", w->name, best->backend, w->backend);
    evidence(a, "%s: %s on %s, %s on %s (measured over %s calls)", human_bytes(mean).s,
             human_ns(w->mean).s, w->backend, human_ns(fastest).s, best->backend,
             human_count((int64_t)best->n).s);
    estimate(a, "%.1fx for these calls by the other's own figures", w->mean / fastest);
}

/* ---- imbalance: the busiest thread has a fifth more than the mean ---- */
static void rule_imbalance(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double mean = w->threads > 0 ? w->total / (double)w->threads : 0, gain;
    struct rt_advice *a;

    if (!is_work(w) || w->threads < 2 || mean <= 0 || w->thread_max < 1.2 * mean ||
        w->thread_max > w->total * 1.01)
        return;
    gain = share_of(c->r, w->total) * (w->thread_max - mean) / w->thread_max;
    if (gain < 0.03 || !(a = add(c, "imbalance", i, gain)))
        return;
    title(a, "%.60s: one thread does %.1fx its share", w->name, w->thread_max / mean);
    evidence(a, "busiest thread %s, mean of %llu threads %s", human_ns(w->thread_max).s,
             (unsigned long long)w->threads, human_ns(mean).s);
    estimate(a, "even shares would end %.0f %% sooner here at best",
             100 * (1 - mean / w->thread_max));
}

/* ---- alloc: more than one allocation per call ---- */
static void rule_alloc(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    struct rt_advice *a;

    if (!is_work(w) || w->allocs < 100 || w->allocs <= (double)w->count ||
        share_of(c->r, w->self) < 0.02 || !(a = add(c, "alloc", i, share_of(c->r, w->self))))
        return;
    a->priority = "MEDIUM";
    title(a, "%.60s allocates in a loop", w->name);
    evidence(a, "%.1f allocations per call, %s each on average", w->allocs / (double)w->count,
             human_bytes(w->alloc_bytes / w->allocs).s);
    bound(a);
}

/* ---- drift: calls got slower while the program ran.  The slope must be worth 30 % of the
 * mean over the time seen and four standard errors from none. ---- */
static void rule_drift(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double n = w->n, st, sty, slope, rest, se, deviation, grown, mean = n > 0 ? w->y / n : 0;
    struct rt_advice *a;

    if (w->kind != LIVE_OP || n < 30 || share_of(c->r, w->total) < 0.02)
        return;
    st = w->tt - w->t * w->t / n;
    sty = w->ty - w->t * w->y / n;
    if (st <= 0 || mean <= 0)
        return;
    slope = sty / st;
    rest = (w->yy - w->y * w->y / n - slope * sty) / (n - 2);
    se = zone_sqrt((rest > 0 ? rest : 0) / st);
    deviation = zone_sqrt(st / n);
    grown = slope * deviation * 3.46 / mean; /* an even spread is sqrt(12) deviations wide */
    if (slope < 4 * se || grown < 0.3 ||
        !(a = add(c, "drift", i, share_of(c->r, w->total) * grown / (2 + grown))))
        return;
    title(a, "%.60s gets slower as the program runs", w->name);
    evidence(a,
             "%.0f %% of its mean slower from start to end over %s calls "
             "(slope %.1f standard errors)",
             100 * grown, human_count((int64_t)n).s, se > 0 ? slope / se : 99.0);
    bound(a);
}

/* ---- lock: waiting that is 5 % of the time ---- */
static void rule_lock(struct collection *c, uint32_t i)
{
    const struct zone_row *w = &c->r->row[i];
    double f = share_of(c->r, w->total);
    struct rt_advice *a;

    if (w->kind != LIVE_LOCK_WAIT || f < 0.05 || !(a = add(c, "lock-wait", i, f)))
        return;
    title(a, "threads wait for %.60s", w->name);
    evidence(a, "%s waited in %s acquisitions, p99 %s", human_ns(w->total).s,
             human_count((int64_t)w->count).s, human_ns(w->p99).s);
    bound(a);
}

typedef void rule_fn(struct collection *c, uint32_t row);
static rule_fn *const rules[] = { rule_share,   rule_batch,     rule_tiny,   rule_tail,
                                  rule_bimodal, rule_first,     rule_repeat, rule_growth,
                                  rule_backend, rule_imbalance, rule_alloc,  rule_drift,
                                  rule_lock };

/* By gain, advice that says what to change before "it takes its share". */
static bool comes_first(const struct rt_advice *a, const struct rt_advice *b)
{
    bool plain_a = !strcmp(a->rule, "share"), plain_b = !strcmp(b->rule, "share");

    if (a->gain != b->gain)
        return a->gain > b->gain;
    return plain_a < plain_b;
}

int rt_rules_run(const struct zone_rows *r, int most,
                 void (*visit)(const struct rt_advice *, void *), void *arg)
{
    size_t bytes = MOST * sizeof(struct rt_advice);
    struct collection c = { .r = r };
    bool told[MOST] = { false };
    int shown = 0;

    c.list = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c.list == MAP_FAILED)
        return 0;
    for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++)
        for (uint32_t i = 0; i < r->n; i++)
            rules[k](&c, i);
    for (; shown < c.n && shown < most; shown++) {
        int best = -1;

        for (int k = 0; k < c.n; k++)
            if (!told[k] && (best < 0 || comes_first(&c.list[k], &c.list[best])))
                best = k;
        told[best] = true;
        visit(&c.list[best], arg);
    }
    munmap(c.list, bytes);
    return c.n;
}

struct to_public {
    void (*visit)(const struct fathom_advice *, void *);
    void *arg;
};

static void hand_out(const struct rt_advice *a, void *arg)
{
    struct to_public *p = arg;
    struct fathom_advice out = { sizeof out,  a->rule,     a->priority,    a->title,
                                 a->evidence, a->estimate, a->description, a->example,
                                 a->name,     a->path,     a->gain };

    p->visit(&out, p->arg);
}

int fathom_advise(void (*visit)(const struct fathom_advice *, void *), void *arg)
{
    struct to_public p = { visit, arg };
    struct zone_rows r;
    int n = rt_rows_take(&r, false);

    if (n < 0)
        return n;
    n = rt_rules_run(&r, MOST, hand_out, &p);
    zone_rows_free(&r);
    return n;
}
