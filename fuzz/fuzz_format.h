/* fuzz_format.h - a fuzz target for one importer.  For any input, the importer must either fail or
 * return a profile that every exporter can write.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FUZZ_FORMAT_H
#define FATHOM_FUZZ_FORMAT_H

#include <stdint.h>

#include "formats/formats.h"

#ifndef FUZZ_SEARCH /* 1 in a search */
#define FUZZ_SEARCH 0
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_write(const struct format *f, const struct profile *p)
{
    struct export_options opt = { 0 };
    struct out o = out_memory();
    struct err e = { 0 };
    struct an_view v;

    if (an_view_open(&v, p, NULL, f->view, &e) == 0 && f->write)
        f->write(&v, &opt, &o, &e);
    an_view_release(&v);
    out_close(&o, NULL);
}

/* A fuzzing run writes one format, selected by the input, so that it spends most of its time on
 * reading.  A replay of the corpus writes all formats. */
static void fuzz_write_some(const struct profile *p, const uint8_t *data, size_t size)
{
    size_t n = 0, sum = 0;

    while (formats[n])
        n++;
    for (size_t i = 0; i < size; i++)
        sum += data[i];
    for (size_t i = 0; i < n; i++)
        if (!FUZZ_SEARCH || i == sum % n)
            fuzz_write(formats[i], p);
}

static inline void fuzz_format(const struct format *f, const uint8_t *data, size_t size)
{
    struct import_input in = { .data = data, .size = size, .path = "fuzz" };
    struct profile *p = profile_new();
    struct err e = { 0 };

    f->recognize(&in);
    if (f->import(&in, profile_sink(p), &e) == 0 && p->sample.n < 10000)
        fuzz_write_some(p, data, size);
    profile_free(p);
}

#define FUZZ_FORMAT(id)                                           \
    extern const struct format format_##id;                       \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)  \
    {                                                             \
        fuzz_format(&format_##id, data, size);                    \
        return 0;                                                 \
    }

#endif
