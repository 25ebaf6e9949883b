/* fmt_cachegrind.c - import cachegrind output: costs by function and line, without calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "formats/costs.h"

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    static const struct costs_kind kind = { "valgrind --tool=cachegrind", true };

    return costs_import(in, &kind, out, e);
}

static int recognize(const struct import_input *in)
{
    size_t n = in->size < 65536 ? in->size : 65536;

    if (n < 6 || (memcmp(in->data, "desc: ", 6) != 0 && memcmp(in->data, "cmd: ", 5) != 0))
        return 0;
    return memmem(in->data, n, "\nevents: ", 9) && !memmem(in->data, n, "\npositions: ", 12) ? 90
                                                                                            : 0;
}

const struct format format_cachegrind = {
    .name = "cachegrind",
    .about = "costs counted by Valgrind's cachegrind",
    .recognize = recognize,
    .import = import,
};
