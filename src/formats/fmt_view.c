/* fmt_view.c - the interactive viewer: one HTML file with the whole profile in it.
 *
 * web/src/index.html is the page; its lines "<!-- fathom: WORD ... -->" are replaced: csp (the
 * security policy that tools/embed-web computes), style, facts (JSON), data (columns as gzip in
 * base64) and modules (the ES modules named there, in that order, as one script without import and
 * export).  The policy names the hashes of style and script, so both are written unchanged.
 * docs/internals/viewer.md describes the data that the page reads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analyze/an_view.h"
#include "formats/formats.h"
#include "formats/gzip64.h"
#include "formats/view_data.h"
#include "formats/web.h"
#include "text/json.h"

struct page {
    const struct profile *profile;
    const struct an_view *view;
    const struct export_options *options;
    struct view_data data;
    struct out *out;
};

/* --- facts ------------------------------------------------------------------------------ */

/* The metric "wall", running and waiting: the page computes it if the profile has both. */
static void put_wall(struct json *j, const struct profile *p)
{
    struct an_view v;

    if (an_view_open(&v, p, "wall", AN_VIEW_KINDS, NULL) == 0 && v.metric && v.waiting) {
        json_object(j);
        json_put_str(j, "name", an_view_name(&v));
        json_put_str(j, "unit", an_view_unit(&v));
        json_put_str(j, "about", "running and waiting; idle threads only when selected");
        json_put_bool(j, "exact", false);
        json_put_u64(j, "running", v.metric);
        json_put_u64(j, "waiting", v.waiting);
        json_key(j, "idle");
        json_array(j);
        for (uint32_t id = 1; id <= p->thread.n; id++)
            if (v.idle[id])
                json_u64(j, id);
        json_end_array(j);
        json_end_object(j);
    }
    an_view_release(&v);
}

static void put_metrics(struct json *j, const struct profile *p)
{
    json_key(j, "metrics");
    json_array(j);
    for (size_t i = 0; i < p->metric.n; i++) {
        const struct metric *m = &p->metric.v[i];

        json_object(j);
        json_put_str(j, "name", profile_string(p, m->name));
        json_put_str(j, "unit", profile_string(p, m->unit));
        json_put_str(j, "about", profile_string(p, m->about));
        json_put_bool(j, "exact", m->flags & METRIC_EXACT);
        json_end_object(j);
    }
    put_wall(j, p);
    json_end_array(j);
}

static void put_threads(struct json *j, const struct profile *p)
{
    json_key(j, "threads");
    json_array(j);
    for (size_t i = 0; i < p->thread.n; i++) {
        const struct thread *t = &p->thread.v[i];
        const struct process *of = t->process ? &p->process.v[t->process - 1] : NULL;

        json_object(j);
        json_put_str(j, "name", profile_string(p, t->name));
        json_put_i64(j, "tid", t->tid);
        json_put_i64(j, "pid", of ? of->pid : 0);
        json_put_str(j, "process", of ? profile_string(p, of->name) : "");
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_meta(struct json *j, const struct profile *p)
{
    json_key(j, "meta");
    json_object(j);
    for (size_t i = 0; i < p->meta.n; i++)
        json_put_str(j, p->meta.v[i].key, p->meta.v[i].value);
    json_end_object(j);
}

static void put_columns(struct json *j, const struct view_data *v)
{
    json_key(j, "columns");
    json_object(j);
    for (int i = 0; i < VIEW_COLUMNS; i++)
        json_put_u64(j, view_column_names[i], v->column[i].n);
    json_end_object(j);
    json_key(j, "groups");
    json_array(j);
    for (size_t i = 0; i < v->group.n; i++) {
        json_array(j);
        json_u64(j, v->group.v[i].metric);
        json_u64(j, v->group.v[i].thread);
        json_u64(j, v->group.v[i].n);
        json_u64(j, v->group.v[i].tags);
        json_end_array(j);
    }
    json_end_array(j);
}

static void put_facts(const struct page *page)
{
    const struct profile *p = page->profile;
    struct out text = out_memory();
    struct json j = { .out = &text };

    json_object(&j);
    json_put_u64(&j, "version", 1);
    json_put_str(&j, "title", page->options->title ? page->options->title : "");
    json_put_str(&j, "metric", an_view_name(page->view));
    json_put_bool(&j, "inverted", page->options->inverted);
    json_put_u64(&j, "nodes", page->data.n_nodes);
    json_put_u64(&j, "symbols", page->data.n_symbols);
    json_put_u64(&j, "symbolBytes", page->data.symbol_bytes);
    json_put_str(&j, "damage", p->damage);
    json_put_str(&j, "cut", p->cut);
    put_metrics(&j, p);
    put_threads(&j, p);
    put_meta(&j, p);
    view_tags_put(&page->data.tags, p, &j);
    put_columns(&j, &page->data);
    json_end_object(&j);
    for (size_t i = 0; i < text.buf.n; i++) { /* nothing in it may end the script element */
        if (text.buf.data[i] == '<')
            out_str(page->out, "\\u003c");
        else
            out_char(page->out, (char)text.buf.data[i]);
    }
    out_close(&text, NULL);
}

/* --- the page --------------------------------------------------------------------------- */

static void put_data(const struct page *page)
{
    struct gzip64 *g = mem_alloc(sizeof *g);

    gzip64_init(g, page->out);
    for (int i = 0; i < VIEW_COLUMNS; i++)
        gzip64_add(g, page->data.column[i].data, page->data.column[i].n);
    gzip64_end(g);
    free(g);
}

static bool starts(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static void put_part(const struct page *page, const char *words, const char *end)
{
    if (starts(words, "facts"))
        put_facts(page);
    else if (starts(words, "data"))
        put_data(page);
    else if (starts(words, "style ") || starts(words, "csp "))
        web_put_all(page->out, strchr(words, ' ') + 1, end, web_put);
    else if (starts(words, "modules "))
        web_put_all(page->out, words + strlen("modules "), end, web_put_module);
}

static int view_write(const struct an_view *v, const struct export_options *opt, struct out *o,
                      struct err *e)
{
    static const char open[] = "<!-- fathom: ", close[] = " -->";
    struct page page = { .profile = v->profile, .view = v, .options = opt, .out = o };
    const struct web_file *index = web_find("index.html", strlen("index.html"));
    const char *at, *mark, *end;

    if (!index)
        return err_set(e, ERR_MISSING, "this fathom was built without its viewer");
    view_data_init(&page.data, v->profile);
    at = (const char *)index->data;
    while ((mark = strstr(at, open)) && (end = strstr(mark, close))) {
        out_add(o, at, (size_t)(mark - at));
        put_part(&page, mark + strlen(open), end);
        at = end + strlen(close);
    }
    out_str(o, at);
    view_data_release(&page.data);
    return 0;
}

const struct format format_html = {
    .name = "html",
    .extension = ".html",
    .about = "interactive viewer: one self-contained HTML page",
    .view = AN_VIEW_KINDS,
    .write = view_write,
};
