/* zone_rows.c - see zone_rows.h.  Self time, percentiles and overhead are computed on request,
 * never while measuring.  SPDX-License-Identifier: Apache-2.0 */
#include "zones/zone_rows.h"

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

bool zone_row_is_timed(const struct zone_row *w)
{
    return w->kind == LIVE_ZONE || w->kind == LIVE_OP || w->kind == LIVE_FRAME ||
           w->kind == LIVE_LOCK_WAIT || w->kind == LIVE_LOCK_HOLD;
}

bool zone_row_is_nested(const struct zone_row *w)
{
    return w->kind == LIVE_ZONE || w->kind == LIVE_OP || w->kind == LIVE_LOCK_WAIT;
}

/* ---- Merging nodes of threads into rows ---- */

struct merge {
    struct zone_rows *r;
    uint32_t *slot, mask;
    uint64_t *hist, hist_used; /* room for one per node */
    bool per_thread;
};

static uint64_t hash_text(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

static uint32_t row_parent(const struct merge *m, const struct live_node *n)
{
    return n->parent == LIVE_NO_NODE ? LIVE_NO_NODE : m->r->row_of[n->parent];
}

static bool same(const struct merge *m, const struct zone_row *w, const struct live_node *n)
{
    if (w->parent != row_parent(m, n) || w->kind != n->kind || w->context != n->context)
        return false;
    if (n->parent == LIVE_NO_NODE && m->per_thread)
        return w->task == n->task;
    return !strcmp(w->name, n->name) && !strcmp(w->backend, n->backend) &&
           !strcmp(w->label, n->label);
}

static void set_context(struct zone_rows *r, uint32_t row)
{
    struct zone_row *w = &r->row[row];

    w->inside_of = w->parent == LIVE_NO_NODE ? LIVE_NO_NODE : r->row[w->parent].inside_of;
    if (w->kind == LIVE_CONTEXT)
        w->inside_of = row;
}

static uint32_t find_row(struct merge *m, const struct live_node *n)
{
    uint64_t h = row_parent(m, n) * 0x9e3779b97f4a7c15u + n->kind;
    struct zone_rows *r = m->r;
    uint32_t at;

    h = hash_text(hash_text(hash_text(h, n->name), n->backend), n->label);
    for (at = (uint32_t)(h ^ h >> 32) & m->mask; m->slot[at]; at = (at + 1) & m->mask)
        if (same(m, &r->row[m->slot[at] - 1], n))
            return m->slot[at] - 1;
    m->slot[at] = ++r->n;
    memset(&r->row[r->n - 1], 0, sizeof r->row[0]);
    r->row[r->n - 1] = (struct zone_row){
        .parent = row_parent(m, n), .child = LIVE_NO_NODE, .next = LIVE_NO_NODE,
        .kind = n->kind, .line = n->line, .context = n->context, .task = n->task,
        .name = n->name, .file = n->file, .backend = n->backend, .label = n->label,
        .thread = r->view.task[n->task].name, .min_ticks = UINT64_MAX };
    set_context(r, r->n - 1);
    return r->n - 1;
}

static uint64_t *row_hist(struct merge *m, struct zone_row *w)
{
    if (!w->hist)
        w->hist = m->hist + LIVE_BUCKETS * m->hist_used++;
    return w->hist;
}

static double ext_word(const uint64_t *at)
{
    return live_double(live_word(at));
}

static void add_ext(struct zone_row *w, const struct live_ext *x)
{
    w->untimed += live_word(&x->untimed);
    w->allocs += (double)live_word(&x->allocs);
    w->repeats += (double)live_word(&x->repeats);
    w->bytes += ext_word(&x->bytes);
    w->work += ext_word(&x->work);
    w->alloc_bytes += ext_word(&x->alloc_bytes);
    w->x += ext_word(&x->x), w->xx += ext_word(&x->xx), w->xy += ext_word(&x->xy);
    w->ln += ext_word(&x->ln), w->lx += ext_word(&x->lx), w->ly += ext_word(&x->ly);
    w->lxx += ext_word(&x->lxx), w->lxy += ext_word(&x->lxy);
    w->t += ext_word(&x->t), w->tt += ext_word(&x->tt), w->ty += ext_word(&x->ty);
    if (w->kind == LIVE_POOL)
        w->last += ext_word(&x->last);
    else
        w->last = ext_word(&x->last);
    if (w->threads == 0 || ext_word(&x->low) < w->low)
        w->low = ext_word(&x->low);
    if (w->kind == LIVE_POOL)
        w->high += ext_word(&x->high); /* an upper bound: peaks need not coincide */
    else if (w->threads == 0 || ext_word(&x->high) > w->high)
        w->high = ext_word(&x->high);
}

static void note_thread(struct zone_row *w, double ns)
{
    if (ns > w->thread_max)
        w->thread_max = ns;
}

static void add_node(struct merge *m, struct zone_row *w, const struct live_node *n)
{
    const struct live_task *t = &m->r->view.task[n->task];
    double ns = m->r->ns_per_tick;

    if (!w->count)
        w->first = (double)n->first * ns;
    if (n->ext)
        add_ext(w, n->ext);
    if (n->ext && n->kind == LIVE_OP) {
        w->n += (double)n->count - (double)live_word(&n->ext->untimed);
        w->y += (double)n->total;
        w->yy += n->squares;
    }
    w->count += n->count;
    w->open += n->is_open;
    w->raw_total += (double)n->total;
    w->squares += n->squares;
    if (n->min < w->min_ticks)
        w->min_ticks = n->min;
    if (n->max > w->max_ticks)
        w->max_ticks = n->max;
    if (n->count || n->is_open)
        w->threads += t->ended ? t->ended : 1;
    note_thread(w, (t->ended ? (double)n->open_since : (double)n->total) * ns);
    w->demoted |= n->is_demoted;
    w->precise |= n->is_precise;
    if (n->hist)
        for (int i = 0; i < LIVE_BUCKETS; i++) {
            uint64_t c = live_word(&n->hist[i]);

            if (c)
                row_hist(m, w)[i] += c;
        }
}

static void add_record(const struct live_record *rec, void *arg)
{
    struct merge *m = arg;
    struct zone_row *w = &m->r->row[m->r->row_of[rec->node]];
    const struct live_node *n = &m->r->view.node[rec->node];
    uint64_t end = rec->start + rec->duration;

    if (rec->duration < (uint64_t)1 << 62 && end > m->r->view.now)
        m->r->view.now = end; /* the header of a killed program is older */
    if (!rec->has_value && zone_row_is_timed(w))
        row_hist(m, w)[live_bucket(rec->duration)]++;
    if (!rec->in_trace && n->is_traced && m->r->view.task[n->task].trace_full)
        m->r->lost[FATHOM_LOST_TRACE]++; /* not folded yet: its page was not full */
}

/* Add the time so far, up to the latest known tick, of calls that have not ended. */
static void add_open(struct zone_rows *r)
{
    for (uint32_t i = 0; i < r->view.n_nodes; i++) {
        const struct live_node *n = &r->view.node[i];
        struct zone_row *w = &r->row[r->row_of[i]];

        if (!n->is_open || r->view.now <= n->open_since)
            continue;
        w->open_ticks += (double)(r->view.now - n->open_since);
        note_thread(w, (double)(n->total + r->view.now - n->open_since) * r->ns_per_tick);
    }
}

/* ---- Times ---- */

double zone_percentile(const struct zone_row *w, double share)
{
    uint64_t all = 0, below = 0;
    double want, low, high, x;

    for (int i = 0; w->hist && i < LIVE_BUCKETS; i++)
        all += w->hist[i];
    if (all == 0)
        return 0;
    want = share * (double)all;
    for (uint32_t i = 0; i < LIVE_BUCKETS; i++) {
        if (w->hist[i] == 0 || (double)(below + w->hist[i]) < want) {
            below += w->hist[i];
            continue;
        }
        low = live_bucket_low(i);
        high = i + 1 < LIVE_BUCKETS ? live_bucket_low(i + 1) : (double)w->max_ticks;
        x = low + (high - low) * (want - (double)below) / (double)w->hist[i];
        if (x > (double)w->max_ticks)
            x = (double)w->max_ticks;
        if (x < (double)w->min_ticks)
            x = (double)w->min_ticks;
        return x;
    }
    return (double)w->max_ticks;
}

/* Newton's method from a guess that halves the exponent: needs no libm and no compiler flags. */
double zone_sqrt(double x)
{
    double y = live_double((live_bits(x) >> 1) + ((uint64_t)1023 << 51));

    if (!(x > 0))
        return 0;
    for (int i = 0; i < 5; i++)
        y = 0.5 * (y + x / y);
    return y;
}

static double positive(double x)
{
    return x > 0 ? x : 0;
}

static double round_ns(double ns)
{
    return ns < 9e15 ? (double)(int64_t)(ns + 0.5) : 9e15; /* bounded: a file may be damaged */
}

static double timed_calls(const struct zone_row *w)
{
    return w->untimed < w->count ? (double)(w->count - w->untimed) : 0;
}

/* Subtract from each call what an empty zone measures, and from a zone also the cost of the zones
 * inside it.  How that cost is spread over the calls is unknown, so minimum and maximum keep it. */
static void finish_times(struct zone_rows *r, struct zone_row *w)
{
    double ns = r->ns_per_tick, inner = (double)r->view.head.cost[w->precise].inner;
    double timed = timed_calls(w), mean = timed > 0 ? w->raw_total / timed : 0, variance;

    if (timed > 0 && w->untimed > 0)
        w->raw_total = mean * (double)w->count; /* all calls are counted, some are timed */
    w->raw_total += w->open_ticks;
    variance = timed > 1 ? (w->squares - timed * mean * mean) / (timed - 1) : 0;
    w->stddev = zone_sqrt(positive(variance)) * ns;
    w->mean = positive(mean - inner) * ns;
    w->min = timed > 0 ? positive((double)w->min_ticks - inner) * ns : 0;
    w->max = positive((double)w->max_ticks - inner) * ns;
    w->first = positive(w->first - inner * ns);
    /* Rounded like minimum and maximum, so that no percentile is beyond them. */
    w->p50 = positive(zone_percentile(w, 0.5) - inner) * ns;
    w->p90 = positive(zone_percentile(w, 0.9) - inner) * ns;
    w->p99 = positive(zone_percentile(w, 0.99) - inner) * ns;
    w->p999 = positive(zone_percentile(w, 0.999) - inner) * ns;
    w->total = positive(w->raw_total - (double)w->count * inner - w->below_ticks) * ns;
    w->raw_total *= ns;
}

static void roll_up(struct zone_rows *r)
{
    for (uint32_t i = r->n; i-- > 0;) {
        struct zone_row *w = &r->row[i];
        struct zone_row *up = w->parent == LIVE_NO_NODE ? NULL : &r->row[w->parent];
        double cost = timed_calls(w) * (double)r->view.head.cost[w->precise].pair;

        if (zone_row_is_timed(w)) {
            r->calls += w->untimed < w->count ? w->count - w->untimed : 0;
            r->overhead_ns += cost * r->ns_per_tick;
        }
        if (up && zone_row_is_nested(w)) {
            up->below_ticks += w->below_ticks + cost;
            up->children_calls += (double)w->count;
        } else if (up && w->kind == LIVE_CONTEXT) {
            up->below_ticks += w->below_ticks;
        }
    }
    r->overhead_ns = round_ns(r->overhead_ns);
    for (uint32_t i = 0; i < r->n; i++)
        if (zone_row_is_timed(&r->row[i]))
            finish_times(r, &r->row[i]);
}

/* Compute from the leaves up.  Self time is a whole number of nanoseconds, and total time is the
 * sum of the self times of the row and its descendants, so that every format shows the same
 * figures.  A context has no clock of its own: its time is that of its contents. */
static void self_times(struct zone_rows *r)
{
    for (uint32_t i = r->n; i-- > 0;) {
        struct zone_row *w = &r->row[i];
        bool nested = zone_row_is_nested(w);

        w->self = nested ? round_ns(positive(w->total - w->inside)) : 0;
        if (nested || w->kind == LIVE_CONTEXT) {
            w->total = w->self + w->inside;
            if (w->parent != LIVE_NO_NODE)
                r->row[w->parent].inside += w->total;
        } else {
            w->total = round_ns(w->total);
        }
        r->all_ns += w->self;
        if (w->total > 0 && !w->open && w->count && w->kind != LIVE_CONTEXT)
            w->mean = w->total / (double)w->count; /* from the figures shown, so that they agree */
        w->throughput = w->total > 0 && w->bytes > 0 ? w->bytes / (w->total / 1e9) : 0;
    }
}

/* ---- Self time per thread ---- */

/* Store the self ticks of each node in PART.  The contents of a context count as inside the zone
 * around it. */
static void node_ticks(struct zone_rows *r)
{
    const struct live_view *v = &r->view;

    for (uint32_t i = v->n_nodes; i-- > 0;) {
        const struct live_node *n = &v->node[i];
        bool nested = zone_row_is_nested(&r->row[r->row_of[i]]);
        double ticks = r->part[i]; /* so far the ticks of its children */

        if (nested) {
            ticks = (double)n->total;
            if (n->is_open && v->now > n->open_since)
                ticks += (double)(v->now - n->open_since);
        }
        if ((nested || n->kind == LIVE_CONTEXT) && n->parent != LIVE_NO_NODE)
            r->part[n->parent] += ticks;
        r->part[i] = nested ? positive(ticks - r->part[i]) : 0;
        r->row[r->row_of[i]].own_ticks += r->part[i];
    }
}

/* Distribute the self time of a row in proportion.  Rounding errors carry over to the next thread,
 * so that the parts add up to the row. */
static void share_self_times(struct zone_rows *r)
{
    node_ticks(r);
    for (uint32_t i = 0; i < r->view.n_nodes; i++) {
        struct zone_row *w = &r->row[r->row_of[i]];
        double upto;

        w->ticks_before += r->part[i];
        upto = w->own_ticks > 0 ? round_ns(w->self * (w->ticks_before / w->own_ticks)) : w->self;
        r->part[i] = upto - w->self_before;
        w->self_before = upto;
    }
}

static bool comes_before(const struct zone_row *a, const struct zone_row *b)
{
    return a->total > b->total || (a->total == b->total && a->count > b->count);
}

/* Cut off the first N rows of the list FROM; returns the rest. */
static uint32_t cut_list(struct zone_rows *r, uint32_t from, uint32_t n)
{
    uint32_t rest;

    while (--n && from != LIVE_NO_NODE)
        from = r->row[from].next;
    if (from == LIVE_NO_NODE)
        return LIVE_NO_NODE;
    rest = r->row[from].next;
    r->row[from].next = LIVE_NO_NODE;
    return rest;
}

/* Append the sorted lists A and B, merged, at *TO; returns where the next list goes. */
static uint32_t *merge_lists(struct zone_rows *r, uint32_t a, uint32_t b, uint32_t *to)
{
    while (a != LIVE_NO_NODE || b != LIVE_NO_NODE) {
        bool take_b = a == LIVE_NO_NODE ||
                      (b != LIVE_NO_NODE && comes_before(&r->row[b], &r->row[a]));
        uint32_t *from = take_b ? &b : &a;

        *to = *from;
        to = &r->row[*to].next;
        *from = *to;
    }
    *to = LIVE_NO_NODE;
    return to;
}

/* A merge sort: equal rows keep their order, and it needs neither memory nor recursion. */
static void sort_list(struct zone_rows *r, uint32_t *first)
{
    bool done = *first == LIVE_NO_NODE || r->row[*first].next == LIVE_NO_NODE;

    for (uint32_t n = 1; !done; n *= 2) {
        uint32_t left = *first, *to = first;

        done = true;
        while (left != LIVE_NO_NODE) {
            uint32_t b = cut_list(r, left, n), rest = LIVE_NO_NODE;

            if (b != LIVE_NO_NODE)
                rest = cut_list(r, b, n);
            done &= rest == LIVE_NO_NODE && to == first;
            to = merge_lists(r, left, b, to);
            left = rest;
        }
    }
}

static void link_rows(struct zone_rows *r)
{
    for (uint32_t i = r->n; i-- > 0;) {
        uint32_t parent = r->row[i].parent;

        if (parent == LIVE_NO_NODE)
            continue;
        r->row[i].next = r->row[parent].child;
        r->row[parent].child = i;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        struct zone_row *w = &r->row[i];

        w->depth = w->parent == LIVE_NO_NODE ? 0 : r->row[w->parent].depth + 1;
        sort_list(r, &w->child);
    }
}

/* ---- Reading a region ---- */

static int take_memory(struct zone_rows *r, struct merge *m)
{
    uint32_t n = r->view.n_nodes, slots = 16;
    size_t rows, ids, table, hist, parts;
    char *p;

    while (slots < 2 * n)
        slots *= 2;
    rows = ((size_t)n + 1) * sizeof *r->row;
    ids = ((size_t)n + 1) * 4;
    table = (size_t)slots * 4;
    hist = (size_t)n * LIVE_BUCKETS * 8;
    parts = ((size_t)n + 1) * sizeof *r->part;
    r->bytes = rows + hist + parts + ids + table;
    p = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return FATHOM_E_MEMORY;
    r->memory = p;
    r->row = (struct zone_row *)p;
    m->hist = (uint64_t *)(p + rows);
    r->part = (double *)(p + rows + hist);
    r->row_of = (uint32_t *)(p + rows + hist + parts);
    m->slot = r->row_of + n + 1;
    m->mask = slots - 1;
    return 0;
}

static void sum_losses(struct zone_rows *r)
{
    for (int c = 0; c < FATHOM_LOST_CAUSES; c++) {
        r->lost[c] += r->view.head.lost[c];
        for (uint32_t i = 0; i < r->view.n_tasks; i++)
            r->lost[c] += r->view.task[i].lost[c];
    }
}

/* A killed program may not have stored the length of its ticks.  If the counter is that of this
 * machine and boot, compute it now. */
static void learn_rate(struct live_header *h)
{
    if (h->clock == LIVE_TICKS && h->last_ticks == h->start_ticks && h->boot &&
        h->boot == live_boot_id()) {
        h->last_ticks = fathom_cycles();
        h->last_ns = clock_mono_ns();
    }
}

static double ticks_since_clear(const struct live_view *v)
{
    const struct live_header *h = &v->head;
    uint64_t from = h->cleared_ticks > h->start_ticks ? h->cleared_ticks : h->start_ticks;

    return v->now > from ? (double)(v->now - from) : 0;
}

int zone_rows_read(struct zone_rows *r, const void *data, size_t size, bool per_thread)
{
    struct merge m = { .r = r, .per_thread = per_thread };

    memset(r, 0, sizeof *r);
    if (live_open(&r->view, data, size) < 0)
        return FATHOM_E_FORMAT;
    if (take_memory(r, &m) < 0) {
        live_close(&r->view);
        r->view.why = "out of memory";
        return FATHOM_E_MEMORY;
    }
    learn_rate(&r->view.head);
    r->ns_per_tick = live_ns_per_tick(&r->view.head);
    for (uint32_t i = 0; i < r->view.n_nodes; i++) {
        r->row_of[i] = find_row(&m, &r->view.node[i]);
        add_node(&m, &r->row[r->row_of[i]], &r->view.node[i]);
    }
    live_each_record(&r->view, add_record, &m);
    add_open(r);
    for (uint32_t i = 0; i < r->view.n_tasks; i++)
        r->n_threads += r->view.task[i].ended ? r->view.task[i].ended
                                              : r->view.task[i].tid != 0;
    sum_losses(r);
    r->wall_ns = ticks_since_clear(&r->view) * r->ns_per_tick;
    roll_up(r);
    self_times(r);
    share_self_times(r);
    link_rows(r);
    return 0;
}

void zone_rows_free(struct zone_rows *r)
{
    live_close(&r->view);
    if (r->memory)
        munmap(r->memory, r->bytes);
    memset(r, 0, sizeof *r);
}

bool zone_rows_in(const struct zone_rows *r, uint32_t row, const char *context)
{
    if (!context)
        return true;
    for (row = r->row[row].inside_of; row != LIVE_NO_NODE;) {
        if (!strcmp(r->row[row].name, context))
            return true;
        row = r->row[row].parent == LIVE_NO_NODE ? LIVE_NO_NODE
                                                 : r->row[r->row[row].parent].inside_of;
    }
    return false;
}

const char *zone_rows_context(const struct zone_rows *r, uint32_t row)
{
    row = r->row[row].inside_of;
    return row == LIVE_NO_NODE ? "" : r->row[row].name;
}

size_t zone_rows_path(const struct zone_rows *r, uint32_t row, char separator, char *text,
                      size_t cap)
{
    uint32_t chain[64];
    size_t n = 0, at = 0;

    for (; row != LIVE_NO_NODE && n < 64; row = r->row[row].parent)
        if (r->row[row].kind < LIVE_ROOT)
            chain[n++] = row;
    while (n-- > 0) {
        const char *name = r->row[chain[n]].name;

        for (; *name; name++)
            if (at + 2 < cap)
                text[at++] = *name == separator ? '_' : *name;
        if (n && at + 2 < cap)
            text[at++] = separator;
    }
    if (cap)
        text[at] = 0;
    return at;
}
