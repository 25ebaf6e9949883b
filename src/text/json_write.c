/* json_write.c - the writer half of json.h.  SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/escape.h"
#include "text/json.h"

static void new_line(struct json *j)
{
    if (!j->pretty)
        return;
    out_char(j->out, '\n');
    for (int i = 0; i < j->depth; i++)
        out_str(j->out, "  ");
}

static void before_item(struct json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->comma)
        out_char(j->out, ',');
    if (j->depth)
        new_line(j);
    j->comma = true;
}

static void open_level(struct json *j, char c)
{
    before_item(j);
    out_char(j->out, c);
    j->depth++;
    j->comma = false;
}

static void close_level(struct json *j, char c)
{
    j->depth--;
    if (j->comma)
        new_line(j);
    out_char(j->out, c);
    j->comma = true;
    if (j->pretty && j->depth == 0)
        out_char(j->out, '\n');
}

void json_object(struct json *j)
{
    open_level(j, '{');
}

void json_array(struct json *j)
{
    open_level(j, '[');
}

void json_end_object(struct json *j)
{
    close_level(j, '}');
}

void json_end_array(struct json *j)
{
    close_level(j, ']');
}

static void quoted(struct out *o, const char *s, size_t n)
{
    out_char(o, '"');
    for (struct escaped e; n; s += e.taken, n -= e.taken) {
        e = escape_json(s, n);
        out_add(o, escaped_text(&e), e.n);
    }
    out_char(o, '"');
}

void json_key(struct json *j, const char *key)
{
    before_item(j);
    quoted(j->out, key, strlen(key));
    out_str(j->out, j->pretty ? ": " : ":");
    j->after_key = true;
}

void json_strn(struct json *j, const char *s, size_t n)
{
    before_item(j);
    quoted(j->out, s, n);
}

void json_str(struct json *j, const char *s)
{
    json_strn(j, s, strlen(s));
}

void json_u64(struct json *j, uint64_t x)
{
    before_item(j);
    out_u64(j->out, x);
}

void json_i64(struct json *j, int64_t x)
{
    before_item(j);
    out_i64(j->out, x);
}

void json_num(struct json *j, double x, int decimals)
{
    before_item(j);
    if (isfinite(x))
        out_printf(j->out, "%.*f", decimals, x);
    else
        out_str(j->out, "null");
}

void json_real(struct json *j, double x)
{
    before_item(j);
    if (isfinite(x))
        out_printf(j->out, "%.17g", x);
    else
        out_str(j->out, "null");
}

void json_bool(struct json *j, bool x)
{
    before_item(j);
    out_str(j->out, x ? "true" : "false");
}

void json_null(struct json *j)
{
    before_item(j);
    out_str(j->out, "null");
}

void json_put_str(struct json *j, const char *key, const char *s)
{
    json_key(j, key);
    json_str(j, s);
}

void json_put_u64(struct json *j, const char *key, uint64_t x)
{
    json_key(j, key);
    json_u64(j, x);
}

void json_put_i64(struct json *j, const char *key, int64_t x)
{
    json_key(j, key);
    json_i64(j, x);
}

void json_put_num(struct json *j, const char *key, double x, int decimals)
{
    json_key(j, key);
    json_num(j, x, decimals);
}

void json_put_bool(struct json *j, const char *key, bool x)
{
    json_key(j, key);
    json_bool(j, x);
}
