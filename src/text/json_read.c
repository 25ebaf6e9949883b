/* json_read.c - the reader half of json.h: one token at a time, no recursion, no copies except
 * for strings with escapes.  SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/utf8.h"
#include "text/json.h"

void json_reader_init(struct json_reader *r, const char *text, size_t n)
{
    memset(r, 0, sizeof *r);
    r->at = r->start = text;
    r->end = text + n;
}

void json_reader_release(struct json_reader *r)
{
    buf_release(&r->scratch);
}

static enum json_token fail(struct json_reader *r, const char *why)
{
    if (!r->error)
        r->error = why;
    return r->token = JSON_ERROR;
}

static inline void skip_space(struct json_reader *r)
{
    const char *p = r->at;

    while (p < r->end && (unsigned char)*p <= ' ' &&
           (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    r->at = p;
}

static int hex4(struct json_reader *r)
{
    int x = 0;

    if (r->end - r->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = *r->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        x = x * 16 + digit;
    }
    return x;
}

static bool unicode_escape(struct json_reader *r)
{
    int c = hex4(r), low;

    if (c < 0)
        return false;
    if (c >= 0xd800 && c < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
        const char *before = r->at;

        r->at += 2;
        low = hex4(r);
        if (low >= 0xdc00 && low < 0xe000) {
            utf8_add(&r->scratch,
                     0x10000u + (((uint32_t)c - 0xd800) << 10) + ((uint32_t)low - 0xdc00));
            return true;
        }
        r->at = before;
    }
    utf8_add(&r->scratch, c >= 0xd800 && c < 0xe000 ? 0xfffd : (uint32_t)c);
    return true;
}

static bool one_escape(struct json_reader *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *p;
    char c;

    if (r->at >= r->end)
        return false;
    c = *r->at++;
    if (c == 'u')
        return unicode_escape(r);
    p = c ? strchr(from, c) : NULL;
    if (!p)
        return false;
    buf_u8(&r->scratch, (uint8_t)to[p - from]);
    return true;
}

/* The first quote or backslash from P on, or END. */
static inline const char *string_stop(const char *p, const char *end)
{
    const uint64_t each = 0x0101010101010101u;

    for (; end - p >= 8; p += 8) {
        uint64_t w, quote, escape, hit;

        memcpy(&w, p, sizeof w);
        w = le64toh(w);
        quote = w ^ '"' * each;
        escape = w ^ '\\' * each;
        /* The lowest marked byte is a zero byte; higher marks may be false. */
        hit = (((quote - each) & ~quote) | ((escape - each) & ~escape)) & 0x80 * each;
        if (hit)
            return p + __builtin_ctzll(hit) / 8;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Copy a string with escapes, or without an end, piece by piece. */
static bool copy_string(struct json_reader *r)
{
    r->scratch.n = 0;
    for (;;) {
        const char *p = string_stop(r->at, r->end);

        if (p >= r->end)
            return fail(r, "unterminated string"), false;
        buf_add(&r->scratch, r->at, (size_t)(p - r->at));
        r->at = p + 1;
        if (*p == '"') {
            r->text = (const char *)r->scratch.data;
            r->n = r->scratch.n;
            return true;
        }
        if (!one_escape(r))
            return fail(r, "invalid escape in a string"), false;
    }
}

/* The opening quote has been read. */
static bool read_string(struct json_reader *r)
{
    const char *p = string_stop(r->at, r->end);

    if (p >= r->end || *p != '"')
        return copy_string(r);
    r->text = r->at;
    r->n = (size_t)(p - r->at);
    r->at = p + 1;
    return true;
}

/* A fraction, an exponent or many digits: strtod on a bounded copy. */
static enum json_token read_unusual(struct json_reader *r, const char *from)
{
    char copy[64];
    const char *p = from;

    while (p < r->end && ((*p >= '0' && *p <= '9') || *p == '.' || *p == 'e' || *p == 'E' ||
                          *p == '+' || *p == '-'))
        p++;
    r->text = from;
    r->n = (size_t)(p - from);
    r->at = p;
    if (r->n >= sizeof copy)
        return fail(r, "a number is too long");
    memcpy(copy, from, r->n);
    copy[r->n] = 0;
    r->number = strtod(copy, NULL);
    return r->token = JSON_NUMBER;
}

enum { EXACT_DIGITS = 15 }; /* that a double represents exactly */

static enum json_token take_number(struct json_reader *r, const char *from, const char *end,
                                   double x)
{
    r->text = from;
    r->n = (size_t)(end - from);
    r->at = end;
    r->number = x;
    return r->token = JSON_NUMBER;
}

static bool continues_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

/* After the integer part X: the quotient of two exact numbers is rounded once, hence correctly. */
static enum json_token read_fraction(struct json_reader *r, const char *from, const char *point,
                                     int64_t x)
{
    static const double power[] = { 1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    const char *p = point + 1;

    while (p < r->end && (unsigned char)(*p - '0') < 10 && p - from <= EXACT_DIGITS)
        x = x * 10 + (*p++ - '0');
    if (p == point + 1 || p - from > EXACT_DIGITS || (p < r->end && continues_number(*p)))
        return read_unusual(r, from);
    return take_number(r, from, p, (double)(*from == '-' ? -x : x) / power[p - point - 1]);
}

/* Parse at most EXACT_DIGITS + 1 digits at P into *X; returns their end. */
static inline const char *read_digits(const char *p, const char *end, int64_t *x)
{
    const char *digits = p;
    unsigned n = 0;

    if (end - p >= 8)
        *x = digits_of_8(p, &n);
    for (p += n; p < end && (unsigned char)(*p - '0') < 10 && p - digits <= EXACT_DIGITS; p++)
        *x = *x * 10 + (*p - '0');
    return p;
}

static enum json_token read_number(struct json_reader *r)
{
    const char *from = r->at, *p = from, *digits;
    bool negative = *p == '-';
    int64_t x = 0;

    p += negative;
    digits = p;
    p = read_digits(p, r->end, &x);
    if (p == digits)
        return fail(r, "not a value");
    if (p < r->end && *p == '.' && p - digits <= EXACT_DIGITS)
        return read_fraction(r, from, p, x);
    if (p - digits > EXACT_DIGITS || (p < r->end && continues_number(*p)))
        return read_unusual(r, from);
    return take_number(r, from, p, (double)(negative ? -x : x));
}

bool json_next_number(struct json_reader *r)
{
    enum { SHORT = 15 };
    const char *p = r->at + r->want_comma, *from = p;
    bool negative;
    int64_t x = 0;

    /* The usual case: inside an array, without spaces, few digits. */
    if (r->error || !r->depth || r->kinds[r->depth - 1] != '[' || r->end - r->at < SHORT + 4 ||
        (r->want_comma && *r->at != ','))
        return json_next(r) == JSON_NUMBER;
    negative = *p == '-';
    p += negative;
    p = read_digits(p, p + SHORT - negative, &x);
    if (p == from + negative || (*p != ',' && *p != ']'))
        return json_next(r) == JSON_NUMBER;
    r->want_comma = true;
    take_number(r, from, p, (double)(negative ? -x : x));
    return true;
}

static enum json_token word(struct json_reader *r, const char *w, enum json_token t)
{
    size_t n = strlen(w);

    if ((size_t)(r->end - r->at) < n || memcmp(r->at, w, n) != 0)
        return fail(r, "not a value");
    r->at += n;
    return r->token = t;
}

static enum json_token open_level(struct json_reader *r, char kind, enum json_token t)
{
    if (r->depth == JSON_MAX_DEPTH)
        return fail(r, "nested too deeply");
    r->kinds[r->depth++] = (uint8_t)kind;
    r->at++;
    r->want_comma = false;
    return r->token = t;
}

static enum json_token close_level(struct json_reader *r, char kind, enum json_token t)
{
    if (r->depth == 0 || r->kinds[r->depth - 1] != kind || r->want_value)
        return fail(r, "a bracket does not match");
    r->depth--;
    r->at++;
    r->want_comma = true;
    return r->token = t;
}

static enum json_token read_value(struct json_reader *r)
{
    r->want_value = false;
    r->want_comma = true;
    switch (*r->at) {
    case '{':
        return open_level(r, '{', JSON_OBJECT);
    case '[':
        return open_level(r, '[', JSON_ARRAY);
    case '"':
        r->at++;
        return read_string(r) ? (r->token = JSON_STRING) : JSON_ERROR;
    case 't':
        return word(r, "true", JSON_TRUE);
    case 'f':
        return word(r, "false", JSON_FALSE);
    case 'n':
        return word(r, "null", JSON_NULL);
    default:
        return read_number(r);
    }
}

static enum json_token read_key(struct json_reader *r)
{
    if (*r->at != '"')
        return fail(r, "expected a quoted name");
    r->at++;
    if (!read_string(r))
        return JSON_ERROR;
    skip_space(r);
    if (r->at >= r->end || *r->at != ':')
        return fail(r, "expected a colon");
    r->at++;
    r->want_value = true;
    r->want_comma = false;
    return r->token = JSON_KEY;
}

enum json_token json_next(struct json_reader *r)
{
    bool in_object;

    if (r->error)
        return JSON_ERROR;
    skip_space(r);
    if (r->at >= r->end && (r->depth || r->want_value))
        return fail(r, "unexpected end of text");
    if (r->at >= r->end)
        return r->token = JSON_END;
    if (*r->at == '}')
        return close_level(r, '{', JSON_OBJECT_END);
    if (*r->at == ']')
        return close_level(r, '[', JSON_ARRAY_END);
    if (r->want_comma && r->depth == 0)
        return fail(r, "text after the value");
    if (r->want_comma) {
        if (*r->at != ',')
            return fail(r, "expected a comma");
        r->at++;
        r->want_comma = false;
        skip_space(r);
        if (r->at >= r->end)
            return fail(r, "unexpected end of text");
        if (*r->at == '}' || *r->at == ']')
            return json_next(r); /* a trailing comma: common in traces edited by hand */
    }
    in_object = r->depth && r->kinds[r->depth - 1] == '{';
    return in_object && !r->want_value ? read_key(r) : read_value(r);
}

/* Skip the rest of an array of numbers in one pass. */
static bool skip_numbers(struct json_reader *r)
{
    const char *p = r->at;

    while (p < r->end && ((*p >= '0' && *p <= '9') || *p == ',' || *p == '-' || *p == '.'))
        p++;
    if (p >= r->end || *p != ']' || p == r->at)
        return false;
    r->at = p;
    json_next(r);
    return true;
}

void json_skip(struct json_reader *r)
{
    int depth = r->depth;

    if (r->token == JSON_ARRAY && skip_numbers(r))
        return;
    if (r->token == JSON_OBJECT || r->token == JSON_ARRAY)
        depth--;
    else if (json_next(r) != JSON_OBJECT && r->token != JSON_ARRAY)
        return;
    else if (r->token == JSON_ARRAY && skip_numbers(r))
        return;
    while (r->depth > depth && json_next(r) > JSON_ERROR)
        ;
}

bool json_next_key(struct json_reader *r)
{
    /* The usual case: after another member, without spaces. */
    if (r->want_comma && !r->error && r->depth && r->kinds[r->depth - 1] == '{' &&
        r->end - r->at >= 2 && r->at[0] == ',' && r->at[1] == '"') {
        r->at++;
        return read_key(r) == JSON_KEY;
    }
    return json_next(r) == JSON_KEY;
}

static bool next_is_number(struct json_reader *r)
{
    enum json_token t = json_next(r);

    if (t == JSON_OBJECT || t == JSON_ARRAY)
        json_skip(r);
    return t == JSON_NUMBER;
}

double json_read_num(struct json_reader *r, double otherwise)
{
    return next_is_number(r) ? r->number : otherwise;
}

int64_t json_read_i64(struct json_reader *r, int64_t otherwise)
{
    bool negative;
    uint64_t x = 0;

    if (!next_is_number(r))
        return otherwise;
    if (r->n <= 15 && fabs(r->number) < 1e15 && r->number == (double)(int64_t)r->number)
        return (int64_t)r->number;
    negative = r->text[0] == '-';
    for (size_t i = negative; i < r->n; i++) {
        if (r->text[i] < '0' || r->text[i] > '9' || x > INT64_MAX / 10 - 1) {
            /* A fraction, an exponent or a huge value: convert the double. */
            if (r->number >= 9.2e18 || r->number <= -9.2e18 || isnan(r->number))
                return otherwise;
            return (int64_t)r->number;
        }
        x = x * 10 + (uint64_t)(r->text[i] - '0');
    }
    return negative ? -(int64_t)x : (int64_t)x;
}

void json_refuse(struct json_reader *r, const char *why)
{
    r->refused |= !r->error;
    fail(r, why);
}

int json_failure(const struct json_reader *r, struct err *e)
{
    size_t line = 1;

    if (!r->error)
        return 0;
    for (const char *s = r->start; s < r->at && (s = memchr(s, '\n', (size_t)(r->at - s))); s++)
        line++;
    return err_set(e, ERR_FORMAT, "%sline %zu, at byte %zu: %s",
                   r->refused ? "" : "invalid JSON in ", line, (size_t)(r->at - r->start),
                   r->error);
}
