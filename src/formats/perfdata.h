/* perfdata.h - perf.data as a source of records for the perf engine (src/perf):
 *
 *   perfdata_file.c     headers, events (attrs), feature sections
 *   perfdata_stream.c   the sequence of records, decompressed
 *   perfdata_host.c     finds the mapped files on this machine
 *   fmt_perfdata.c      feeds the engine
 *
 * The layout is that of perf's own headers.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_PERFDATA_H
#define FATHOM_FORMATS_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/mem.h"
#include "formats/formats.h"
#include "perf/perf_engine.h"

enum perf_tool_record { /* of the perf tool, without a trailer */
    PERFDATA_ATTR = 64,
    PERFDATA_TRACING_DATA = 66,
    PERFDATA_BUILD_ID = 67,
    PERFDATA_FINISHED_ROUND = 68,
    PERFDATA_AUXTRACE = 71,
    PERFDATA_THREAD_MAP = 73,
    PERFDATA_EVENT_UPDATE = 78,
    PERFDATA_FEATURE = 80,
    PERFDATA_COMPRESSED = 81,
    PERFDATA_COMPRESSED2 = 83,
};

struct perf_file {
    struct arena arena;
    struct perf_engine *engine; /* receives events and build ids as they are read */
    const char *host, *release, *arch, *cpu, *command; /* "" when unknown */
    struct cursor data;                                /* the sequence of records */
    bool cut; /* the file is shorter than its header states, or was not finished */
    bool has_kernel;         /* read: */
    uint64_t kernel_now[2]; /* present addresses of the symbols that perf records */
};

bool perfdata_is(const void *data, size_t n);
int perfdata_open(struct perf_file *f, struct perf_engine *engine, const void *data, size_t n,
                  struct err *e);
void perfdata_close(struct perf_file *f);
/* In pipe mode, these arrive as records. */
void perfdata_add_attr(struct perf_file *f, struct cursor body);
void perfdata_add_feature(struct perf_file *f, uint64_t feature, struct cursor body);
void perfdata_add_build_id(struct perf_file *f, uint16_t misc, struct cursor body);
void perfdata_update_event(struct perf_file *f, struct cursor body);

struct perf_stream {
    struct cursor raw, packed;
    struct buf plain;
    size_t plain_at;
    void *zstd;
    uint64_t n_packed, n_plain; /* bytes decompressed, and their size then */
    bool cut; /* the last record is incomplete */
};
void perfdata_stream_init(struct perf_stream *s, struct cursor data);
void perfdata_stream_release(struct perf_stream *s);
/* Return 1 with the next record in *R, 0 at the end, -1 with *E when the bytes are invalid. */
int perfdata_stream_next(struct perf_stream *s, struct perf_raw *r, struct err *e);

/* Finds files by path if the build id matches, else in perf's cache and among the separate debug
 * files.  Does not look at running processes. */
extern const struct perf_host perfdata_host;
/* Set up the kernel of F in its engine: by its release if it is not the running kernel, else at its
 * current addresses. */
void perfdata_host_kernel(const struct perf_file *f);
void perfdata_host_map_kernel(struct perf_file *f, const struct perf_record *r);

/* Import with the facts of HOST instead of those of this machine. */
int perfdata_import(const struct import_input *in, const struct perf_host *host, struct sink *out,
                    struct err *e);

#endif
