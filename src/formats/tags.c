/* tags.c - see tags.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/tags.h"

#include <string.h>

enum { STEPS_MOST = 4 * TAGS_MOST };

static bool is_in(const struct tag *const *v, size_t n, uint32_t key)
{
    for (size_t i = 0; i < n; i++)
        if (v[i]->key == key)
            return true;
    return false;
}

/* The number of steps is bounded too: a set may repeat one key a million times. */
size_t tags_of(const struct profile *p, uint32_t set, const struct tag **out)
{
    size_t n = 0;

    for (size_t step = 0; set && n < TAGS_MOST && step < STEPS_MOST;
         step++, set = p->tag.v[set - 1].parent) {
        const struct tag *t = &p->tag.v[set - 1];

        if (!is_in(out, n, t->key))
            out[n++] = t;
    }
    return n;
}

void tags_put_json(struct json *j, const struct profile *p, uint32_t set)
{
    const struct tag *v[TAGS_MOST];
    size_t n = tags_of(p, set, v);

    while (n--) {
        const char *key = profile_string(p, v[n]->key);

        if (v[n]->text)
            json_put_str(j, key, profile_string(p, v[n]->text));
        else
            json_put_i64(j, key, v[n]->value);
    }
}

const char *tags_label(const struct profile *p, uint32_t set)
{
    const struct tag *v[TAGS_MOST];
    size_t n = tags_of(p, set, v);

    while (n--)
        if (v[n]->text && strcmp(profile_string(p, v[n]->key), TAG_LABEL) == 0)
            return profile_string(p, v[n]->text);
    return "";
}

char *tags_counter_name(const struct profile *p, const struct counter *c)
{
    const char *label = tags_label(p, c->tags);

    return mem_printf("%s%s%s", profile_string(p, c->name), *label ? " " : "", label);
}
