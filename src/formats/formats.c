/* formats.c - the table of formats, generated from formats.def, and a function to open any of them.
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

const struct format *format_recognize(const struct import_input *in)
{
    const struct format *best = NULL;
    int best_score = 0;

    for (size_t i = 0; formats[i]; i++) {
        int score = formats[i]->recognize ? formats[i]->recognize(in) : 0;

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

/* Check text that begins like JSON. */
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
                       cut ? "the compressed file is truncated" : "the file is empty");
    if (starts_with(in, "\xff\xfe") || starts_with(in, "\xfe\xff")) {
        err_set(e, ERR_FORMAT, "the file is UTF-16 text");
        err_hint(e, "convert it with iconv -f UTF-16 -t UTF-8");
        return -1;
    }
    if (starts_with(in, "{") && check_json(in, e) < 0)
        return -1;
    err_set(e, ERR_FORMAT, "%sunrecognized profile format",
            cut ? "the compressed file is truncated: " : "");
    err_hint(e, "run fathom import --list to see the formats");
    return -1;
}

static struct profile *import(const struct import_input *in, bool cut, struct err *e)
{
    const struct format *f = format_recognize(in);
    struct profile *p;

    if (!f) {
        refuse_unknown(in, cut, e);
        return NULL;
    }
    p = profile_new();
    if (f->import(in, profile_sink(p), e) == 0) {
        if (cut && !*p->damage)
            sink_meta(profile_sink(p), "file.damage", "the compressed file is truncated");
        return p;
    }
    profile_free(p);
    return NULL;
}

/* The bytes of a file, decompressed if necessary. */
struct opened {
    struct import_input in;
    struct map file;
    struct buf unpacked;
    bool cut; /* the compressed data ended too early */
};

static int open_bytes(struct opened *x, const char *path, struct err *e)
{
    *x = (struct opened){ .in.path = path };
    if (map_open(&x->file, path, e) < 0)
        return -1;
    x->in.data = x->file.data;
    x->in.size = x->file.size;
    x->in.mapped = x->file.mapped;
    if (unwrap_needed(x->in.data, x->in.size)) {
        if (unwrap(x->in.data, x->in.size, &x->unpacked, &x->cut, e) < 0)
            return -1;
        x->in.data = x->unpacked.data;
        x->in.size = x->unpacked.n;
        x->in.mapped = false;
    }
    if (starts_with(&x->in, "\xef\xbb\xbf")) { /* a byte order mark, which some editors write */
        x->in.data += 3;
        x->in.size -= 3;
        x->in.mapped = false; /* no longer from the beginning of a page */
    }
    return 0;
}

static void close_bytes(struct opened *x)
{
    buf_release(&x->unpacked);
    map_close(&x->file);
}

struct profile *format_open(const char *path, struct err *e)
{
    struct opened x;
    struct profile *p = NULL;
    int rc = open_bytes(&x, path, e);

    if (rc == 0)
        p = import(&x.in, x.cut, e);
    if (p && map_was_truncated(&x.file)) {
        profile_free(p);
        p = NULL;
        err_set(e, ERR_FORMAT, "the file was truncated while it was read");
    }
    if (rc < 0 ? x.file.data != NULL : !p)
        err_wrap(e, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
    close_bytes(&x);
    return p;
}

bool format_knows(const char *path)
{
    struct opened x;
    bool known = strcmp(path, "-") == 0;

    if (!known) {
        known = open_bytes(&x, path, NULL) == 0 && format_recognize(&x.in);
        close_bytes(&x);
    }
    return known;
}
