/* an_tags.c - see an_tags.h.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_tags.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

uint32_t *an_tags_with(const struct profile *p, const char *key)
{
    uint32_t *with = mem_zalloc((p->tag.n + 1) * sizeof *with);

    for (uint32_t id = 1; id <= p->tag.n; id++) {
        const struct tag *t = &p->tag.v[id - 1];

        with[id] = strcmp(profile_string(p, t->key), key) == 0 ? id : with[t->parent];
    }
    return with;
}

int an_tags_check(const struct profile *p, const char *key, struct err *e)
{
    struct umap seen = { 0 };
    struct buf all = { 0 };
    bool found = false;

    for (size_t i = 0; i < p->tag.n; i++) {
        const char *own = profile_string(p, p->tag.v[i].key);

        if (umap_find(&seen, p->tag.v[i].key))
            continue;
        umap_put(&seen, p->tag.v[i].key, 1);
        found |= strcmp(own, key) == 0;
        buf_printf(&all, "%s%s", all.n ? ", " : "", own);
    }
    if (!found) {
        err_set(e, ERR_MISSING, "the profile has no tag \"%s\"", key);
        err_hint(e, "it has: %s", all.n ? buf_text(&all) : "none");
    }
    umap_release(&seen);
    buf_release(&all);
    return found ? 0 : -1;
}

void an_tag_value(const struct profile *p, const struct tag *t, struct buf *out)
{
    if (t->text)
        buf_str(out, profile_string(p, t->text));
    else
        buf_printf(out, "%" PRId64 "%s%s", t->value, t->unit ? " " : "",
                   profile_string(p, t->unit));
}

bool an_tag_is(const struct profile *p, const struct tag *t, const char *value)
{
    struct buf text = { 0 };
    const char *unit;
    bool is;

    an_tag_value(p, t, &text);
    is = strcmp(buf_text(&text), value) == 0;
    unit = t->text ? NULL : strchr(buf_text(&text), ' ');
    if (unit && (size_t)(unit - buf_text(&text)) == strlen(value))
        is |= memcmp(buf_text(&text), value, strlen(value)) == 0;
    buf_release(&text);
    return is;
}

const char *an_wait_name(const struct profile *p, const struct tag *t)
{
    const char *name = t ? profile_string(p, t->text) : "";

    return *name ? name : WAIT_UNKNOWN;
}

/* --- notes ------------------------------------------------------------------------------ */

struct notes {
    struct profile *p;
    uint32_t *frame;     /* the note by pair of TAG_WAIT, [0] for none; 0 until needed */
    struct umap stack;   /* stack and note -> the stack plus the note */
    struct umap by_name; /* hash of a name -> frame */
};

static uint32_t make_frame(struct profile *p, const char *name)
{
    struct sink *s = profile_sink(p);
    struct location at;

    sink_string(s, name, strlen(name));
    sink_function(s, &(struct function){ .name = (uint32_t)p->string.n });
    at = (struct location){ (uint32_t)p->function.n, 0 };
    sink_frame(s, &(struct frame){ .kind = FRAME_NOTE });
    sink_resolve(s, (uint32_t)p->frame.n, &at, 1);
    return (uint32_t)p->frame.n;
}

static uint32_t frame_of(struct notes *n, uint32_t pair)
{
    const char *word = an_wait_name(n->p, pair ? &n->p->tag.v[pair - 1] : NULL);
    char *name;
    uint64_t h;

    if (n->frame[pair])
        return n->frame[pair];
    h = hash_bytes(word, strlen(word));
    n->frame[pair] = umap_find(&n->by_name, h);
    if (!n->frame[pair]) {
        /* "[unknown]" is a function without a name. */
        name = mem_printf(strcmp(word, WAIT_UNKNOWN) == 0 ? "[%s wait]" : "[%s]", word);
        n->frame[pair] = make_frame(n->p, name);
        umap_put(&n->by_name, h, n->frame[pair]);
        free(name);
    }
    return n->frame[pair];
}

/* A profile that was exported with notes and imported again already has them. */
static bool has_note(const struct profile *p, uint32_t stack, uint32_t note)
{
    struct profile_chain a, b = p->chain.v[note - 1];
    uint32_t x, y;

    if (!stack)
        return false;
    a = p->chain.v[p->stack.v[stack - 1].frame - 1];
    if (!a.n || !b.n)
        return false;
    x = p->location.v[a.first + a.n - 1].function;
    y = p->location.v[b.first].function;
    return strcmp(profile_string(p, p->function.v[x - 1].name),
                  profile_string(p, p->function.v[y - 1].name)) == 0;
}

static uint32_t with_note(struct notes *n, uint32_t stack, uint32_t note)
{
    uint64_t key = (uint64_t)stack << 32 | note;
    uint32_t made = umap_find(&n->stack, key);

    if (made)
        return made;
    made = stack;
    if (!has_note(n->p, stack, note)) {
        sink_stack(profile_sink(n->p), stack, note);
        made = (uint32_t)n->p->stack.n;
    }
    umap_put(&n->stack, key, made);
    return made;
}

void an_waits_draw(struct profile *p)
{
    struct notes n = { .p = p };
    uint32_t *wait = an_tags_with(p, TAG_WAIT);

    n.frame = mem_zalloc((p->tag.n + 1) * sizeof *n.frame);
    for (size_t i = 0; i < p->sample.n; i++) {
        struct profile_sample *m = &p->sample.v[i];

        if (p->metric.v[m->metric - 1].flags & METRIC_OFF_CPU)
            m->stack = with_note(&n, m->stack, frame_of(&n, wait[m->tags]));
    }
    umap_release(&n.stack);
    umap_release(&n.by_name);
    free(n.frame);
    free(wait);
}
