/* formats.h - every file format fathom reads or writes, one row each in formats.def.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_FORMATS_H
#define FATHOM_FORMATS_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/an_view.h"
#include "base/err.h"
#include "profile/profile.h"
#include "text/out.h"

struct import_input {
    const unsigned char *data; /* the whole file, decompressed if it was gzip or zstd */
    size_t size;
    const char *path; /* as given, for messages; "-" for standard input */
    bool mapped;      /* data is a mapped file: an importer may drop pages it has read */
};

struct export_options {
    const char *title; /* NULL: the command */
    bool inverted;
    double min_pct; /* images: omit boxes below this share */
    bool all;       /* images: include boxes too small to see */
};

struct format {
    const char *name;      /* "pprof" */
    const char *extension; /* ".pb.gz", to choose the format by output name; NULL when none */
    const char *about;     /* one line */
    /* Confidence that this is the format, from 0 to 100; NULL: not imported. */
    int (*recognize)(const struct import_input *in);
    /* Write the profile to OUT and call its end(). */
    int (*import)(const struct import_input *in, struct sink *out, struct err *e);
    enum an_view_way view; /* what to write when no metric is named */
    bool has_tags;         /* a wait's kind is only a tag; in others it is the leaf of its stack */
    bool has_spans;        /* writes spans and counters */
    bool all_metrics;      /* writes every metric of the profile; the others write the view */
    bool is_binary;        /* the others are text, which OUT cleans (text/out.h) */
    int (*write)(const struct an_view *v, const struct export_options *o, struct out *out,
                 struct err *e);
};

/* The only metric of the view, or the running one of "wall".  0 with *E set when there is none. */
uint32_t export_metric(const struct an_view *v, struct err *e);

extern const struct format *const formats[]; /* NULL-terminated */
const struct format *format_find(const char *name);
const struct format *format_recognize(const struct import_input *in); /* NULL: none */

/* Open any recognized profile; "-" is standard input. */
struct profile *format_open(const char *path, struct err *e);
/* Whether PATH is a profile.  Standard input is assumed to be one. */
bool format_knows(const char *path);

#endif
