/* cfi_compile.c - compile the FDEs of a module into its table, in time linear in the size of the
 * CFI: FDEs are radix-sorted by address, then run in order, and rows are appended in place.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/hash.h"
#include "cfi/cfi_analyse.h"
#include "cfi/cfi_go.h"
#include "cfi/cfi_read.h"
#include "cfi/cfi_table.h"

enum {
    RULE_SLOTS = 1 << 16, /* twice the greatest number of rules */
    PADDING = 15,         /* bytes between functions that never run: a rule may cover them */
};

struct builder {
    uint64_t low; /* address of page 0 */
    VEC(struct unw_row) rows;
    VEC(uint32_t) pages; /* first row of each page begun */
    VEC(struct unw_rule) rules; /* [0] is unused */
    uint16_t slots[RULE_SLOTS];
    uint16_t in_force; /* rule of the last row */
    uint64_t end;      /* of the code described so far */
};

/* Number of rule R; 0 when it is empty, or when there are too many. */
static uint16_t rule_id(struct builder *b, const struct unw_rule *r)
{
    struct unw_rule_words w = unw_rule_words(r);
    uint32_t at = (uint32_t)hash_u64(hash_pair(w.a, w.b)) % RULE_SLOTS;

    if (r->cfa == UNW_CFA_NONE && unw_rule_at(r, UNW_PC) != UNW_AT_ROOT)
        return 0;
    for (; b->slots[at]; at = (at + 1) % RULE_SLOTS)
        if (unw_rule_equal(&b->rules.v[b->slots[at]], r))
            return b->slots[at];
    if (b->rules.n > UNW_MAX_RULE)
        return 0;
    b->slots[at] = (uint16_t)b->rules.n;
    vec_push(&b->rules, *r);
    return b->slots[at];
}

/* Begin every page up to PAGE, repeating the rule in force at its start. */
static void begin_pages(struct builder *b, uint64_t page)
{
    while (b->pages.n <= page) {
        vec_push(&b->pages, (uint32_t)b->rows.n);
        if (b->in_force)
            vec_push(&b->rows, ((struct unw_row){ 0, b->in_force }));
    }
}

static void add_row(struct builder *b, uint64_t address, uint16_t id)
{
    uint64_t at = address - b->low;
    uint16_t low = (uint16_t)at;

    begin_pages(b, at >> 16);
    b->in_force = id;
    if (b->rows.n > b->pages.v[b->pages.n - 1] && b->rows.v[b->rows.n - 1].low == low)
        b->rows.v[b->rows.n - 1].rule = id; /* replaces the row that begin_pages repeated */
    else
        vec_push(&b->rows, ((struct unw_row){ low, id }));
}

static void take_row(void *arg, uint64_t address, const struct unw_rule *rule)
{
    struct builder *b = arg;
    uint16_t id = rule_id(b, rule);

    if (id != b->in_force)
        add_row(b, address, id);
}

/* --- sorting --- */

struct key {
    uint32_t at; /* start - low */
    uint32_t fde;
};

static int by_start(const void *a, const void *b)
{
    const struct cfi_fde *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_sorted(const struct cfi_fde *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_start(&v[i - 1], &v[i]) > 0)
            return false;
    return true;
}

/* Stable counting sort of FROM into TO by the SHIFT-th eleven bits. */
static void radix_pass(const struct key *from, struct key *to, size_t n, unsigned shift)
{
    uint32_t at[2048] = { 0 }, sum = 0;

    for (size_t i = 0; i < n; i++)
        at[from[i].at >> shift & 2047]++;
    for (size_t i = 0; i < 2048; i++) {
        uint32_t count = at[i];

        at[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i].at >> shift & 2047]++] = from[i];
}

/* Sort by start, then by order found.  Offsets up to 4 GB use radix sort, others qsort. */
static void sort_fdes(struct cfi *cfi, uint64_t low)
{
    size_t n = cfi->fdes.n;
    struct cfi_fde *sorted;
    struct key *a, *b;

    if (is_sorted(cfi->fdes.v, n))
        return;
    for (size_t i = 0; i < n; i++)
        if (cfi->fdes.v[i].start - low > UINT32_MAX) {
            qsort(cfi->fdes.v, n, sizeof *cfi->fdes.v, by_start);
            return;
        }
    a = mem_alloc(n * sizeof *a);
    b = mem_alloc(n * sizeof *b);
    for (size_t i = 0; i < n; i++)
        a[i] = (struct key){ (uint32_t)(cfi->fdes.v[i].start - low), (uint32_t)i };
    radix_pass(a, b, n, 0);
    radix_pass(b, a, n, 11);
    radix_pass(a, b, n, 22);
    sorted = mem_alloc(n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = cfi->fdes.v[b[i].fde];
    free(a);
    free(b);
    free(cfi->fdes.v);
    cfi->fdes.v = sorted;
    cfi->fdes.cap = n;
}

/* Lowest address; FDEs further away than UNW_TABLE_SPAN are dropped. */
static uint64_t limit_span(struct cfi *cfi)
{
    uint64_t low = UINT64_MAX;
    size_t kept = 0;

    for (size_t i = 0; i < cfi->fdes.n; i++)
        if (cfi->fdes.v[i].start < low)
            low = cfi->fdes.v[i].start;
    low &= ~(uint64_t)0xffff;
    for (size_t i = 0; i < cfi->fdes.n; i++)
        if (cfi->fdes.v[i].start - low + cfi->fdes.v[i].size <= UNW_TABLE_SPAN)
            cfi->fdes.v[kept++] = cfi->fdes.v[i];
    cfi->fdes.n = kept;
    return kept ? low : 0;
}

/* --- the table --- */

static void note_top(void *arg, uint64_t start, uint64_t end, bool is_top)
{
    if (is_top)
        umap_put(arg, start, 1);
}

/* The .debug_frame of a Go program does not say where its stacks end, but its own table does. */
static void drop_go_tops(struct cfi *cfi, struct cfi_elf *elf)
{
    struct umap tops = { 0 };
    size_t kept = 0;

    cfi_go_each(elf, note_top, &tops);
    for (size_t i = 0; i < cfi->fdes.n && tops.n; i++)
        if (!umap_find(&tops, cfi->fdes.v[i].start))
            cfi->fdes.v[kept++] = cfi->fdes.v[i];
    cfi->fdes.n = tops.n ? kept : cfi->fdes.n;
    umap_release(&tops);
}

/* Find the code that no FDE describes. */
static void find_gaps(const struct cfi *cfi, struct cfi_ranges *gaps)
{
    uint64_t end = 0;

    for (size_t i = 0; i <= cfi->fdes.n; i++) {
        const struct cfi_fde *fde = &cfi->fdes.v[i];
        uint64_t start = i < cfi->fdes.n ? fde->start : UINT64_MAX;

        if (start > end && start - end > PADDING)
            vec_push(&gaps->v, ((struct cfi_range){ end, start }));
        if (i < cfi->fdes.n && start + fde->size > end)
            end = start + fde->size;
    }
}

/* Add the rules of the code before END that has none so far. */
static void add_spans(struct builder *b, struct cfi_spans *spans, uint64_t end)
{
    for (; spans->done < spans->v.n && spans->v.v[spans->done].start < end; spans->done++) {
        const struct cfi_span *s = &spans->v.v[spans->done];

        take_row(b, s->start, &s->rule);
        if (spans->done + 1 == spans->v.n || s[1].start != s->end)
            add_row(b, s->end, 0);
        b->end = s->end;
    }
}

/* Run every FDE.  If two overlap, the one that starts later takes over; if two have the same
 * start, the first found wins.  SPANS fill the gaps. */
static void run_all(struct builder *b, const struct cfi *cfi, struct cfi_spans *spans)
{
    uint64_t end;

    for (size_t i = 0, next; i < cfi->fdes.n; i = next) {
        const struct cfi_fde *fde = &cfi->fdes.v[i];

        for (next = i + 1; next < cfi->fdes.n && cfi->fdes.v[next].start == fde->start;)
            next++;
        add_spans(b, spans, fde->start);
        end = fde->start + fde->size;
        if (next < cfi->fdes.n && cfi->fdes.v[next].start < end)
            end = cfi->fdes.v[next].start;
        cfi_run(cfi, fde, end, take_row, b);
        if (next == cfi->fdes.n || cfi->fdes.v[next].start - end > PADDING)
            add_row(b, end, 0);
        b->end = end;
    }
    add_spans(b, spans, UINT64_MAX);
}

static void lay_out(struct unw_body *body, const struct builder *b, struct unw_header h)
{
    size_t rules = b->rules.n * sizeof(struct unw_rule);
    size_t pages = (b->pages.n + 1) * sizeof(uint32_t);
    size_t rows = b->rows.n * sizeof(struct unw_row);
    unsigned char *p;

    h.n_rules = (uint32_t)b->rules.n;
    h.n_pages = (uint32_t)b->pages.n;
    h.n_rows = (uint32_t)b->rows.n;
    *body = (struct unw_body){ .size = sizeof h + rules + pages + rows };
    p = mem_alloc(body->size);
    memcpy(p, &h, sizeof h);
    memcpy(p + sizeof h, b->rules.v, rules);
    if (b->pages.n)
        memcpy(p + sizeof h + rules, b->pages.v, pages - sizeof(uint32_t));
    memcpy(p + sizeof h + rules + pages - sizeof(uint32_t), &h.n_rows, sizeof(uint32_t));
    if (rows)
        memcpy(p + sizeof h + rules + pages, b->rows.v, rows);
    body->header = (const void *)p;
    body->rules = (const void *)(p + sizeof h);
    body->pages = (const void *)(p + sizeof h + rules);
    body->rows = (const void *)(p + sizeof h + rules + pages);
}

/* Derive rules for the code in the gaps.  The result lies within UNW_TABLE_SPAN of b->low, which
 * becomes its first page if that is lower. */
static void analyse_gaps(struct builder *b, const struct cfi *cfi, struct cfi_elf *elf,
                         struct cfi_spans *spans)
{
    struct cfi_ranges gaps = { 0 };
    size_t n = cfi->fdes.n;
    uint64_t end = n ? cfi->fdes.v[n - 1].start + cfi->fdes.v[n - 1].size : 0, low;

    find_gaps(cfi, &gaps);
    cfi_analyse(elf, gaps.v.v, gaps.v.n, spans);
    vec_release(&gaps.v);
    if (!spans->v.n)
        return;
    low = spans->v.v[0].start & ~(uint64_t)0xffff;
    low = n && b->low < low ? b->low : low;
    if (spans->v.v[spans->v.n - 1].end - low > UNW_TABLE_SPAN ||
        (n && end - low > UNW_TABLE_SPAN))
        spans->v.n = 0;
    else
        b->low = low;
}

void cfi_compile(struct unw_body *body, struct cfi_elf *elf)
{
    struct cfi_spans spans = { 0 };
    struct cfi cfi = { .elf = elf };
    struct builder *b = mem_zalloc(sizeof *b);
    struct unw_header h = { .magic = UNW_TABLE_MAGIC, .version = UNW_TABLE_VERSION };

    cfi_read(&cfi, &elf->eh_frame, true);
    cfi_read(&cfi, &elf->debug_frame, false);
    vec_push(&b->rules, ((struct unw_rule){ 0 }));
    h.arch = elf->machine->arch;
    if (cfi_analyse_version())
        drop_go_tops(&cfi, elf);
    b->low = limit_span(&cfi);
    sort_fdes(&cfi, b->low);
    analyse_gaps(b, &cfi, elf, &spans);
    h.low = b->low;
    h.start = cfi.fdes.n ? cfi.fdes.v[0].start : 0;
    if (spans.v.n && (!cfi.fdes.n || spans.v.v[0].start < h.start))
        h.start = spans.v.v[0].start;
    run_all(b, &cfi, &spans);
    h.end = b->end;
    vec_release(&spans.v);
    lay_out(body, b, h);
    vec_release(&b->rows);
    vec_release(&b->pages);
    vec_release(&b->rules);
    free(b);
    cfi_release(&cfi);
}
