/* report_waits.c - running and waiting: what stands above the tables of a recording with
 * --wall, and the words for kinds of waits.  SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "text/human.h"
#include "text/table.h"

enum { THREAD_ROWS = 12, KINDS_SHOWN = 3, SHOWN_PCT = 5, ONLY_PCT = 95,
       PLACES_SHOWN = 4, TOLD_PCT = 1 };

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

/* Waits by length; returns how many there are, and their sum. */
static size_t rank(const struct report *r, const int64_t *kind, struct ranked *v, int64_t *sum)
{
    size_t n = 0;

    *sum = 0;
    for (unsigned i = 1; i < r->view.n_kinds; i++)
        if (kind[i] > 0) {
            v[n++] = (struct ranked){ i, kind[i] };
            *sum += kind[i];
        }
    qsort(v, n, sizeof *v, longest_first);
    return n;
}

const char *report_kinds(const struct report *r, const int64_t *kind, struct buf *text)
{
    struct ranked v[AN_KINDS];
    int64_t sum = 0;
    size_t n = kind ? rank(r, kind, v, &sum) : 0;

    text->n = 0;
    if (n && (double)v[0].ns * 100 >= (double)sum * ONLY_PCT) {
        buf_str(text, r->view.kind[v[0].kind]);
        return buf_text(text);
    }
    for (size_t i = 0; i < n && i < KINDS_SHOWN; i++) {
        double pct = 100.0 * (double)v[i].ns / (double)sum;

        if (pct >= SHOWN_PCT)
            buf_printf(text, "%s%s %.0f %%", i ? ", " : "", r->view.kind[v[i].kind], pct);
    }
    return buf_text(text);
}

static double pct_of(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The innermost function of the place it waits in that is not the C library's. */
static const char *place_name(const struct report *r, uint32_t stack)
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
    return first;
}

/* Idle threads by where they wait: "200 idle threads not counted: 199 in pool (futex), 1 in
 * accept_loop (accept)". */
static void put_idle(const struct report *r, struct out *o)
{
    const struct an_threads *t = &r->threads;
    const struct an_thread *idle = t->v.v + (t->v.n - t->n_idle); /* they are the last */
    struct buf text = { 0 };
    size_t told = 0;

    out_printf(o, "%s idle thread%s not counted (--idle):", human_u64(t->n_idle).s,
               t->n_idle == 1 ? "" : "s");
    for (size_t i = 0, n = 1; i < t->n_idle; i += n, n = 1) {
        const char *place = place_name(r, idle[i].place);

        if (told == PLACES_SHOWN) {
            out_str(o, ", ...");
            break;
        }
        while (i + n < t->n_idle && strcmp(place, place_name(r, idle[i + n].place)) == 0)
            n++;
        out_printf(o, "%s %s in %s (%s)", told++ ? "," : "", human_u64(n).s, place,
                   report_kinds(r, idle[i].kind, &text));
    }
    out_char(o, '\n');
    buf_release(&text);
}

/* "wall: 5.13 s of 2 threads = 608 ms running (11.9 %) + 4.52 s waiting (88.1 %)", then the
 * waits by kind. */
static void put_sum(const struct report *r, struct out *o)
{
    const struct an_threads *t = &r->threads;
    int64_t whole = t->kind[0] + t->waiting, sum;
    struct ranked v[AN_KINDS];
    size_t busy = t->v.n - t->n_idle, n = rank(r, t->kind, v, &sum);

    out_printf(o, "%s: %s of %s thread%s", an_view_name(&r->view), human_ns((double)whole).s,
               human_u64(busy).s, busy == 1 ? "" : "s");
    if (r->view.metric)
        out_printf(o, " = running %s (%.1f %%) + waiting %s (%.1f %%)",
                   human_ns((double)t->kind[0]).s, pct_of(t->kind[0], whole),
                   human_ns((double)t->waiting).s, pct_of(t->waiting, whole));
    report_other_metrics(r, o);
    out_char(o, '\n');
    for (size_t i = 0; i < n; i++)
        out_printf(o, "%s%s %s (%.1f %%)", i ? ", " : "waiting: ", r->view.kind[v[i].kind],
                   human_ns((double)v[i].ns).s, pct_of(v[i].ns, whole));
    out_str(o, n ? "\n" : "");
    if (pct_of(t->guessed, t->waiting) >= TOLD_PCT)
        out_printf(o, "%s of the waiting was too short to look at: it is put where the thread "
                      "waited or ran before\n", human_ns((double)t->guessed).s);
    if (t->n_idle)
        put_idle(r, o);
}

static void put_thread(const struct report *r, const struct an_thread *t, struct table *table,
                       struct buf *text)
{
    const struct thread *of = t->thread ? &r->p->thread.v[t->thread - 1] : NULL;
    const char *name = of ? profile_string(r->p, of->name) : "";

    if (of)
        table_printf(table, "%s (%" PRId64 ")", *name ? name : "?", of->tid);
    else
        table_text(table, "[no thread]");
    table_text(table, t->kind[0] ? human_ns((double)t->kind[0]).s : "");
    table_text(table, t->waiting ? human_ns((double)t->waiting).s : "");
    table_text(table, report_kinds(r, t->kind, text));
}

static void put_threads(const struct report *r, struct out *o, const struct term *term)
{
    static const struct table_column columns[] = {
        { "thread", TABLE_NAME }, { "running", TABLE_NUMBER }, { "waiting", TABLE_NUMBER },
        { "waits for", TABLE_NAME },
    };
    struct buf text = { 0 };
    struct table t;
    size_t n = r->threads.v.n - r->threads.n_idle;

    if (n < 2)
        return;
    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n && i < THREAD_ROWS; i++)
        put_thread(r, &r->threads.v.v[i], &t, &text);
    out_char(o, '\n');
    table_print(&t, o, term);
    if (n > THREAD_ROWS)
        out_printf(o, "... %s more; -b thread shows all\n", human_u64(n - THREAD_ROWS).s);
    table_release(&t);
    buf_release(&text);
}

void report_waits_text(const struct report *r, struct out *o, const struct term *term)
{
    bool by_thread = r->levels.n && r->levels.by[0] == AN_BY_THREAD;

    put_sum(r, o);
    if (!by_thread)
        put_threads(r, o, term);
    out_char(o, '\n');
}
