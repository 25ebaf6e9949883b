/* formats.c - the table of formats, made from formats.def, and opening any of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "formats/unwrap.h"
#include "text/json.h"

#define FORMAT(id) extern const struct format format_##id;
#include "formats/formats.def"
#undef FORMAT

const struct format *const formats[] = {
#define FORMAT(id) &format_##id,
#include "formats/formats.def"
#undef FORMAT
    NULL,
};

uint32_t export_metric(const struct an_view *v, struct err *e)
{
    uint32_t metric = v->metric ? v->metric : v->waiting;

    if (!metric)
        err_set(e, ERR_MISSING, "the profile has no samples and no metric");
    return metric;
}

const struct format *format_find(const char *name)
{
    for (size_t i = 0; formats[i]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

const struct format *format_recognise(const struct import_input *in)
{
    const struct format *best = NULL;
    int best_score = 0;

    for (size_t i = 0; formats[i]; i++) {
        int score = formats[i]->recognise ? formats[i]->recognise(in) : 0;

        if (score > best_score) {
            best_score = score;
            best = formats[i];
        }
    }
    return best;
}

static bool starts_with(const struct import_input *in, const char *s)
{
    return in->size >= strlen(s) && memcmp(in->data, s, strlen(s)) == 0;
}

/* Text that begins like JSON: is the rest of it? */
static int check_json(const struct import_input *in, struct err *e)
{
    struct json_reader r;
    int rc;

    json_reader_init(&r, (const char *)in->data, in->size);
    json_skip(&r);
    rc = json_failure(&r, e);
    json_reader_release(&r);
    return rc;
}

static int refuse_unknown(const struct import_input *in, bool cut, struct err *e)
{
    if (in->size == 0)
        return err_set(e, ERR_FORMAT,
                       cut ? "the compressed file is cut: nothing is left" : "the file is empty");
    if (starts_with(in, "\xff\xfe") || starts_with(in, "\xfe\xff")) {
        err_set(e, ERR_FORMAT, "this is text in UTF-16");
        err_hint(e, "iconv -f UTF-16 -t UTF-8 makes it readable");
        return -1;
    }
    if (starts_with(in, "{") && check_json(in, e) < 0)
        return -1;
    err_set(e, ERR_FORMAT, "%sthis is no profile that fathom knows",
            cut ? "the compressed file is cut: " : "");
    err_hint(e, "fathom import --list names the formats it reads");
    return -1;
}

/* Damage reaches the model as meta, whatever the format (see docs/meta.md). */
static void note_damage(struct profile *p, bool cut)
{
    struct sink *s = profile_sink(p);

    if (cut && !profile_meta(p, "file.damage")[0])
        sink_meta(s, "file.damage", "the compressed file is cut");
    p->damage = profile_meta(p, "file.damage");
    p->missing_bytes = (uint64_t)profile_meta_number(p, "file.missing_bytes", 0);
}

static struct profile *import(const struct import_input *in, bool cut, struct err *e)
{
    const struct format *f = format_recognise(in);
    struct profile *p;

    if (!f) {
        refuse_unknown(in, cut, e);
        return NULL;
    }
    p = profile_new();
    if (f->import(in, profile_sink(p), e) == 0) {
        note_damage(p, cut);
        return p;
    }
    profile_free(p);
    return NULL;
}

struct profile *format_open(const char *path, struct err *e)
{
    struct import_input in = { .path = path };
    struct buf unpacked = { 0 };
    struct profile *p = NULL;
    struct map file = { 0 };
    bool cut = false;

    if (map_open(&file, path, e) < 0)
        return NULL;
    in.data = file.data;
    in.size = file.size;
    in.mapped = file.mapped;
    if (unwrap_needed(in.data, in.size)) {
        if (unwrap(in.data, in.size, &unpacked, &cut, e) < 0)
            goto out;
        in.data = unpacked.data;
        in.size = unpacked.n;
        in.mapped = false;
    }
    if (starts_with(&in, "\xef\xbb\xbf")) { /* a byte order mark, as editors leave it */
        in.data += 3;
        in.size -= 3;
        in.mapped = false; /* no longer from the beginning of a page */
    }
    p = import(&in, cut, e);
out:
    if (!p)
        err_wrap(e, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
    buf_release(&unpacked);
    map_close(&file);
    return p;
}
