/* fmt_firefox.c - the Firefox Profiler's processed profile, version 54: tables of functions,
 * frames and stacks for each thread.  The profiler upgrades older versions when it loads them.
 *
 * Samples carry one metric, as weights; those without times are put one millisecond apart.
 * Spans become markers.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analyze/an_symbols.h"
#include "base/trie.h"
#include "formats/formats.h"
#include "formats/timeline.h"
#include "profile/intern.h"
#include "text/json.h"

enum { VERSION = 54, GECKO_VERSION = 24 };
enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_SCRIPT };

struct frame_row { /* a function at a line, inlined so deep */
    uint32_t symbol, line, depth, module;
    uint64_t address;
};

struct thread_tables { /* all of one thread; indexes from 0 */
    struct intern strings; /* index + 1 */
    struct trie stacks;    /* node - 1 is the index; keys are frame rows */
    VEC(struct frame_row) frame;
    struct index frames;
    VEC(uint32_t) func; /* symbols */
    VEC(uint32_t) resource; /* modules */
    struct umap func_of, resource_of; /* -> index + 1 */
    struct umap node_of_stack;
};

struct writer {
    struct json j;
    const struct profile *p;
    struct an_symbols symbols;
    struct sink nowhere;
    struct thread_tables t;
    uint64_t start_ns;
};

static uint64_t string_index(struct writer *w, const char *s)
{
    return intern_string(&w->t.strings, s, strlen(s)) - 1;
}

static uint32_t func_of(struct writer *w, uint32_t symbol)
{
    uint32_t at = umap_find(&w->t.func_of, symbol);

    if (at)
        return at - 1;
    vec_push(&w->t.func, symbol);
    umap_put(&w->t.func_of, symbol, (uint32_t)w->t.func.n);
    return (uint32_t)w->t.func.n - 1;
}

static uint32_t frame_row(struct writer *w, struct frame_row f)
{
    uint64_t h = hash_pair(hash_pair(f.symbol, f.line), hash_pair(f.address, f.depth));

    for (uint32_t at = index_first(&w->t.frames, h), id; (id = index_id(&w->t.frames, h, &at));)
        if (memcmp(&w->t.frame.v[id - 1], &f, sizeof f) == 0)
            return id - 1;
    vec_push(&w->t.frame, f);
    index_add(&w->t.frames, h, (uint32_t)w->t.frame.n);
    func_of(w, f.symbol);
    return (uint32_t)w->t.frame.n - 1;
}

static uint32_t add_frame(struct writer *w, uint32_t node, uint32_t frame)
{
    struct profile_chain c = w->symbols.frame.v[frame - 1], at = w->p->chain.v[frame - 1];
    const struct frame *f = &w->p->frame.v[frame - 1];

    for (uint32_t i = 0; i < c.n; i++) {
        struct frame_row row;

        memset(&row, 0, sizeof row);
        row.symbol = w->symbols.chain.v[c.first + i];
        row.line = at.n == c.n ? w->p->location.v[at.first + i].line : 0;
        row.depth = i;
        row.module = f->module;
        row.address = f->address ? f->address - !!(f->flags & FRAME_RETURN) : 0;
        node = trie_child(&w->t.stacks, node, frame_row(w, row));
    }
    return node;
}

/* The trie's node of a stack; stacks share their callers, so that each is added once. */
static uint32_t node_of(struct writer *w, uint32_t stack)
{
    VEC(uint32_t) path = { 0 };
    uint32_t node = 0;

    for (; stack && !(node = umap_find(&w->t.node_of_stack, stack));
         stack = w->p->stack.v[stack - 1].parent)
        vec_push(&path, stack);
    for (size_t i = path.n; i--;) {
        node = add_frame(w, node, w->p->stack.v[path.v[i] - 1].frame);
        umap_put(&w->t.node_of_stack, path.v[i], node);
    }
    vec_release(&path);
    return node;
}

static void put_same(struct json *j, const char *key, size_t n, void (*put)(struct json *j))
{
    json_key(j, key);
    json_array(j);
    for (size_t i = 0; i < n; i++)
        put(j);
    json_end_array(j);
}

static void put_zero(struct json *j)
{
    json_u64(j, 0);
}

static void put_false(struct json *j)
{
    json_bool(j, false);
}

static void put_or_null(struct json *j, uint64_t x)
{
    if (x)
        json_u64(j, x);
    else
        json_null(j);
}

/* A column of N values, each made by an expression of i. */
#define column(j, name, n, put)               \
    do {                                      \
        json_key((j), name);                  \
        json_array(j);                        \
        for (size_t i = 0; i < (n); i++)      \
            put;                              \
        json_end_array(j);                    \
    } while (0)

static enum category category_of(const struct writer *w, uint32_t symbol)
{
    switch (w->symbols.symbol.v[symbol].kind) {
    case FRAME_KERNEL:
        return CATEGORY_KERNEL;
    case FRAME_PYTHON:
    case FRAME_SCRIPT:
    case FRAME_JIT:
        return CATEGORY_SCRIPT;
    case FRAME_NATIVE:
        return CATEGORY_USER;
    default:
        return CATEGORY_OTHER;
    }
}

static void put_frame_table(struct writer *w)
{
    struct json *j = &w->j;
    const struct frame_row *f = w->t.frame.v;
    size_t n = w->t.frame.n;

    json_key(j, "frameTable");
    json_object(j);
    json_put_u64(j, "length", n);
    column(j, "address", n, json_i64(j, f[i].address && f[i].module ? (int64_t)f[i].address : -1));
    column(j, "inlineDepth", n, json_u64(j, f[i].depth));
    column(j, "category", n, json_u64(j, category_of(w, f[i].symbol)));
    put_same(j, "subcategory", n, put_zero);
    column(j, "func", n, json_u64(j, func_of(w, f[i].symbol)));
    put_same(j, "nativeSymbol", n, json_null);
    put_same(j, "innerWindowID", n, json_null);
    column(j, "line", n, put_or_null(j, f[i].line));
    put_same(j, "column", n, json_null);
    json_end_object(j);
}

static int64_t resource_of(struct writer *w, uint32_t symbol)
{
    uint32_t module = w->symbols.symbol.v[symbol].module, at;

    if (!module)
        return -1;
    at = umap_find(&w->t.resource_of, module);
    if (!at) {
        vec_push(&w->t.resource, module);
        at = (uint32_t)w->t.resource.n;
        umap_put(&w->t.resource_of, module, at);
    }
    return at - 1;
}

static void put_file(struct writer *w, uint32_t symbol)
{
    uint32_t function = w->symbols.symbol.v[symbol].function;
    const char *file =
        function ? profile_string(w->p, w->p->function.v[function - 1].file) : "";

    if (*file)
        json_u64(&w->j, string_index(w, file));
    else
        json_null(&w->j);
}

static void put_func_table(struct writer *w)
{
    struct json *j = &w->j;
    const struct an_symbol *y = w->symbols.symbol.v;
    const uint32_t *func = w->t.func.v;
    size_t n = w->t.func.n;

    json_key(j, "funcTable");
    json_object(j);
    json_put_u64(j, "length", n);
    column(j, "name", n, json_u64(j, string_index(w, y[func[i]].name)));
    put_same(j, "isJS", n, put_false);
    put_same(j, "relevantForJS", n, put_false);
    column(j, "resource", n, json_i64(j, resource_of(w, func[i])));
    column(j, "fileName", n, put_file(w, func[i]));
    column(j, "lineNumber", n,
           put_or_null(j, y[func[i]].function ? w->p->function.v[y[func[i]].function - 1].line
                                              : 0));
    put_same(j, "columnNumber", n, json_null);
    json_end_object(j);
}

static void put_resource_table(struct writer *w)
{
    struct json *j = &w->j;
    size_t n = w->t.resource.n;

    json_key(j, "resourceTable");
    json_object(j);
    json_put_u64(j, "length", n);
    column(j, "lib", n, json_u64(j, w->t.resource.v[i] - 1));
    column(j, "name", n, json_u64(j, string_index(w, an_module_name(w->p, w->t.resource.v[i]))));
    put_same(j, "host", n, json_null);
    column(j, "type", n, json_u64(j, 1));
    json_end_object(j);
}

static void put_stack_table(struct writer *w)
{
    struct json *j = &w->j;
    const struct trie_node *v = w->t.stacks.node.v;
    size_t n = w->t.stacks.node.n - 1;

    json_key(j, "stackTable");
    json_object(j);
    json_put_u64(j, "length", n);
    json_key(j, "prefix");
    json_array(j);
    for (size_t i = 0; i < n; i++) {
        if (v[i + 1].parent)
            json_u64(j, v[i + 1].parent - 1);
        else
            json_null(j);
    }
    json_end_array(j);
    column(j, "frame", n, json_u64(j, v[i + 1].key));
    json_end_object(j);
}

static double milliseconds(const struct writer *w, uint64_t ns)
{
    return ns > w->start_ns ? (double)(ns - w->start_ns) / 1e6 : 0;
}

static void put_stack_of(struct writer *w, uint32_t stack)
{
    uint32_t node = node_of(w, stack);

    if (node)
        json_u64(&w->j, node - 1);
    else
        json_null(&w->j);
}

/* A weight in nanoseconds is told in milliseconds, as the profiler's own traces are. */
static void put_samples(struct writer *w, const struct timeline_item *v, size_t n, bool timed,
                        const char *unit)
{
    struct json *j = &w->j;
    bool is_time = strcmp(unit, "ns") == 0, is_bytes = strcmp(unit, "bytes") == 0;

    json_key(j, "samples");
    json_object(j);
    json_put_u64(j, "length", n);
    column(j, "stack", n, put_stack_of(w, v[i].stack));
    column(j, "time", n, json_num(j, timed ? milliseconds(w, v[i].time_ns) : (double)i, 6));
    json_put_str(j, "weightType", is_time ? "tracing-ms" : is_bytes ? "bytes" : "samples");
    if (is_time)
        column(j, "weight", n, json_num(j, (double)v[i].weight / 1e6, 6));
    else
        column(j, "weight", n, json_i64(j, v[i].weight));
    json_end_object(j);
}

static void put_markers(struct writer *w, uint32_t thread)
{
    struct json *j = &w->j;
    const struct span *s = w->p->span.v;
    VEC(size_t) own = { 0 };

    for (size_t i = 0; i < w->p->span.n; i++)
        if (s[i].thread == thread)
            vec_push(&own, i);
    json_key(j, "markers");
    json_object(j);
    json_put_u64(j, "length", own.n);
    put_same(j, "category", own.n, put_zero);
    put_same(j, "data", own.n, json_null);
    column(j, "name", own.n,
           json_u64(j, string_index(w, profile_string(w->p, s[own.v[i]].name))));
    column(j, "startTime", own.n, json_num(j, milliseconds(w, s[own.v[i]].start_ns), 6));
    column(j, "endTime", own.n,
           json_num(j, milliseconds(w, s[own.v[i]].start_ns + s[own.v[i]].duration_ns), 6));
    column(j, "phase", own.n, json_u64(j, 1));
    json_end_object(j);
    vec_release(&own);
}

static void put_native_symbols(struct json *j)
{
    static const char *const columns[] = { "address", "functionSize", "libIndex", "name" };

    json_key(j, "nativeSymbols");
    json_object(j);
    json_put_u64(j, "length", 0);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        put_same(j, columns[i], 0, json_null);
    json_end_object(j);
}

static void put_number_text(struct json *j, const char *key, int64_t x)
{
    char *text = mem_printf("%lld", (long long)x);

    json_put_str(j, key, text);
    free(text);
}

static void put_thread_head(struct writer *w, uint32_t thread)
{
    struct json *j = &w->j;
    const struct thread *t = thread ? &w->p->thread.v[thread - 1] : NULL;
    const struct process *p = t && t->process ? &w->p->process.v[t->process - 1] : NULL;

    json_put_str(j, "name", t && t->name ? profile_string(w->p, t->name) : "thread");
    json_put_str(j, "processName", p ? profile_string(w->p, p->name) : "");
    json_put_str(j, "processType", "default");
    json_put_bool(j, "isMainThread", !p || p->pid == t->tid);
    put_number_text(j, "pid", p ? p->pid : 0);
    put_number_text(j, "tid", t ? t->tid : 0);
    json_put_num(j, "registerTime", t ? milliseconds(w, t->start_ns) : 0, 6);
    json_key(j, "unregisterTime");
    json_null(j);
    json_put_num(j, "processStartupTime", 0, 1);
    json_key(j, "processShutdownTime");
    json_null(j);
    put_same(j, "pausedRanges", 0, json_null);
    json_put_bool(j, "showMarkersInTimeline", true);
}

static void release_tables(struct thread_tables *t)
{
    intern_release(&t->strings);
    trie_release(&t->stacks);
    vec_release(&t->frame);
    index_release(&t->frames);
    vec_release(&t->func);
    vec_release(&t->resource);
    umap_release(&t->func_of);
    umap_release(&t->resource_of);
    umap_release(&t->node_of_stack);
}

static void put_thread(struct writer *w, const struct timeline *t, const struct timeline_run *r,
                       const char *unit)
{
    struct json *j = &w->j;

    memset(&w->t, 0, sizeof w->t);
    intern_init(&w->t.strings, &w->nowhere);
    trie_init(&w->t.stacks);
    json_object(j);
    put_thread_head(w, r->thread);
    put_samples(w, t->item.v + r->first, r->n, r->timed, unit);
    put_markers(w, r->thread);
    put_stack_table(w);
    put_frame_table(w);
    put_func_table(w);
    put_resource_table(w);
    put_native_symbols(j);
    json_key(j, "stringArray");
    json_array(j);
    for (size_t i = 0; i < w->t.strings.string.n; i++)
        json_strn(j, w->t.strings.string.v[i].s, w->t.strings.string.v[i].n);
    json_end_array(j);
    json_end_object(j);
    release_tables(&w->t);
}

static void put_category(struct json *j, const char *name, const char *color)
{
    json_object(j);
    json_put_str(j, "name", name);
    json_put_str(j, "color", color);
    json_key(j, "subcategories");
    json_array(j);
    json_str(j, "Other");
    json_end_array(j);
    json_end_object(j);
}

static void put_categories(struct json *j)
{
    json_key(j, "categories");
    json_array(j);
    put_category(j, "Other", "grey");
    put_category(j, "User", "yellow");
    put_category(j, "Kernel", "orange");
    put_category(j, "Script", "blue");
    json_end_array(j);
}

static void put_meta(struct writer *w, const struct export_options *o, const struct metric *m)
{
    struct json *j = &w->j;
    const char *title = o->title ? o->title : profile_meta(w->p, "command");
    double rate = profile_meta_number(w->p, "rate_asked", 1000);

    json_key(j, "meta");
    json_object(j);
    put_categories(j);
    json_put_bool(j, "debug", false);
    json_put_num(j, "interval", rate > 0 ? 1000 / rate : 1, 6);
    json_put_u64(j, "preprocessedProfileVersion", VERSION);
    json_put_u64(j, "version", GECKO_VERSION);
    json_put_u64(j, "processType", 0);
    json_put_str(j, "product", *title ? title : "fathom");
    json_put_str(j, "importedFrom", "fathom");
    json_put_u64(j, "startTime", 0);
    json_put_u64(j, "stackwalk", 1);
    json_put_bool(j, "symbolicated", true);
    json_put_bool(j, "usesOnlyOneStackType", true);
    json_put_bool(j, "sourceCodeIsNotOnSearchfox", true);
    put_same(j, "markerSchema", 0, json_null);
    put_same(j, "pausedRanges", 0, json_null);
    json_end_object(j);
}

static void put_libs(struct writer *w)
{
    struct json *j = &w->j;

    json_key(j, "libs");
    json_array(j);
    for (uint32_t i = 1; i <= w->p->module.n; i++) {
        const char *path = profile_string(w->p, w->p->module.v[i - 1].path);
        const char *name = an_module_name(w->p, i);

        json_object(j);
        json_put_str(j, "name", name);
        json_put_str(j, "path", path);
        json_put_str(j, "debugName", name);
        json_put_str(j, "debugPath", path);
        json_put_str(j, "breakpadId", "");
        json_key(j, "codeId");
        json_null(j);
        json_key(j, "arch");
        json_null(j);
        json_end_object(j);
    }
    json_end_array(j);
}

static uint64_t first_time(const struct timeline *t)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < t->item.n; i++)
        if (t->item.v[i].time_ns && t->item.v[i].time_ns < first)
            first = t->item.v[i].time_ns;
    return first == UINT64_MAX ? 0 : first;
}

static int firefox_write(const struct profile *p, const struct export_options *o, struct out *out,
                         struct err *e)
{
    struct writer w = { .j = { .out = out }, .p = p };
    uint32_t metric = o->metric ? profile_find_metric(p, o->metric) : p->metric.n > 0;
    struct timeline t;

    if (!metric)
        return err_set(e, ERR_MISSING, "the profile has no metric \"%s\"",
                       o->metric ? o->metric : "");
    an_symbols_init(&w.symbols, p);
    timeline_build(&t, p, metric);
    w.start_ns = first_time(&t);
    json_object(&w.j);
    put_meta(&w, o, &p->metric.v[metric - 1]);
    put_libs(&w);
    json_key(&w.j, "threads");
    json_array(&w.j);
    for (size_t i = 0; i < t.run.n; i++)
        put_thread(&w, &t, &t.run.v[i], profile_string(p, p->metric.v[metric - 1].unit));
    json_end_array(&w.j);
    put_same(&w.j, "pages", 0, json_null);
    put_same(&w.j, "counters", 0, json_null);
    put_same(&w.j, "profilerOverhead", 0, json_null);
    json_end_object(&w.j);
    out_char(out, '\n');
    timeline_release(&t);
    an_symbols_release(&w.symbols);
    return 0;
}

const struct format format_firefox = {
    .name = "firefox",
    .extension = ".firefox.json",
    .about = "Firefox Profiler's processed profile",
    .write = firefox_write,
};
