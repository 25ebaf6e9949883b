/* fmt_csv.c - one line per thread, stack and tag set, a column per metric; for spreadsheets and
 * databases.  Quoting follows RFC 4180; the stack is root first, joined by ';'.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "analyze/an_tree.h"
#include "formats/formats.h"
#include "formats/rows.h"
#include "text/escape.h"

/* Text of a cell that is in quotes anyway. */
static void quoted_part(struct out *o, const char *s, char instead_of_semicolon)
{
    for (;; s++) {
        size_t n = 0;

        while (s[n] && s[n] != ';' && s[n] != '\n')
            n++;
        for (struct escaped e; n; s += e.taken, n -= e.taken) {
            e = escape_csv(s, n);
            out_add(o, escaped_text(&e), e.n);
        }
        if (!*s)
            return;
        out_char(o, *s == ';' ? instead_of_semicolon : ' ');
    }
}

static void quoted(struct out *o, const char *s)
{
    out_char(o, '"');
    out_str(o, escape_csv_start(s));
    quoted_part(o, s, ';');
    out_char(o, '"');
}

static void put_titles(const struct profile *p, struct out *o)
{
    out_str(o, "process,pid,thread,tid,stack");
    out_str(o, p->tag.n ? ",tags" : "");
    for (size_t i = 0; i < p->metric.n; i++) {
        const char *unit = profile_string(p, p->metric.v[i].unit);

        out_str(o, ",\"");
        out_str(o, escape_csv_start(profile_string(p, p->metric.v[i].name)));
        quoted_part(o, profile_string(p, p->metric.v[i].name), ';');
        if (*unit) {
            out_str(o, " (");
            quoted_part(o, unit, ';');
            out_char(o, ')');
        }
        out_char(o, '"');
    }
    out_trusted(o, "\r\n");
}

static void put_thread(const struct profile *p, uint32_t thread, struct out *o)
{
    const struct thread *t = thread ? &p->thread.v[thread - 1] : NULL;
    const struct process *owner = t && t->process ? &p->process.v[t->process - 1] : NULL;

    quoted(o, owner ? profile_string(p, owner->name) : "");
    out_char(o, ',');
    if (owner)
        out_i64(o, owner->pid);
    out_char(o, ',');
    quoted(o, t ? profile_string(p, t->name) : "");
    out_char(o, ',');
    if (t)
        out_i64(o, t->tid);
    out_char(o, ',');
}

/* ';' separates functions, so replace it in names. */
static void put_stack(const struct an_tree *t, const struct an_symbols *s, uint32_t node,
                      struct out *o)
{
    VEC(uint32_t) up = { 0 };

    for (; node; node = t->trie.node.v[node].parent)
        vec_push(&up, t->trie.node.v[node].key);
    out_char(o, '"');
    for (size_t i = up.n; i--;) {
        if (i + 1 == up.n)
            out_str(o, escape_csv_start(s->symbol.v[up.v[i]].name));
        quoted_part(o, s->symbol.v[up.v[i]].name, ':');
        if (i)
            out_char(o, ';');
    }
    out_char(o, '"');
    vec_release(&up);
}

/* "key=value;key=value", in the order in which they were added. */
static void put_tags(const struct profile *p, uint32_t set, struct out *o)
{
    struct buf text = { 0 };
    VEC(uint32_t) up = { 0 };

    for (; set; set = p->tag.v[set - 1].parent)
        vec_push(&up, set);
    out_str(o, ",\"");
    for (size_t i = up.n; i--;) {
        const struct tag *t = &p->tag.v[up.v[i] - 1];

        text.n = 0;
        an_tag_value(p, t, &text);
        if (i + 1 == up.n)
            out_str(o, escape_csv_start(profile_string(p, t->key)));
        quoted_part(o, profile_string(p, t->key), ':');
        out_char(o, '=');
        quoted_part(o, buf_text(&text), ':');
        if (i)
            out_char(o, ';');
    }
    out_char(o, '"');
    vec_release(&up);
    buf_release(&text);
}

static int csv_write(const struct an_view *v, const struct export_options *opt, struct out *o,
                     struct err *e)
{
    const struct profile *p = v->profile;
    struct an_symbols symbols;
    struct an_tree tree;
    struct rows rows;
    const int64_t *value;

    an_symbols_init(&symbols, p);
    an_tree_build(&tree, &symbols, NULL);
    rows_build(&rows, p, (struct rows_options){ .as = tree.node_of_stack.v });
    put_titles(p, o);
    for (size_t i = 0; i < rows.row.n && !o->failed; i++) {
        put_thread(p, rows.row.v[i].thread, o);
        put_stack(&tree, &symbols, rows.row.v[i].stack, o);
        if (p->tag.n)
            put_tags(p, rows.row.v[i].tags, o);
        value = rows_values(&rows, i);
        for (size_t k = 0; k < p->metric.n; k++) {
            out_char(o, ',');
            out_i64(o, value[k]);
        }
        out_trusted(o, "\r\n");
    }
    rows_release(&rows);
    an_tree_release(&tree);
    an_symbols_release(&symbols);
    return 0;
}

const struct format format_csv = {
    .name = "csv",
    .extension = ".csv",
    .about = "comma-separated values, a line per thread, stack and tags",
    .has_tags = true,
    .all_metrics = true,
    .write = csv_write,
};
