/* an_report_head.c - the text above the tables of a report: the recording, its quality, the whole
 * cost, and the running and waiting of a recording with --wall.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/an_quality.h"
#include "analyze/an_report.h"
#include "text/human.h"

enum { THREAD_ROWS = 12, KINDS_SHOWN = 3, SHOWN_PCT = 5, ONLY_PCT = 95,
       PLACES_SHOWN = 4, GUESSED_PCT = 1 };

/* --- wait kinds ------------------------------------------------------------------------- */

struct ranked {
    unsigned kind;
    int64_t ns;
};

static int longest_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return x->kind < y->kind ? -1 : 1;
}

/* Sort the wait kinds by time.  Return their number, and their sum in *SUM. */
static size_t rank(const struct an_report *r, const int64_t *kind, struct ranked *v, int64_t *sum)
{
    size_t n = 0;

    *sum = 0;
    for (unsigned i = 1; i < r->view->n_kinds; i++)
        if (kind[i] > 0) {
            v[n++] = (struct ranked){ i, kind[i] };
            *sum += kind[i];
        }
    qsort(v, n, sizeof *v, longest_first);
    return n;
}

const char *an_report_kinds(const struct an_report *r, const int64_t *kind, struct buf *text)
{
    struct ranked v[AN_KINDS];
    int64_t sum = 0;
    size_t n = kind ? rank(r, kind, v, &sum) : 0;

    text->n = 0;
    if (n && (double)v[0].ns * 100 >= (double)sum * ONLY_PCT) {
        buf_printf_clean(text, "%s", r->view->kind[v[0].kind]);
        return buf_text(text);
    }
    for (size_t i = 0; i < n && i < KINDS_SHOWN; i++) {
        double pct = 100.0 * (double)v[i].ns / (double)sum;

        if (pct >= SHOWN_PCT)
            buf_printf_clean(text, "%s%s %.0f %%", i ? ", " : "", r->view->kind[v[i].kind], pct);
    }
    return buf_text(text);
}

struct result_value an_report_kinds_value(struct an_report *r, const int64_t *kind)
{
    struct result_value v = result_object(&r->result);

    for (unsigned i = 1; kind && i < r->view->n_kinds; i++)
        if (kind[i])
            result_put(&r->result, v, r->view->kind[i], result_int(kind[i]));
    return v;
}

/* --- facts for JSON --------------------------------------------------------------------- */

/* What limits have left out of the profile and of this report. */
static const char *cut_text(struct an_report *r)
{
    const char *cut = r->p->cut;

    if (!r->trees.reach)
        return cut;
    return result_printf(&r->result, "%s%scallers more than %u calls away are left out", cut,
                         *cut ? "; " : "", r->trees.reach - 1);
}

static void put_facts(struct an_report *r)
{
    struct result *s = &r->result;
    struct result_value metric = result_object(s), metrics = result_list(s);
    struct result_value meta = result_object(s);

    result_put(s, metric, "name", result_text(an_view_name(r->view)));
    result_put(s, metric, "unit", result_text(r->unit));
    result_put(s, metric, "exact", result_bool(an_view_is_exact(r->view)));
    for (size_t i = 0; i < r->p->metric.n; i++)
        result_put(s, metrics, NULL,
                   result_text(profile_string(r->p, r->p->metric.v[i].name)));
    for (size_t i = 0; i < r->p->meta.n; i++)
        result_put(s, meta, r->p->meta.v[i].key, result_text(r->p->meta.v[i].value));
    result_fact(s, "version", result_uint(1));
    result_fact(s, "metric", metric);
    result_fact(s, "metrics", metrics);
    result_fact(s, "total", result_int(r->all.weight));
    result_fact(s, "samples", result_uint(r->all.samples));
    result_fact(s, "effective_samples", result_real(r->all.effective, 1));
    result_fact(s, "damage", result_text(r->p->damage));
    result_fact(s, "cut", result_text(cut_text(r)));
    result_fact(s, "missing_bytes", result_uint(r->p->missing_bytes));
    result_fact(s, "meta", meta);
    if (!an_report_has_waits(r))
        return;
    result_fact(s, "running", result_int(r->threads.kind[0]));
    result_fact(s, "waiting", result_int(r->threads.waiting));
    result_fact(s, "waits_for", an_report_kinds_value(r, r->threads.kind));
    result_fact(s, "waiting_guessed", result_int(r->threads.guessed));
}

/* --- text ------------------------------------------------------------------------------- */

static void add_other_metrics(const struct an_report *r, struct buf *b)
{
    const char *name = an_view_name(r->view), *before = "; also:";

    for (size_t i = 0; i < r->p->metric.n; i++) {
        const char *other = profile_string(r->p, r->p->metric.v[i].name);

        if (strcmp(other, name) == 0)
            continue;
        buf_printf_clean(b, "%s -m %s", before, other);
        before = ",";
    }
}

/* Explain an empty table: usually the program used little CPU time. */
static void add_no_samples(const struct an_report *r, struct buf *b)
{
    bool ours = *profile_meta(r->p, "quality.samples") && !*r->p->damage;

    buf_str(b, "no samples");
    if (r->p->metric.n > 1 && !*r->p->damage)
        add_other_metrics(r, b);
    else if (ours)
        buf_str(b, ": the program used little CPU time; use record --wall to see waiting, or a "
                   "higher -F for short runs");
    buf_u8(b, '\n');
}

static double pct_of(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Return the innermost function of STACK that is not part of the C library. */
static const char *place_name(const struct an_report *r, uint32_t stack)
{
    const struct profile *p = r->p;
    const char *first = "";

    for (; stack; stack = p->stack.v[stack - 1].parent) {
        uint32_t frame = p->stack.v[stack - 1].frame;
        struct profile_chain c = r->symbols.frame.v[frame - 1];
        const struct an_symbol *y = &r->symbols.symbol.v[r->symbols.chain.v[c.first + c.n - 1]];
        const char *module = an_module_name(p, p->frame.v[frame - 1].module);

        if (!*first)
            first = y->name;
        if (strncmp(module, "libc.", 5) != 0 && strncmp(module, "libpthread", 10) != 0 &&
            p->frame.v[frame - 1].kind != FRAME_KERNEL)
            return y->name;
    }
    return *first ? first : "[no stack]";
}

/* Print idle threads by the place they wait in: "200 idle threads not counted: 199 in pool
 * (futex), 1 in accept_loop (accept)". */
static void add_idle(const struct an_report *r, struct buf *b)
{
    const struct an_threads *t = &r->threads;
    const struct an_thread *idle = t->v.v + (t->v.n - t->n_idle); /* idle threads come last */
    struct buf text = { 0 };
    size_t shown = 0;

    buf_printf(b, "%s idle thread%s not counted (--idle):", human_u64(t->n_idle).s,
               t->n_idle == 1 ? "" : "s");
    for (size_t i = 0, n = 1; i < t->n_idle; i += n, n = 1) {
        const char *place = place_name(r, idle[i].place);

        if (shown == PLACES_SHOWN) {
            buf_str(b, ", ...");
            break;
        }
        while (i + n < t->n_idle && strcmp(place, place_name(r, idle[i + n].place)) == 0)
            n++;
        buf_printf_clean(b, "%s %s in %s (%s)", shown++ ? "," : "", human_u64(n).s, place,
                         an_report_kinds(r, idle[i].kind, &text));
    }
    buf_u8(b, '\n');
    buf_release(&text);
}

/* "wall: 5.13 s of 2 threads = 608 ms running (11.9 %) + 4.52 s waiting (88.1 %)", then the
 * waits by kind. */
static void add_waits(const struct an_report *r, struct buf *b)
{
    const struct an_threads *t = &r->threads;
    int64_t whole = t->kind[0] + t->waiting, sum;
    struct ranked v[AN_KINDS];
    size_t n = rank(r, t->kind, v, &sum);

    buf_printf_clean(b, "%s: %s of %s thread%s", an_view_name(r->view), human_ns((double)whole).s,
                     human_u64(t->n_busy).s, t->n_busy == 1 ? "" : "s");
    if (r->view->metric)
        buf_printf(b, " = running %s (%.1f %%) + waiting %s (%.1f %%)",
                   human_ns((double)t->kind[0]).s, pct_of(t->kind[0], whole),
                   human_ns((double)t->waiting).s, pct_of(t->waiting, whole));
    add_other_metrics(r, b);
    buf_u8(b, '\n');
    for (size_t i = 0; i < n; i++)
        buf_printf_clean(b, "%s%s %s (%.1f %%)", i ? ", " : "waiting: ", r->view->kind[v[i].kind],
                         human_ns((double)v[i].ns).s, pct_of(v[i].ns, whole));
    buf_str(b, n ? "\n" : "");
    if (pct_of(t->guessed, t->waiting) >= GUESSED_PCT)
        buf_printf(b, "%s of the waiting was not observed; it is attributed to the last known "
                      "stack of its thread, if any\n",
                   human_ns((double)t->guessed).s);
    if (t->n_idle)
        add_idle(r, b);
}

static void add_cost(const struct an_report *r, struct buf *b)
{
    if (strcmp(r->unit, "samples") == 0) {
        buf_printf(b, "%s samples\n\n", human_count(r->all.weight).s);
        return;
    }
    buf_printf_clean(b, "%s: %s in %s %s%s", an_view_name(r->view),
                     human_weight((double)r->all.weight, r->unit).s, human_u64(r->all.samples).s,
                     r->exact ? "event" : "sample", r->all.samples == 1 ? "" : "s");
    add_other_metrics(r, b);
    buf_str(b, "\n\n");
}

/* --- threads ---------------------------------------------------------------------------- */

static const struct result_column thread_columns[] = {
    { "thread", NULL, TABLE_NAME }, { NULL, "name" }, { NULL, "tid" }, { "running", "running" },
    { "waiting", "waiting" }, { "waits for", "waits_for", TABLE_NAME }, { NULL, "idle" },
};

static void put_thread(struct an_report *r, struct result_table *t, const struct an_thread *x)
{
    const struct thread *of = x->thread ? &r->p->thread.v[x->thread - 1] : NULL;
    const char *name = of ? profile_string(r->p, of->name) : "";
    struct buf text = { 0 };

    if (of)
        buf_printf(&text, "%s (%" PRId64 ")", *name ? name : "?", of->tid);
    else
        buf_str(&text, "[no thread]");
    result_cell(t, result_none());
    result_show(t, buf_text(&text));
    result_cell(t, result_text(name));
    result_cell(t, result_int(of ? of->tid : 0));
    result_cell(t, result_int(x->kind[0]));
    result_show(t, x->kind[0] ? human_ns((double)x->kind[0]).s : "");
    result_cell(t, result_int(x->waiting));
    result_show(t, x->waiting ? human_ns((double)x->waiting).s : "");
    result_cell(t, an_report_kinds_value(r, x->kind));
    result_show(t, an_report_kinds(r, x->kind, &text));
    result_cell(t, result_bool(x->idle));
    buf_release(&text);
}

/* JSON contains all threads.  Text shows busy threads if there are several. */
static void add_threads(struct an_report *r)
{
    struct result_table *t = result_table(&r->result, "threads", thread_columns,
                                          ARRAY_LEN(thread_columns));
    bool by_thread = r->query->levels.n && r->query->levels.by[0] == AN_BY_THREAD;
    size_t busy = r->threads.v.n - r->threads.n_idle;

    for (size_t i = 0; i < r->threads.v.n; i++)
        put_thread(r, t, &r->threads.v.v[i]);
    t->before = "\n";
    t->text_rows = by_thread || busy < 2 || an_report_is_empty(r) ? 0
                   : busy < THREAD_ROWS                     ? busy
                                                            : THREAD_ROWS;
    if (busy > THREAD_ROWS)
        t->after = result_printf(&r->result, "... %s more; -b thread shows all\n",
                                 human_u64(busy - THREAD_ROWS).s);
}

void an_report_head(struct an_report *r)
{
    struct buf *b = &r->result.head;
    struct out quality = out_memory();

    an_quality_facts(r->p, &quality);
    an_quality_lines(r->p, &quality);
    if (r->trees.reach)
        out_printf(&quality, "cut: callers more than %u calls away are left out\n",
                   r->trees.reach - 1);
    buf_add(b, quality.buf.data, quality.buf.n);
    out_close(&quality, NULL);
    if (b->n)
        buf_u8(b, '\n');
    if (an_report_is_empty(r))
        add_no_samples(r, b);
    else if (an_report_has_waits(r))
        add_waits(r, b);
    else
        add_cost(r, b);
    put_facts(r);
    if (an_report_has_waits(r))
        add_threads(r);
}
