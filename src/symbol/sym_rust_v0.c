/* sym_rust_v0.c - Rust's newer mangling (RFC 2603), a grammar with back references.
 *
 * One recursive-descent pass prints as it reads.  Depth, the number of productions and the
 * output are bounded, since back references make a short name arbitrarily long.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "symbol/sym_rust.h"
#include "text/utf8.h"

enum { DEPTH_MAX = 96, STEPS_MAX = 20000, OUT_MAX = 16384, IDENT_MAX = 1024 };

struct rust {
    const char *start, *p, *end; /* start: after "_R", where back references count from */
    struct buf out;
    unsigned depth, steps;
    unsigned quiet; /* > 0: read without printing */
    uint64_t bound; /* lifetimes bound so far */
    bool failed;
};

static void path(struct rust *r, bool value);
static void type(struct rust *r);
static void constant(struct rust *r);

static void put(struct rust *r, const char *s, size_t n)
{
    if (r->quiet || r->failed)
        return;
    if (r->out.n + n > OUT_MAX)
        r->failed = true;
    else
        buf_add(&r->out, s, n);
}

static void say(struct rust *r, const char *s)
{
    put(r, s, strlen(s));
}

static void say_number(struct rust *r, uint64_t x)
{
    if (!r->quiet && !r->failed)
        buf_printf(&r->out, "%llu", (unsigned long long)x);
}

static char next(struct rust *r)
{
    if (r->p == r->end || r->failed) {
        r->failed = true;
        return 0;
    }
    return *r->p++;
}

static bool eat(struct rust *r, char c)
{
    if (r->failed || r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

/* Every production enters here; leaving is a plain decrement. */
static bool enter(struct rust *r)
{
    if (++r->depth > DEPTH_MAX || ++r->steps > STEPS_MAX)
        r->failed = true;
    return !r->failed;
}

/* `_` is 0, `0_` is 1, ... in base 62. */
static uint64_t base62(struct rust *r)
{
    uint64_t x = 0;

    if (eat(r, '_'))
        return 0;
    for (;;) {
        char c = next(r);
        unsigned d;

        if (c == '_' && !r->failed)
            return x + 1;
        if (isdigit((unsigned char)c))
            d = (unsigned)(c - '0');
        else if (islower((unsigned char)c))
            d = (unsigned)(c - 'a') + 10;
        else if (isupper((unsigned char)c))
            d = (unsigned)(c - 'A') + 36;
        else
            d = 99;
        if (d == 99 || __builtin_mul_overflow(x, 62, &x) || __builtin_add_overflow(x, d, &x)) {
            r->failed = true;
            return 0;
        }
    }
}

static uint64_t optional62(struct rust *r, char mark)
{
    uint64_t x = eat(r, mark) ? base62(r) : UINT64_MAX;

    return x + 1;
}

/* A back reference: continue at an earlier place with F, then come back. */
static const char *jump(struct rust *r)
{
    const char *tag = r->p - 1, *back;
    uint64_t at = base62(r);

    back = r->p;
    if (r->failed || at >= (uint64_t)(tag - r->start)) { /* must point before itself */
        r->failed = true;
        return back;
    }
    r->p = r->start + at;
    return back;
}

/* RFC 3492 with digits a-z0-9: the extra characters of a name that is not ASCII. */
static bool punycode(struct buf *out, const char *s, size_t n)
{
    uint32_t cp[IDENT_MAX], code = 128, bias = 72, i = 0, count = 0;
    const char *sep = memrchr(s, '_', n), *p = s, *end = s + n;

    if (n >= IDENT_MAX)
        return false;
    for (; sep && p < sep; p++)
        cp[count++] = (unsigned char)*p;
    p = sep ? sep + 1 : s;
    for (uint32_t first = 700; p < end; first = 2) {
        uint32_t old = i, weight = 1;

        for (uint32_t k = 36;; k += 36) {
            uint32_t d, t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;

            if (p == end || weight > (1u << 24) || i > (1u << 24))
                return false;
            d = isdigit((unsigned char)*p) ? (uint32_t)(*p - '0') + 26 : (uint32_t)(*p - 'a');
            p++;
            if (d > 35)
                return false;
            i += d * weight;
            if (d < t)
                break;
            weight *= 36 - t;
        }
        {
            uint32_t delta = (i - old) / first, k = 0;

            delta += delta / (count + 1);
            for (; delta > 455; k += 36)
                delta /= 35;
            bias = k + 36 * delta / (delta + 38);
        }
        code += i / (count + 1);
        i %= count + 1;
        if (count + 1 >= IDENT_MAX || code > 0x10ffff)
            return false;
        memmove(cp + i + 1, cp + i, (count - i) * sizeof *cp);
        cp[i++] = code;
        count++;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (!utf8_is_printable(cp[k]))
            return false;
        utf8_add(out, cp[k]);
    }
    return true;
}

struct ident {
    const char *s;
    size_t n;
    bool puny;
    uint64_t disambiguator;
};

static struct ident plain_ident(struct rust *r)
{
    struct ident id = { .puny = eat(r, 'u') };
    size_t n = 0;

    if (r->p == r->end || !isdigit((unsigned char)*r->p))
        r->failed = true;
    if (!eat(r, '0')) /* no leading zeros: 0 is a number by itself */
        while (r->p < r->end && isdigit((unsigned char)*r->p) && n < 100000)
            n = n * 10 + (size_t)(*r->p++ - '0');
    eat(r, '_');
    if (r->failed || n > (size_t)(r->end - r->p)) {
        r->failed = true;
        return (struct ident){ 0 };
    }
    id.s = r->p;
    id.n = n;
    r->p += n;
    return id;
}

static struct ident ident(struct rust *r)
{
    uint64_t d = optional62(r, 's');
    struct ident id = plain_ident(r);

    id.disambiguator = d;
    return id;
}

static void say_ident(struct rust *r, struct ident id)
{
    struct buf b = { 0 };

    if (!id.puny) {
        put(r, id.s, id.n);
        return;
    }
    if (punycode(&b, id.s, id.n)) {
        put(r, (const char *)b.data, b.n);
    } else {
        say(r, "punycode{");
        put(r, id.s, id.n);
        say(r, "}");
    }
    buf_release(&b);
}

/* Lifetime INDEX counted from the innermost binder; 0 is erased. */
static void lifetime(struct rust *r, uint64_t index)
{
    char name[3] = { '\'', '_', 0 };

    if (index > r->bound) {
        r->failed = true;
        return;
    }
    if (index) {
        uint64_t at = r->bound - index;

        if (at > 25) {
            say(r, "'_");
            say_number(r, at);
            return;
        }
        name[1] = (char)('a' + at);
    }
    say(r, name);
}

/* `for<'a, 'b> `; returns how many to unbind. */
static uint64_t binder(struct rust *r)
{
    uint64_t n = optional62(r, 'G');

    if (n > 64) {
        r->failed = true;
        return 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        say(r, i ? ", " : "for<");
        r->bound++;
        lifetime(r, 1);
    }
    if (n)
        say(r, "> ");
    return n;
}

static void generic_arg(struct rust *r)
{
    if (eat(r, 'L'))
        lifetime(r, base62(r));
    else if (eat(r, 'K'))
        constant(r);
    else
        type(r);
}

/* LIST until E with ", " between; returns how many. */
static unsigned list(struct rust *r, void (*item)(struct rust *))
{
    unsigned n = 0;

    while (!r->failed && !eat(r, 'E')) {
        if (n++)
            say(r, ", ");
        item(r);
    }
    return n;
}

static void skip_impl_path(struct rust *r)
{
    r->quiet++;
    optional62(r, 's');
    path(r, false);
    r->quiet--;
}

static void nested_path(struct rust *r, bool value)
{
    char space = next(r);
    struct ident id;

    path(r, value);
    id = ident(r);
    if (isupper((unsigned char)space)) {
        say(r, "::{");
        say(r, space == 'C' ? "closure" : space == 'S' ? "shim" : "?");
        if (id.n) {
            say(r, ":");
            say_ident(r, id);
        }
        say(r, "#");
        say_number(r, id.disambiguator);
        say(r, "}");
    } else if (!islower((unsigned char)space)) {
        r->failed = true;
    } else if (id.n) {
        say(r, "::");
        say_ident(r, id);
    }
}

static void path_body(struct rust *r, bool value)
{
    const char *back;

    switch (next(r)) {
    case 'C':
        say_ident(r, ident(r));
        break;
    case 'M':
        skip_impl_path(r);
        say(r, "<");
        type(r);
        say(r, ">");
        break;
    case 'X':
        skip_impl_path(r);
        /* fall through */
    case 'Y':
        say(r, "<");
        type(r);
        say(r, " as ");
        path(r, false);
        say(r, ">");
        break;
    case 'N':
        nested_path(r, value);
        break;
    case 'I':
        path(r, value);
        say(r, value ? "::<" : "<");
        list(r, generic_arg);
        say(r, ">");
        break;
    case 'B':
        back = jump(r);
        path(r, value);
        r->p = back;
        break;
    default:
        r->failed = true;
    }
}

static void path(struct rust *r, bool value)
{
    if (enter(r))
        path_body(r, value);
    r->depth--;
}

static const char *basic_type(char c)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",  ['u' - 'a'] = "()",
        ['v' - 'a'] = "...",   ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",  ['z' - 'a'] = "!",
        ['p' - 'a'] = "_",
    };

    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void function_type(struct rust *r)
{
    uint64_t bound = binder(r);

    if (eat(r, 'U'))
        say(r, "unsafe ");
    if (eat(r, 'K')) {
        say(r, "extern \"");
        if (eat(r, 'C'))
            say(r, "C");
        else
            say_ident(r, plain_ident(r));
        say(r, "\" ");
    }
    say(r, "fn(");
    list(r, type);
    say(r, ")");
    if (!eat(r, 'u')) {
        say(r, " -> ");
        type(r);
    }
    r->bound -= bound;
}

/* Trait with its associated types: `Iterator<Item = u8>`. */
static void dyn_trait(struct rust *r)
{
    bool open = false;

    path(r, false);
    while (eat(r, 'p')) {
        if (!open && !r->quiet && r->out.n && r->out.data[r->out.n - 1] == '>') {
            r->out.n--; /* join the path's own generic arguments */
            say(r, ", ");
        } else {
            say(r, open ? ", " : "<");
        }
        open = true;
        say_ident(r, plain_ident(r));
        say(r, " = ");
        type(r);
    }
    if (open)
        say(r, ">");
}

static void dyn_type(struct rust *r)
{
    uint64_t bound, index;
    unsigned n = 0;

    say(r, "dyn ");
    bound = binder(r);
    while (!r->failed && !eat(r, 'E')) {
        if (n++)
            say(r, " + ");
        dyn_trait(r);
    }
    r->bound -= bound;
    if (!eat(r, 'L'))
        r->failed = true;
    index = base62(r);
    if (index) {
        say(r, " + ");
        lifetime(r, index);
    }
}

static void reference_type(struct rust *r, const char *mut)
{
    say(r, "&");
    if (eat(r, 'L')) {
        uint64_t index = base62(r);

        if (index) {
            lifetime(r, index);
            say(r, " ");
        }
    }
    say(r, mut);
    type(r);
}

static void array_type(struct rust *r, bool sized)
{
    say(r, "[");
    type(r);
    if (sized) {
        say(r, "; ");
        constant(r);
    }
    say(r, "]");
}

static void type_body(struct rust *r)
{
    char c = next(r);
    const char *basic = basic_type(c), *back;

    if (basic) {
        say(r, basic);
        return;
    }
    switch (c) {
    case 'A':
    case 'S':
        array_type(r, c == 'A');
        break;
    case 'T':
        say(r, "(");
        say(r, list(r, type) == 1 ? ",)" : ")");
        break;
    case 'R':
    case 'Q':
        reference_type(r, c == 'Q' ? "mut " : "");
        break;
    case 'P':
    case 'O':
        say(r, c == 'P' ? "*const " : "*mut ");
        type(r);
        break;
    case 'F':
        function_type(r);
        break;
    case 'D':
        dyn_type(r);
        break;
    case 'B':
        back = jump(r);
        type(r);
        r->p = back;
        break;
    default:
        r->p--;
        path(r, false);
    }
}

static void type(struct rust *r)
{
    if (enter(r))
        type_body(r);
    r->depth--;
}

/* Hexadecimal digits up to `_`; those too large for 64 bits are printed as they are. */
static void number_constant(struct rust *r, char kind)
{
    bool negative = eat(r, 'n');
    const char *digits = r->p;
    uint64_t x = 0;
    size_t n;

    while (!r->failed && r->p < r->end && isxdigit((unsigned char)*r->p)) {
        char c = *r->p++;

        x = x << 4 | (uint64_t)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    n = (size_t)(r->p - digits);
    if (!eat(r, '_'))
        r->failed = true;
    if (negative)
        say(r, "-");
    if (kind == 'b') {
        say(r, x ? "true" : "false");
    } else if (kind == 'c') {
        say(r, "'");
        if (!r->quiet && !r->failed)
            utf8_add(&r->out, utf8_is_printable((uint32_t)x) ? (uint32_t)x : '?');
        say(r, "'");
    } else if (n > 16) {
        say(r, "0x");
        put(r, digits, n);
    } else {
        say_number(r, x);
    }
}

static void constant_body(struct rust *r)
{
    char c = next(r);
    const char *back;

    if (c == 'p') {
        say(r, "_");
    } else if (c == 'B') {
        back = jump(r);
        constant(r);
        r->p = back;
    } else if (c && strchr("abchijlmnostxy", c)) {
        number_constant(r, c);
    } else {
        r->failed = true; /* strings and structures as parameters: left mangled */
    }
}

static void constant(struct rust *r)
{
    if (enter(r))
        constant_body(r);
    r->depth--;
}

char *sym_rust_v0(const char *name)
{
    struct rust r = { 0 };

    if (name[0] != '_' || name[1] != 'R' || !isupper((unsigned char)name[2]))
        return NULL;
    r.start = r.p = name + 2;
    r.end = r.p + strcspn(r.p, ".$"); /* a compiler's suffix is not part of it */
    path(&r, true);
    if (!r.failed && r.p < r.end) { /* the crate it was instantiated in */
        r.quiet++;
        path(&r, false);
    }
    if (r.failed || r.p != r.end || !r.out.n) {
        buf_release(&r.out);
        return NULL;
    }
    return buf_text(&r.out);
}
