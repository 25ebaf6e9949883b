/* fmt_fathom.c - the .fathom file as one of the formats.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/formats.h"
#include "store/store.h"

static int recognize(const struct import_input *in)
{
    return store_is(in->data, in->size) ? 100 : 0;
}

static int import(const struct import_input *in, struct sink *out, struct err *e)
{
    return store_read(in->data, in->size, out, NULL, e);
}

static int write_file(const struct an_view *v, const struct export_options *o, struct out *out,
                      struct err *e)
{
    const struct profile *p = v->profile;
    struct store_writer *w = store_writer_new(out);
    struct sink *s = store_writer_sink(w);
    int rc;

    profile_replay(p, s);
    rc = sink_end(s, e);
    store_writer_free(w);
    return rc;
}

const struct format format_fathom = {
    .name = "fathom",
    .extension = ".fathom",
    .about = "fathom's own file",
    .recognize = recognize,
    .import = import,
    .has_tags = true,
    .has_spans = true,
    .all_metrics = true,
    .is_binary = true,
    .write = write_file,
};
