/* palette.c - see palette.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/palette.h"

#include <math.h>

struct family { /* degrees of hue, percent of saturation and lightness */
    int hue, hue_span, saturation, lightness;
    const char *name;
};

enum { INLINED = FRAME_NOTE + 1 };

static const struct family families[] = {
    [FRAME_NATIVE] = { 14, 34, 84, 66, "native" },
    [FRAME_KERNEL] = { 252, 26, 56, 74, "kernel" },
    [FRAME_JIT] = { 92, 40, 44, 65, "JIT" },
    [FRAME_PYTHON] = { 202, 20, 66, 68, "python" },
    [FRAME_SCRIPT] = { 318, 24, 52, 74, "script" },
    [FRAME_ZONE] = { 52, 10, 74, 64, "zone" },
    [FRAME_NOTE] = { 215, 6, 10, 74, "note" },
    [INLINED] = { 166, 20, 42, 66, "inlined" },
};

unsigned palette_kind(const struct an_symbol *y)
{
    return y->inlined ? INLINED : y->kind;
}

const char *palette_kind_name(unsigned kind)
{
    return families[kind].name;
}

static uint32_t fnv(const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h ^ (h >> 15);
}

static unsigned char channel(double hue, double s, double l, double n)
{
    double k = fmod(n + hue / 30, 12), a = s * fmin(l, 1 - l);
    double x = l - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));

    return (unsigned char)lround(x * 255);
}

/* ACROSS and UP, from 0 to 1, select a shade of the family. */
static struct palette_color color(const struct family *f, double across, double up)
{
    double hue = f->hue + across * f->hue_span, light = (f->lightness + up * 8 - 4) / 100;
    double s = f->saturation / 100.0;

    return (struct palette_color){ channel(hue, s, light, 0), channel(hue, s, light, 8),
                                   channel(hue, s, light, 4) };
}

struct palette_color palette_of(const struct an_symbol *y)
{
    uint32_t h = fnv(y->name);

    return color(&families[palette_kind(y)], (h & 0xff) / 255.0, ((h >> 8) & 0xff) / 255.0);
}

struct palette_color palette_kind_color(unsigned kind)
{
    return color(&families[kind], 0.5, 0.5);
}
