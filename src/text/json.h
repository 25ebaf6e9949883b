/* json.h - a streaming JSON writer and a pull reader.
 *
 * The writer adds commas and escapes; numbers that JSON cannot represent become null.  The reader
 * parses untrusted text without recursion or copies; the first error is kept with its position.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_JSON_H
#define FATHOM_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "text/out.h"

struct json {
    struct out *out;
    bool comma;    /* the next item needs one before it */
    bool after_key; /* the next item is a member's value */
    bool pretty;   /* one item per line, indented */
    int depth;
};
/* Start from { .out = out }. */
void json_object(struct json *j); /* { */
void json_array(struct json *j);  /* [ */
void json_end_object(struct json *j);
void json_end_array(struct json *j);
void json_key(struct json *j, const char *key);
void json_str(struct json *j, const char *s);
/* Bytes that are not UTF-8 become U+FFFD. */
void json_strn(struct json *j, const char *s, size_t n);
void json_u64(struct json *j, uint64_t x);
void json_i64(struct json *j, int64_t x);
void json_num(struct json *j, double x, int decimals);
void json_real(struct json *j, double x); /* all its digits */
void json_bool(struct json *j, bool x);
void json_null(struct json *j);
/* key and value at once */
void json_put_str(struct json *j, const char *key, const char *s);
void json_put_u64(struct json *j, const char *key, uint64_t x);
void json_put_i64(struct json *j, const char *key, int64_t x);
void json_put_num(struct json *j, const char *key, double x, int decimals);
void json_put_bool(struct json *j, const char *key, bool x);

enum json_token {
    JSON_END,    /* no more text */
    JSON_ERROR,  /* see reader.error and reader.at */
    JSON_OBJECT, /* { */
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,    /* in text */
    JSON_STRING, /* in text */
    JSON_NUMBER, /* in number; its spelling in text */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

enum { JSON_MAX_DEPTH = 512 };

struct json_reader {
    const char *at, *end, *start;
    enum json_token token; /* the last one read */
    const char *text;      /* of a key, string or number: n bytes, unescaped, not NUL-terminated */
    size_t n;
    double number;
    const char *error;     /* NULL if none */
    int depth;
    bool want_comma, want_value;
    bool refused; /* the error is one of content: json_refuse() */
    uint8_t kinds[JSON_MAX_DEPTH]; /* '{' or '[' of each open level */
    struct buf scratch;    /* for strings with escapes */
};
void json_reader_init(struct json_reader *r, const char *text, size_t n);
void json_reader_release(struct json_reader *r);
enum json_token json_next(struct json_reader *r);
/* The same as json_next(r) == JSON_NUMBER, optimized for long arrays. */
bool json_next_number(struct json_reader *r);
/* Skip the next value, or the rest of the one whose opening token was just read. */
void json_skip(struct json_reader *r);
/* True while reading the members of an object: JSON_KEY was read, the value is next. */
bool json_next_key(struct json_reader *r);
static inline bool json_text_is(const struct json_reader *r, const char *s)
{
    return r->n == strlen(s) && memcmp(r->text, s, r->n) == 0;
}
/* The next value as a number or text; skips a value of another type and returns OTHERWISE. */
double json_read_num(struct json_reader *r, double otherwise);
int64_t json_read_i64(struct json_reader *r, int64_t otherwise); /* exact for integers */
/* Fail at this position with WHY: valid JSON, but not the expected content. */
void json_refuse(struct json_reader *r, const char *why);
int json_failure(const struct json_reader *r, struct err *e); /* -1 with position, or 0 */

#endif
