/* fuzz_format.h - a fuzz target for one importer.  For any input, the importer must either fail or
 * return a profile that every exporter can write and every report can show.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FUZZ_FORMAT_H
#define FATHOM_FUZZ_FORMAT_H

#include <stdint.h>

#include "analyze/an_annotate.h"
#include "analyze/an_filter.h"
#include "analyze/an_report.h"
#include "analyze/an_tags.h"
#include "formats/formats.h"

#ifndef FUZZ_SEARCH /* 1 in a search */
#define FUZZ_SEARCH 0
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_MOST_SAMPLES = 10000, FUZZ_MOST_STACKS = 100000 };

static inline void fuzz_write(const struct format *f, const struct profile *p)
{
    struct export_options opt = { 0 };
    struct out o = out_memory();
    struct err e = { 0 };
    struct an_view v;

    if (an_view_open(&v, p, NULL, f->view, &e) == 0 && f->write)
        f->write(&v, &opt, &o, &e);
    an_view_release(&v);
    out_close(&o, NULL);
}

/* FIRST is RESULT_AS_JSON for a result that has no text. */
static inline void fuzz_print(const struct result *r, enum result_form first)
{
    for (int form = (int)first; form <= RESULT_AS_CSV; form++) {
        struct out o = out_memory();
        struct term term = { .width = 80 };

        result_print(r, (enum result_form)form, &o, &term);
        out_close(&o, NULL);
    }
}

/* One report of each form and grouping, in all three printers. */
static inline void fuzz_report(const struct profile *p, size_t which)
{
    static const struct an_report_query queries[] = {
        { .form = AN_REPORT_FLAT, .sort = "samples" },
        { .form = AN_REPORT_TREE },
        { .form = AN_REPORT_INVERTED },
        { .form = AN_REPORT_CALLERS, .callers = "a" },
        { .form = AN_REPORT_FLAT, .levels = { .n = 1, .by = { AN_BY_MODULE } }, .idle = true },
        { .form = AN_REPORT_FLAT,
          .levels = { .n = 3, .by = { AN_BY_COMMAND, AN_BY_THREAD, AN_BY_LINE } } },
    };
    struct an_report_query q = queries[which % ARRAY_LEN(queries)];
    struct err e = { 0 };
    struct an_report r;
    struct an_view v;

    q.sort = q.sort ? q.sort : "self";
    q.rows = 1000;
    if (an_view_open(&v, p, NULL, AN_VIEW_KINDS, &e) == 0) {
        if (an_report_build(&r, &v, &q, &e) == 0)
            fuzz_print(&r.result, RESULT_AS_TEXT);
        an_report_release(&r);
    }
    an_view_release(&v);
}

static inline void fuzz_annotate(struct profile *p)
{
    struct an_annotate_query q = { .functions = 3, .share_pct = 80, .min_pct = 1 };
    struct an_annotate a;
    struct result r;
    struct an_view v;

    if (an_view_open(&v, p, NULL, AN_VIEW_PLAIN, NULL) == 0) {
        result_init(&r);
        if (an_annotate_build(&a, p, &v, &q, NULL) == 0) {
            an_annotate_result(&a, &r);
            fuzz_print(&r, RESULT_AS_JSON);
        }
        an_annotate_release(&a);
        result_release(&r);
    }
    an_view_release(&v);
}

/* Keep the second half of the recording; then write it with waits drawn as frames. */
static inline void fuzz_filter(struct profile *p)
{
    struct an_filter f = { .time = "0.001-", .is_trace = true };

    an_filter_apply(p, &f, NULL);
    an_waits_draw(p);
    fuzz_write(format_find("html"), p);
    fuzz_report(p, 0);
}

/* A fuzzing run shows the profile in one way, selected by the input, so that it spends most of its
 * time on reading.  A replay of the corpus shows it in all ways. */
static inline void fuzz_views(struct profile *p, const uint8_t *data, size_t size)
{
    enum { REPORTS = 6, OTHERS = 2 };
    size_t n = 0, sum = 0;

    if (p->sample.n >= FUZZ_MOST_SAMPLES || p->stack.n >= FUZZ_MOST_STACKS)
        return;
    while (formats[n])
        n++;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + data[i];
    sum %= n + REPORTS + OTHERS;
    for (size_t i = 0; i < n + REPORTS + OTHERS; i++) {
        if (FUZZ_SEARCH && i != sum)
            continue;
        if (i < n)
            fuzz_write(formats[i], p);
        else if (i < n + REPORTS)
            fuzz_report(p, i - n);
        else if (i == n + REPORTS)
            fuzz_annotate(p);
        else
            fuzz_filter(p);
    }
}

static inline void fuzz_format(const struct format *f, const uint8_t *data, size_t size)
{
    struct import_input in = { .data = data, .size = size, .path = "fuzz" };
    struct profile *p = profile_new();
    struct err e = { 0 };

    f->recognize(&in);
    if (f->import(&in, profile_sink(p), &e) == 0)
        fuzz_views(p, data, size);
    profile_free(p);
}

#define FUZZ_FORMAT(id)                                           \
    extern const struct format format_##id;                       \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)  \
    {                                                             \
        fuzz_format(&format_##id, data, size);                    \
        return 0;                                                 \
    }

#endif
