/* fmt_pprof.c - export to pprof's profile.proto, gzipped.  pprof_read.c imports it.
 *
 * A location is one frame, with its inlined calls as lines (innermost first); return addresses
 * are moved onto the call, as pprof requires.  Samples are summed by stack, thread and tags; tags
 * become labels.  The first value is always the count of samples of the profile's first metric,
 * by convention, and default_sample_type names that metric.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/an_symbols.h"
#include "base/hash.h"
#include "base/sat.h"
#include "formats/formats.h"
#include "formats/gzip.h"
#include "formats/pprof.h"
#include "formats/protobuf.h"
#include "formats/rows.h"
#include "profile/intern.h"
#include "profile/limits.h"

struct writer {
    const struct profile *p;
    struct buf b;
    struct intern strings; /* only strings: the string table, from 1 */
    struct rows rows;
    bool counts; /* column 0 counts samples */
    uint32_t *location; /* frame id - 1 -> location id, 0 unused */
    VEC(uint32_t) frame; /* location id - 1 -> frame id */
    uint32_t *function, *mapping; /* our id - 1 -> pprof's, 0 unused */
    VEC(uint32_t) tags; /* scratch of tag_labels */
    VEC(uint32_t) functions, mappings; /* pprof's id - 1 -> ours, in order of use */
};

static uint64_t text(struct writer *w, const char *s)
{
    return intern_cstr(&w->strings, s);
}

static uint64_t string_of(struct writer *w, uint32_t id)
{
    const struct profile_text *t = id ? &w->p->string.v[id - 1] : NULL;

    return t && t->n ? intern_string(&w->strings, t->s, t->n) : 0;
}

/* pprof spells units out. */
static uint64_t unit_of(struct writer *w, uint32_t id)
{
    const char *unit = profile_string(w->p, id);

    if (strcmp(unit, "ns") == 0)
        return text(w, "nanoseconds");
    if (strcmp(unit, "events") == 0 || !*unit)
        return text(w, "count");
    return string_of(w, id);
}

static void value_type(struct writer *w, uint32_t field, uint64_t type, uint64_t unit)
{
    size_t at = pb_begin(&w->b, field);

    pb_u64(&w->b, PPROF_TYPE_TYPE, type);
    pb_u64(&w->b, PPROF_TYPE_UNIT, unit);
    pb_end(&w->b, at);
}

static void write_types(struct writer *w)
{
    const struct metric *first = w->p->metric.v;

    if (w->counts)
        value_type(w, PPROF_SAMPLE_TYPE, text(w, "samples"), text(w, "count"));
    for (size_t i = 0; i < w->p->metric.n; i++)
        value_type(w, PPROF_SAMPLE_TYPE, string_of(w, w->p->metric.v[i].name),
                   unit_of(w, w->p->metric.v[i].unit));
    if (!w->p->metric.n)
        return;
    pb_u64(&w->b, PPROF_DEFAULT_TYPE, string_of(w, first->name));
    if (first->period) {
        value_type(w, PPROF_PERIOD_TYPE, string_of(w, first->name), unit_of(w, first->unit));
        pb_u64(&w->b, PPROF_PERIOD, first->period);
    }
}

static uint32_t location_of(struct writer *w, uint32_t frame)
{
    if (!w->location[frame - 1]) {
        vec_push(&w->frame, frame);
        w->location[frame - 1] = (uint32_t)w->frame.n;
    }
    return w->location[frame - 1];
}

static void number_label(struct writer *w, const char *key, int64_t x)
{
    size_t at;

    if (!x)
        return;
    at = pb_begin(&w->b, PPROF_SAMPLE_LABEL);
    pb_u64(&w->b, PPROF_LABEL_KEY, text(w, key));
    pb_u64(&w->b, PPROF_LABEL_NUMBER, (uint64_t)x);
    pb_end(&w->b, at);
}

static void text_label(struct writer *w, const char *key, uint32_t string)
{
    size_t at;

    if (!string)
        return;
    at = pb_begin(&w->b, PPROF_SAMPLE_LABEL);
    pb_u64(&w->b, PPROF_LABEL_KEY, text(w, key));
    pb_u64(&w->b, PPROF_LABEL_TEXT, string_of(w, string));
    pb_end(&w->b, at);
}

static void labels(struct writer *w, uint32_t thread)
{
    const struct thread *t = &w->p->thread.v[thread - 1];
    const struct process *owner = t->process ? &w->p->process.v[t->process - 1] : NULL;

    text_label(w, "thread", t->name);
    number_label(w, "tid", t->tid);
    if (owner) {
        text_label(w, "process", owner->name);
        number_label(w, "pid", owner->pid);
    }
}

static void tag_label(struct writer *w, const struct tag *t)
{
    size_t at = pb_begin(&w->b, PPROF_SAMPLE_LABEL);

    pb_u64(&w->b, PPROF_LABEL_KEY, string_of(w, t->key));
    if (t->text) {
        pb_u64(&w->b, PPROF_LABEL_TEXT, string_of(w, t->text));
    } else {
        pb_u64(&w->b, PPROF_LABEL_NUMBER, (uint64_t)t->value);
        pb_opt_u64(&w->b, PPROF_LABEL_UNIT, string_of(w, t->unit));
    }
    pb_end(&w->b, at);
}

static void tag_labels(struct writer *w, uint32_t set)
{
    vec_clear(&w->tags);
    for (; set; set = w->p->tag.v[set - 1].parent)
        vec_push(&w->tags, set);
    for (size_t i = w->tags.n; i--;) /* in the order in which they were added */
        tag_label(w, &w->p->tag.v[w->tags.v[i] - 1]);
}

static void write_sample(struct writer *w, size_t row)
{
    const struct row *r = &w->rows.row.v[row];
    size_t at = pb_begin(&w->b, PPROF_SAMPLE), list = pb_begin(&w->b, PPROF_SAMPLE_LOCATION);
    const int64_t *value;

    for (uint32_t s = r->stack; s; s = w->p->stack.v[s - 1].parent)
        buf_uleb(&w->b, location_of(w, w->p->stack.v[s - 1].frame));
    pb_end(&w->b, list);
    list = pb_begin(&w->b, PPROF_SAMPLE_VALUE);
    value = rows_values(&w->rows, row);
    for (size_t i = 0; i < w->rows.columns; i++)
        buf_uleb(&w->b, (uint64_t)value[i]);
    pb_end(&w->b, list);
    if (r->thread)
        labels(w, r->thread);
    tag_labels(w, r->tags);
    pb_end(&w->b, at);
}

static uint64_t address_of(const struct frame *f)
{
    return f->address ? f->address - !!(f->flags & FRAME_RETURN) : 0;
}

static uint32_t function_of(struct writer *w, uint32_t ours)
{
    if (!w->function[ours - 1]) {
        vec_push(&w->functions, ours);
        w->function[ours - 1] = (uint32_t)w->functions.n;
    }
    return w->function[ours - 1];
}

static uint32_t mapping_of(struct writer *w, uint32_t ours)
{
    if (ours && !w->mapping[ours - 1]) {
        vec_push(&w->mappings, ours);
        w->mapping[ours - 1] = (uint32_t)w->mappings.n;
    }
    return ours ? w->mapping[ours - 1] : 0;
}

static void write_location(struct writer *w, uint32_t id)
{
    uint32_t frame = w->frame.v[id - 1];
    const struct frame *f = &w->p->frame.v[frame - 1];
    struct profile_chain c = w->p->chain.v[frame - 1];
    size_t at = pb_begin(&w->b, PPROF_LOCATION);

    pb_u64(&w->b, PPROF_LOCATION_ID, id);
    pb_opt_u64(&w->b, PPROF_LOCATION_MAPPING, mapping_of(w, f->module));
    pb_opt_u64(&w->b, PPROF_LOCATION_ADDRESS, address_of(f));
    for (uint32_t i = c.n; i--;) {
        const struct location *l = &w->p->location.v[c.first + i];
        size_t line = pb_begin(&w->b, PPROF_LOCATION_LINE);

        pb_u64(&w->b, PPROF_LINE_FUNCTION, function_of(w, l->function));
        pb_opt_u64(&w->b, PPROF_LINE_LINE, l->line);
        pb_end(&w->b, line);
    }
    pb_end(&w->b, at);
}

static void write_functions(struct writer *w)
{
    for (size_t i = 0; i < w->functions.n; i++) {
        const struct function *f = &w->p->function.v[w->functions.v[i] - 1];
        size_t at = pb_begin(&w->b, PPROF_FUNCTION);

        pb_u64(&w->b, PPROF_FUNCTION_ID, i + 1);
        pb_u64(&w->b, PPROF_FUNCTION_NAME, string_of(w, f->name));
        pb_opt_u64(&w->b, PPROF_FUNCTION_SYSTEM_NAME,
                   string_of(w, f->linkage_name ? f->linkage_name : f->name));
        pb_opt_u64(&w->b, PPROF_FUNCTION_FILE, string_of(w, f->file));
        pb_opt_u64(&w->b, PPROF_FUNCTION_LINE, f->line);
        pb_end(&w->b, at);
    }
}

struct mapping_facts {
    uint64_t limit;
    bool unnamed, lines, inlines;
};

static struct mapping_facts *mapping_facts(const struct writer *w)
{
    const struct profile *p = w->p;
    struct mapping_facts *m = mem_zalloc((p->module.n + 1) * sizeof *m);

    for (size_t i = 0; i < w->frame.n; i++) {
        const struct frame *f = &p->frame.v[w->frame.v[i] - 1];
        struct profile_chain c = p->chain.v[w->frame.v[i] - 1];
        struct mapping_facts *x = &m[f->module];

        x->limit = address_of(f) >= x->limit ? address_of(f) + 1 : x->limit;
        x->unnamed |= c.n == 0;
        x->lines |= c.n && p->location.v[c.first].line;
        x->inlines |= c.n > 1;
    }
    return m;
}

static void write_mappings(struct writer *w)
{
    struct mapping_facts *facts = mapping_facts(w);

    for (size_t i = 0; i < w->mappings.n; i++) {
        const struct module *m = &w->p->module.v[w->mappings.v[i] - 1];
        const struct mapping_facts *x = &facts[w->mappings.v[i]];
        char hex[2 * sizeof m->build_id + 1] = "";
        size_t at;

        for (size_t k = 0; k < m->build_id_size; k++)
            snprintf(hex + 2 * k, 3, "%02x", m->build_id[k]);
        at = pb_begin(&w->b, PPROF_MAPPING);
        pb_u64(&w->b, PPROF_MAPPING_ID, i + 1);
        pb_opt_u64(&w->b, PPROF_MAPPING_LIMIT, x->limit);
        pb_opt_u64(&w->b, PPROF_MAPPING_FILE, string_of(w, m->path));
        pb_opt_u64(&w->b, PPROF_MAPPING_BUILD_ID, text(w, hex));
        pb_opt_u64(&w->b, PPROF_MAPPING_HAS_FUNCTIONS, !x->unnamed);
        pb_opt_u64(&w->b, PPROF_MAPPING_HAS_FILES, x->lines);
        pb_opt_u64(&w->b, PPROF_MAPPING_HAS_LINES, x->lines);
        pb_opt_u64(&w->b, PPROF_MAPPING_HAS_INLINES, x->inlines);
        pb_end(&w->b, at);
    }
    free(facts);
}

/* pprof treats the first mapping as the program: write the module named like a process first. */
static void main_mapping(struct writer *w)
{
    const struct profile *p = w->p;
    struct sink nowhere = { 0 };
    struct intern names; /* of processes */
    size_t n;

    intern_init(&names, &nowhere);
    for (size_t i = 0; i < p->process.n; i++)
        intern_cstr(&names, profile_string(p, p->process.v[i].name));
    n = names.string.n;
    for (uint32_t i = 1; i <= p->module.n && !w->mappings.n; i++)
        if (p->module.v[i - 1].kind == MODULE_FILE && *an_module_name(p, i) &&
            intern_cstr(&names, an_module_name(p, i)) <= n)
            mapping_of(w, i);
    intern_release(&names);
}

static void write_facts(struct writer *w)
{
    double duration = profile_meta_number(w->p, "duration_ns", 0);
    const char *command = profile_meta(w->p, "command");
    char *comment = mem_printf(PPROF_COMMAND "%s", command);

    if (duration > 0)
        pb_u64(&w->b, PPROF_DURATION, sat_u64_of(duration));
    if (*command)
        pb_u64(&w->b, PPROF_COMMENT, text(w, comment));
    free(comment);
}

static void write_strings(struct writer *w)
{
    pb_text(&w->b, PPROF_STRING, "", 0);
    for (size_t i = 0; i < w->strings.string.n; i++)
        pb_text(&w->b, PPROF_STRING, w->strings.string.v[i].s, w->strings.string.v[i].n);
}

static void write_profile(struct writer *w, uint64_t most_bytes)
{
    write_types(w);
    rows_build(&w->rows, w->p, (struct rows_options){ .counts = w->counts });
    for (size_t i = 0; i < w->rows.row.n && w->b.n <= most_bytes; i++)
        write_sample(w, i);
    main_mapping(w);
    for (uint32_t id = 1; id <= w->frame.n; id++)
        write_location(w, id);
    write_mappings(w);
    write_functions(w);
    write_facts(w);
    write_strings(w);
}

static bool has_samples_column(const struct profile *p)
{
    return p->metric.n && strcmp(profile_string(p, p->metric.v[0].name), "samples") == 0;
}

static int too_large(uint64_t most_bytes, struct err *e)
{
    err_set(e, ERR_LIMIT, "the pprof profile would have more than %llu MiB before compression",
            (unsigned long long)most_bytes >> 20);
    err_hint(e, LIMIT_HINT);
    return -1;
}

int pprof_export(const struct profile *p, uint64_t most_bytes, struct out *out, struct err *e)
{
    struct sink nowhere = { 0 };
    struct writer w = { .p = p, .counts = !has_samples_column(p) };
    int rc = 0;

    w.location = mem_zalloc(p->frame.n * sizeof *w.location);
    w.function = mem_zalloc(p->function.n * sizeof *w.function);
    w.mapping = mem_zalloc(p->module.n * sizeof *w.mapping);
    intern_init(&w.strings, &nowhere);
    write_profile(&w, most_bytes);
    if (w.b.n <= most_bytes)
        gzip_write(out, w.b.data, w.b.n);
    else
        rc = too_large(most_bytes, e);
    intern_release(&w.strings);
    rows_release(&w.rows);
    vec_release(&w.frame);
    free(w.location);
    free(w.function);
    free(w.mapping);
    vec_release(&w.functions);
    vec_release(&w.tags);
    vec_release(&w.mappings);
    buf_release(&w.b);
    return rc;
}

static int pprof_write(const struct an_view *v, const struct export_options *opt, struct out *out,
                       struct err *e)
{
    return pprof_export(v->profile, LIMIT_PPROF_BYTES, out, e);
}

const struct format format_pprof = {
    .name = "pprof",
    .extension = ".pb.gz",
    .about = "pprof (Go, Pyroscope, Parca)",
    .recognize = pprof_recognize,
    .import = pprof_import,
    .has_tags = true,
    .all_metrics = true,
    .is_binary = true,
    .write = pprof_write,
};
