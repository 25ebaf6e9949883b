/* palette.c - see palette.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/palette.h"

#include <math.h>

struct family { /* degrees of hue, percent of saturation and lightness */
    int hue, hue_span, saturation, lightness;
};

enum { INLINED = FRAME_NOTE + 1 };

static const struct family families[] = {
    [FRAME_NATIVE] = { 14, 34, 84, 66 },
    [FRAME_KERNEL] = { 252, 26, 56, 74 },
    [FRAME_JIT] = { 92, 40, 44, 65 },
    [FRAME_PYTHON] = { 202, 20, 66, 68 },
    [FRAME_SCRIPT] = { 318, 24, 52, 74 },
    [FRAME_ZONE] = { 52, 10, 74, 64 },
    [FRAME_NOTE] = { 215, 6, 10, 74 },
    [INLINED] = { 166, 20, 42, 66 },
};

static const struct family *family_of(const struct an_symbol *y)
{
    return &families[y->inlined ? INLINED : y->kind];
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

struct palette_color palette_of(const struct an_symbol *y)
{
    const struct family *f = family_of(y);
    uint32_t h = fnv(y->name);
    double hue = f->hue + (h & 0xff) / 255.0 * f->hue_span;
    double light = (f->lightness + ((h >> 8) & 0xff) / 255.0 * 8 - 4) / 100;
    double s = f->saturation / 100.0;

    return (struct palette_color){ channel(hue, s, light, 0), channel(hue, s, light, 8),
                                   channel(hue, s, light, 4) };
}
