/* abbreviate.c - see abbreviate.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/abbreviate.h"

#include <stdbool.h>

static const char ELLIPSIS[] = "\xe2\x80\xa6";

static bool continues(char c) /* a UTF-8 continuation byte */
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t characters(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += !continues(*s);
    return n;
}

static void put_cut(struct buf *out, const char *s, size_t room)
{
    size_t n = 0, chars = 0;

    while (s[n] && (continues(s[n]) || chars + 1 < room))
        chars += !continues(s[n++]);
    buf_add(out, s, n);
    buf_str(out, ELLIPSIS);
}

/* "std::map<int, X>::find(int const&) const" becomes "std::map::find". */
static void drop_arguments(struct buf *out, const char *name)
{
    int depth = 0;

    for (const char *s = name; *s; s++) {
        if (*s == '<' || *s == '(')
            depth++;
        else if (*s == '>' || *s == ')')
            depth -= depth > 0;
        else if (!depth)
            buf_u8(out, (unsigned char)*s);
    }
    if (out->n > 6 && memcmp(out->data + out->n - 6, " const", 6) == 0)
        out->n -= 6;
}

static bool has_arguments(const char *name)
{
    return strpbrk(name, "<(") && !strchr("<([", name[0]) && !strstr(name, "operator");
}

static void put_fitting(struct buf *out, const char *text, size_t room)
{
    const char *inner = text;

    if (characters(text) <= room) {
        buf_str(out, text);
        return;
    }
    for (const char *s = text; (s = strstr(s, "::")); s += 2) {
        inner = s + 2;
        if (*inner && characters(inner) + 1 <= room) {
            buf_str(out, ELLIPSIS);
            buf_str(out, inner);
            return;
        }
    }
    put_cut(out, *inner ? inner : text, room);
}

void abbreviate(struct buf *out, const char *name, size_t room)
{
    struct buf brief = { 0 };

    out->n = 0;
    if (has_arguments(name) && characters(name) > room)
        drop_arguments(&brief, name);
    put_fitting(out, brief.n ? buf_text(&brief) : name, room);
    buf_release(&brief);
}
