/* fuzz_format.h - a fuzz target for one importer: what it makes of any bytes must be a profile
 * that every exporter can write, or a refusal.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FUZZ_FORMAT_H
#define FATHOM_FUZZ_FORMAT_H

#include <stdint.h>

#include "formats/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_write_all(const struct profile *p)
{
    for (size_t i = 0; formats[i]; i++) {
        struct export_options opt = { 0 };
        struct out o = out_memory();
        struct err e = { 0 };

        if (formats[i]->write)
            formats[i]->write(p, &opt, &o, &e);
        out_close(&o, NULL);
    }
}

static void fuzz_format(const struct format *f, const uint8_t *data, size_t size)
{
    struct import_input in = { .data = data, .size = size, .path = "fuzz" };
    struct profile *p = profile_new();
    struct err e = { 0 };

    f->recognise(&in);
    if (f->import(&in, profile_sink(p), &e) == 0 && p->sample.n < 10000)
        fuzz_write_all(p);
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
