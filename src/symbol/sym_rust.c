/* sym_rust.c - Rust's older mangling: C++'s nested names with a hash for a last part and
 * escapes for what C++ cannot write.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_rust.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "text/utf8.h"

enum { HASH_PART = 17, PARTS_MAX = 128 };

struct part {
    const char *s;
    size_t n;
};

static bool is_hash(struct part p)
{
    if (p.n != HASH_PART || p.s[0] != 'h')
        return false;
    for (size_t i = 1; i < p.n; i++)
        if (!isxdigit((unsigned char)p.s[i]))
            return false;
    return true;
}

/* Length-prefixed parts up to the closing E; 0 when NAME is not made of them. */
static size_t split(const char *s, struct part *part)
{
    size_t n = 0;

    while (*s != 'E') {
        size_t len = 0;

        while (isdigit((unsigned char)*s) && len < 10000)
            len = len * 10 + (size_t)(*s++ - '0');
        if (len == 0 || strnlen(s, len) < len || n == PARTS_MAX)
            return 0;
        part[n++] = (struct part){ s, len };
        s += len;
    }
    return s[1] == 0 || s[1] == '.' ? n : 0;
}

/* One escape between dollar signs. */
static bool unescape(struct buf *b, const char *s, size_t n)
{
    static const struct {
        const char *code;
        char c;
    } table[] = { { "SP", '@' }, { "BP", '*' }, { "RF", '&' }, { "LT", '<' },
                  { "GT", '>' }, { "LP", '(' }, { "RP", ')' }, { "C", ',' } };
    uint32_t x = 0;

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].code) == n && memcmp(table[i].code, s, n) == 0) {
            buf_u8(b, (uint8_t)table[i].c);
            return true;
        }
    if (n < 2 || n > 7 || s[0] != 'u')
        return false;
    for (size_t i = 1; i < n; i++) {
        if (!isxdigit((unsigned char)s[i]))
            return false;
        x = x * 16 + (uint32_t)(isdigit((unsigned char)s[i]) ? s[i] - '0' : (s[i] | 32) - 'a' + 10);
    }
    if (!utf8_is_printable(x))
        return false;
    utf8_add(b, x);
    return true;
}

static void add_part(struct buf *b, struct part p)
{
    size_t i = p.n > 1 && p.s[0] == '_' && p.s[1] == '$'; /* an underscore guards an escape */

    while (i < p.n) {
        const char *close = p.s[i] == '$' ? memchr(p.s + i + 1, '$', p.n - i - 1) : NULL;

        if (close && unescape(b, p.s + i + 1, (size_t)(close - p.s) - i - 1)) {
            i = (size_t)(close - p.s) + 1;
        } else if (i + 1 < p.n && p.s[i] == '.' && p.s[i + 1] == '.') {
            buf_str(b, "::");
            i += 2;
        } else {
            buf_u8(b, (uint8_t)p.s[i++]);
        }
    }
}

char *sym_rust_legacy(const char *name)
{
    struct part part[PARTS_MAX];
    struct buf b = { 0 };
    size_t n;

    if (strncmp(name, "_ZN", 3) != 0)
        return NULL;
    n = split(name + 3, part);
    if (n < 2 || !is_hash(part[n - 1]))
        return NULL;
    for (size_t i = 0; i + 1 < n; i++) {
        if (i)
            buf_str(&b, "::");
        add_part(&b, part[i]);
    }
    return buf_text(&b);
}
