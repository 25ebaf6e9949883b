/* rt_baseline.c - save the times of zones to a file and find zones that became slower.  The file
 * is text, one zone per line: path TAB calls TAB mean ns TAB mean bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "runtime/rt_out.h"
#include "runtime/rt_rows.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASELINE_HEAD "fathom baseline 1\n"

static bool is_section(const struct zone_row *w)
{
    return (w->kind == LIVE_ZONE || w->kind == LIVE_OP) && w->count > w->untimed;
}

static double mean_bytes(const struct zone_row *w)
{
    return w->count ? w->bytes / (double)w->count : 0;
}

/* Backend and label are part of a zone's identity. */
static void section_name(const struct zone_rows *r, uint32_t i, char *text, size_t cap)
{
    const struct zone_row *w = &r->row[i];
    size_t n = zone_rows_path(r, i, '/', text, cap);

    for (int part = 0; part < 2; part++) {
        const char *s = part ? w->label : w->backend;
        size_t size = strlen(s);

        if (size && n + size + 2 < cap) {
            text[n++] = '@';
            memcpy(text + n, s, size + 1);
            n += size;
        }
    }
    utf8_clean_line(text, n);
}

int fathom_save_baseline(const char *path)
{
    struct zone_rows r;
    struct rt_out o = { .is_binary = true }; /* TABs; names are clean */
    char name[1024];
    int rc = rt_rows_take(&r, false);

    if (rc < 0)
        return rc;
    rt_out_str(&o, BASELINE_HEAD);
    for (uint32_t i = 0; i < r.n; i++) {
        const struct zone_row *w = &r.row[i];

        if (!is_section(w))
            continue;
        section_name(&r, i, name, sizeof name);
        rt_out_str(&o, name);
        rt_out_printf(&o, "\t%llu\t%.3f\t%.3f\n", (unsigned long long)w->count, w->mean,
                      mean_bytes(w));
    }
    zone_rows_free(&r);
    rc = rt_out_open(&o, path, SAVE_SHARED);
    if (rc == 0)
        rc = rt_out_save(&o, true);
    rt_out_release(&o);
    return rc;
}

struct section {
    double calls, mean, bytes;
};

/* Find the line whose first field is NAME.  TEXT is NUL-terminated. */
static bool find_section(const char *text, const char *name, struct section *s)
{
    size_t n = strlen(name);

    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');

        if (!strncmp(line, name, n) && line[n] == '\t') {
            char *at = (char *)line + n + 1;

            s->calls = strtod(at, &at);
            s->mean = strtod(at, &at);
            s->bytes = strtod(at, &at);
            return s->calls > 0 && s->mean > 0;
        }
        if (!end)
            return false;
        line = end + 1;
    }
    return false;
}

/* Time per run = calls x mean.  The cause is the factor that grew most: calls, mean or size. */
static const char *cause_of(const struct fathom_slower *s)
{
    double per_call = s->now_ns / s->was_ns;

    if (s->calls_factor > per_call)
        return "more calls";
    if (s->bytes_factor > 1.1 && s->bytes_factor > 0.7 * per_call)
        return "larger sizes";
    return "slower per call";
}

static int compare(const char *text, const struct zone_rows *r, double tolerance,
                   void (*visit)(const struct fathom_slower *, void *), void *arg)
{
    char name[1024];
    int n = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        const struct zone_row *w = &r->row[i];
        struct fathom_slower s = { sizeof s, name, 0, 0, 0, 0, 0, NULL };
        struct section was;

        if (!is_section(w))
            continue;
        section_name(r, i, name, sizeof name);
        if (!find_section(text, name, &was))
            continue;
        s.was_ns = was.mean;
        s.now_ns = w->mean;
        s.calls_factor = (double)w->count / was.calls;
        s.bytes_factor = was.bytes > 0 ? mean_bytes(w) / was.bytes : 1;
        s.factor = s.calls_factor * s.now_ns / s.was_ns;
        if (s.factor <= 1 + tolerance)
            continue;
        s.cause = cause_of(&s);
        if (visit)
            visit(&s, arg);
        n++;
    }
    return n;
}

/* Map one page more than the file, so that its text ends with a NUL. */
static char *read_file(const char *path, size_t *bytes)
{
    struct stat st;
    char *text = MAP_FAILED;
    size_t n = 0;
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size < (1 << 28)) {
        *bytes = (size_t)st.st_size + 4096;
        text = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    while (text != MAP_FAILED && (got = read(fd, text + n, *bytes - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    return text == MAP_FAILED ? NULL : text;
}

int fathom_check_baseline(const char *path, double tolerance,
                          void (*visit)(const struct fathom_slower *, void *), void *arg)
{
    size_t bytes = 0, head = strlen(BASELINE_HEAD);
    char *text = read_file(path, &bytes);
    struct zone_rows r;
    int rc;

    if (!text)
        return FATHOM_E_SYSTEM;
    rc = strncmp(text, BASELINE_HEAD, head) ? FATHOM_E_FORMAT : rt_rows_take(&r, false);
    if (rc == 0) {
        rc = compare(text + head, &r, tolerance, visit, arg);
        zone_rows_free(&r);
    }
    munmap(text, bytes);
    return rc;
}
