/* fuzz_collapsed.c - collapsed stacks, read and written in every format.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "formats/formats.h"

extern const struct format format_collapsed, format_svg, format_html;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_as(const struct format *f, const struct profile *p, bool inverted)
{
    struct export_options opt = { .inverted = inverted };
    struct out o = out_memory();
    struct err e = { 0 };
    struct an_view v;

    if (an_view_open(&v, p, NULL, f->view, &e) == 0)
        f->write(&v, &opt, &o, &e);
    an_view_release(&v);
    out_close(&o, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_input in = { .data = data, .size = size, .path = "fuzz" };
    struct profile *p = profile_new();
    struct err e = { 0 };

    format_collapsed.recognize(&in);
    if (format_collapsed.import(&in, profile_sink(p), &e) == 0) {
        write_as(&format_collapsed, p, false);
        write_as(&format_svg, p, false);
        write_as(&format_svg, p, true);
        write_as(&format_html, p, false);
    }
    profile_free(p);
    return 0;
}
