/* term.c - see term.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/term.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

enum { WIDTH_UNKNOWN = 80, WIDTH_LEAST = 40 };

static int width_of(int fd)
{
    struct winsize w = { 0 };
    const char *columns = getenv("COLUMNS");
    int width = columns ? (int)strtol(columns, NULL, 10) : 0;

    if (width <= 0 && ioctl(fd, TIOCGWINSZ, &w) == 0)
        width = w.ws_col;
    if (width <= 0)
        return WIDTH_UNKNOWN;
    return width < WIDTH_LEAST ? WIDTH_LEAST : width;
}

struct term term_of(int fd)
{
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
    struct term t = { .tty = isatty(fd) };

    if (!t.tty)
        return t;
    t.color = !(no_colour && *no_colour) && kind && *kind && strcmp(kind, "dumb") != 0;
    t.width = width_of(fd);
    return t;
}

static const char *const style_codes[] = {
    [TERM_BOLD] = "\033[1m",    [TERM_DIM] = "\033[2m",   [TERM_HOT] = "\033[1;31m",
    [TERM_WARM] = "\033[33m",   [TERM_GOOD] = "\033[32m",
};

void term_begin(const struct term *t, struct out *o, enum term_style s)
{
    if (t->color && s != TERM_PLAIN)
        out_trusted(o, style_codes[s]);
}

void term_end(const struct term *t, struct out *o, enum term_style s)
{
    if (t->color && s != TERM_PLAIN)
        out_trusted(o, "\033[0m");
}

struct range {
    uint32_t first, last;
};

static bool within(const struct range *r, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i++)
        if (code >= r[i].first && code <= r[i].last)
            return true;
    return false;
}

/* The blocks relevant to names of functions and files; from Unicode's East Asian Width. */
static int columns_of(uint32_t code)
{
    static const struct range none[] = { { 0x300, 0x36f },   { 0x200b, 0x200f },
                                         { 0x202a, 0x202e }, { 0x2060, 0x2064 },
                                         { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff } };
    static const struct range wide[] = { { 0x1100, 0x115f },   { 0x2e80, 0xa4cf },
                                         { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
                                         { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
                                         { 0xffe0, 0xffe6 },   { 0x1f300, 0x1faff },
                                         { 0x20000, 0x3fffd } };

    if (code < 0x300)
        return 1;
    if (within(none, sizeof none / sizeof *none, code))
        return 0;
    return within(wide, sizeof wide / sizeof *wide, code) ? 2 : 1;
}

size_t term_char(const char *s, size_t n, int *columns)
{
    uint32_t code;
    size_t len = utf8_decode((const unsigned char *)s, n, &code);

    *columns = len ? columns_of(code) : 1;
    return len ? len : 1;
}

size_t term_columns(const char *s, size_t n)
{
    size_t total = 0;

    for (size_t i = 0; i < n;) {
        int columns;

        i += term_char(s + i, n - i, &columns);
        total += (size_t)columns;
    }
    return total;
}

void term_clean(char *s, size_t n)
{
    utf8_clean_line(s, n);
}
