/* perf_text.c - see perf_text.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf_text.h"

#include <inttypes.h>

static void add_frame(const struct profile *p, uint32_t id, struct buf *out)
{
    const struct frame *f = &p->frame.v[id - 1];
    const struct profile_chain *c = &p->chain.v[id - 1];
    const char *path, *slash;

    if (!f->address || f->kind == FRAME_NOTE) {
        uint32_t function = c->n ? p->location.v[c->first].function : 0;

        buf_str(out, function ? profile_string(p, p->function.v[function - 1].name) : "(no name)");
    } else {
        path = f->module ? profile_string(p, p->module.v[f->module - 1].path) : "?";
        slash = strrchr(path, '/');
        buf_printf(out, "%s+%" PRIx64, slash ? slash + 1 : path, f->address);
    }
    buf_str(out, f->flags & FRAME_RETURN ? "r" : "");
    buf_str(out, f->flags & FRAME_JOINED ? "j" : "");
}

static void add_stack(const struct profile *p, uint32_t stack, struct buf *out)
{
    const struct profile_node *n;

    if (!stack)
        return;
    n = &p->stack.v[stack - 1];
    add_stack(p, n->parent, out);
    buf_str(out, n->parent ? ";" : "");
    add_frame(p, n->frame, out);
}

/* Append the tags in order of insertion. */
static void add_tags(const struct profile *p, uint32_t tags, struct buf *out)
{
    const struct tag *t;

    if (!tags)
        return;
    t = &p->tag.v[tags - 1];
    add_tags(p, t->parent, out);
    buf_printf(out, " %s=%s", profile_string(p, t->key), profile_string(p, t->text));
}

void perf_text(const struct profile *p, struct buf *out)
{
    for (size_t i = 0; i < p->sample.n; i++) {
        struct sample one = profile_sample(p, i);
        const struct sample *m = &one;
        const struct thread *t = &p->thread.v[m->thread - 1];

        buf_printf(out, "%" PRId64 "/%" PRId64 " %s %" PRIu64 "+%" PRIu64 " %" PRId64 " ",
                   p->process.v[t->process - 1].pid, t->tid,
                   profile_string(p, p->metric.v[m->metric - 1].name), m->start_ns,
                   m->duration_ns, m->weight);
        add_stack(p, m->stack, out);
        add_tags(p, m->tags, out);
        buf_str(out, "\n");
    }
}
