/* view_tags.c - see view_tags.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/view_tags.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/an_tags.h"
#include "formats/tags.h"

enum { MOST_VALUES = 64, MOST_SETS = 1024, MOST_GROUPS = 1 << 20 };

static uint64_t hash_of(const struct tag *t)
{
    return hash_pair((uint64_t)t->key << 32 | t->text,
                     hash_pair((uint64_t)t->value, t->unit));
}

static void find_keys_with_many_values(struct view_tags *v, const struct profile *p)
{
    struct umap seen = { 0 }, values = { 0 };

    for (size_t i = 0; i < p->tag.n; i++) {
        const struct tag *t = &p->tag.v[i];
        uint32_t n;

        if (umap_find(&seen, hash_of(t)))
            continue;
        umap_put(&seen, hash_of(t), 1);
        n = umap_find(&values, t->key) + 1;
        umap_put(&values, t->key, n);
        if (n > MOST_VALUES)
            umap_put(&v->many, t->key, 1);
    }
    umap_release(&seen);
    umap_release(&values);
}

/* A hash for each tag set, equal for sets with the same remaining pairs in any order. */
static uint64_t *signatures(const struct view_tags *v, const struct profile *p)
{
    uint64_t *sign = mem_zalloc((p->tag.n + 1) * sizeof *sign);

    for (size_t i = 0; i < p->tag.n; i++) {
        const struct tag *t = &p->tag.v[i];

        sign[i + 1] = sign[t->parent] + (umap_find(&v->many, t->key) ? 0 : hash_of(t));
    }
    return sign;
}

void view_tags_init(struct view_tags *v, const struct profile *p)
{
    size_t groups = p->metric.n * (p->thread.n + 1);
    struct umap known = { 0 };
    uint64_t *sign;

    *v = (struct view_tags){ .number = mem_zalloc((p->tag.n + 1) * sizeof *v->number) };
    if (!p->tag.n)
        return;
    find_keys_with_many_values(v, p);
    sign = signatures(v, p);
    for (size_t i = 0; i < p->sample.n && v->shown.n <= MOST_SETS; i++) {
        uint32_t set = p->sample.v[i].tags;

        if (!sign[set] || v->number[set])
            continue;
        v->number[set] = umap_find(&known, sign[set]);
        if (!v->number[set]) {
            vec_push(&v->shown, set);
            v->number[set] = (uint32_t)v->shown.n;
            umap_put(&known, sign[set], v->number[set]);
        }
    }
    if (v->shown.n > MOST_SETS || groups * (v->shown.n + 1) > MOST_GROUPS) {
        vec_clear(&v->shown);
        memset(v->number, 0, (p->tag.n + 1) * sizeof *v->number);
    }
    umap_release(&known);
    free(sign);
}

void view_tags_release(struct view_tags *v)
{
    free(v->number);
    vec_release(&v->shown);
    umap_release(&v->many);
}

void view_tags_put(const struct view_tags *v, const struct profile *p, struct json *j)
{
    const struct tag *tags[TAGS_MOST];
    struct buf text = { 0 };

    json_key(j, "tags");
    json_array(j);
    for (size_t i = 0; i < v->shown.n; i++) {
        json_object(j);
        for (size_t n = tags_of(p, v->shown.v[i], tags); n--;) {
            if (umap_find(&v->many, tags[n]->key))
                continue;
            text.n = 0;
            an_tag_value(p, tags[n], &text);
            json_put_str(j, profile_string(p, tags[n]->key), buf_text(&text));
        }
        json_end_object(j);
    }
    json_end_array(j);
    buf_release(&text);
}
