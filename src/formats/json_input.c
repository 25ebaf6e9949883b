/* json_input.c - see json_input.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/json_input.h"

#include <string.h>

static bool starts_object(const struct import_input *in)
{
    size_t i = 0;

    while (i < in->size && (in->data[i] == ' ' || in->data[i] == '\n' || in->data[i] == '\r' ||
                            in->data[i] == '\t'))
        i++;
    return i < in->size && in->data[i] == '{';
}

bool json_input_has_keys(const struct import_input *in, const char *const *keys)
{
    struct json_reader r;
    unsigned found = 0, all = 0;

    if (!starts_object(in))
        return false;
    for (size_t i = 0; keys[i]; i++)
        all |= 1u << i;
    json_reader_init(&r, (const char *)in->data, in->size);
    json_next(&r);
    while (found != all && json_next_key(&r)) {
        for (size_t i = 0; keys[i]; i++)
            found |= json_text_is(&r, keys[i]) ? 1u << i : 0;
        if (found != all)
            json_skip(&r);
    }
    json_reader_release(&r);
    return found == all;
}

uint32_t json_input_string(struct json_reader *r, struct intern *in)
{
    enum json_token t = json_next(r);

    if (t == JSON_STRING)
        return r->n ? intern_string(in, r->text, r->n) : 0;
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        json_skip(r);
    return 0;
}

void json_input_text(struct json_reader *r, char *text, size_t cap)
{
    enum json_token t = json_next(r);
    size_t n = t == JSON_STRING ? r->n : 0;

    n = n < cap ? n : cap - 1;
    if (n)
        memcpy(text, r->text, n);
    text[n] = 0;
    if (t == JSON_OBJECT || t == JSON_ARRAY)
        json_skip(r);
}

void json_input_rest(struct json_reader *r)
{
    if (r->token == JSON_KEY || r->token == JSON_OBJECT || r->token == JSON_ARRAY)
        json_skip(r);
}

static bool enter(struct json_reader *r, enum json_token what)
{
    if (json_next(r) == what)
        return true;
    json_input_rest(r);
    return false;
}

bool json_input_array(struct json_reader *r)
{
    return enter(r, JSON_ARRAY);
}

bool json_input_object(struct json_reader *r)
{
    return enter(r, JSON_OBJECT);
}

/* Return false at the end of the array; refuse any other token. */
static bool no_more(struct json_reader *r, const char *why)
{
    if (r->token != JSON_ARRAY_END)
        json_refuse(r, why);
    return false;
}

bool json_input_next_object(struct json_reader *r)
{
    return json_next(r) == JSON_OBJECT || no_more(r, "expected an object");
}

bool json_input_next_number(struct json_reader *r)
{
    return json_next_number(r) || no_more(r, "expected a number");
}

static void read_member(struct json_reader *r, const struct json_member *m, void *x)
{
    while (m->key && !json_text_is(r, m->key))
        m++;
    if (m->key)
        m->read(x);
    else
        json_skip(r);
}

int json_input_read(struct json_reader *r, const struct import_input *in,
                    const struct json_member *members, void *x, struct err *e)
{
    int rc;

    json_reader_init(r, (const char *)in->data, in->size);
    if (json_input_object(r))
        while (json_next_key(r))
            read_member(r, members, x);
    if (!r->depth)
        json_next(r); /* nothing may follow */
    rc = json_failure(r, e);
    json_reader_release(r);
    return rc;
}
