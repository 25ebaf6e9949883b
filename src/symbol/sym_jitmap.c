/* sym_jitmap.c - code that a just-in-time compiler described in /tmp/perf-PID.map.
 *
 * The file is in the mount namespace of the target, and named by the pid in the namespace of the
 * target.  Compilers append to it and reuse memory, so later lines win.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_jitmap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "symbol/sym_locate.h"

enum { MAP_MAX_BYTES = 512 << 20 };

struct jitmap_state {
    struct map text;
    struct sym_jitmap_list list;
    struct sym_table table; /* name = index in the list */
    struct sym_names names; /* by index in the list */
};

static const char *read_hex(const char *p, const char *end, uint64_t *x)
{
    const char *first;

    *x = 0;
    if (end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x')
        p += 2;
    first = p;
    for (; p < end && p - first < 16; p++) {
        int c = *p | 32;
        int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (d < 0)
            break;
        *x = *x << 4 | (uint64_t)d;
    }
    return p > first && p < end && *p == ' ' ? p + 1 : NULL;
}

void sym_jitmap_parse(struct sym_jitmap_list *list, const char *text, size_t size)
{
    const char *end = text + size, *next;

    for (const char *p = text; p < end; p = next + 1) {
        uint64_t start, n;
        const char *q;

        next = memchr(p, '\n', (size_t)(end - p));
        if (!next)
            next = end;
        q = read_hex(p, next, &start);
        q = q ? read_hex(q, next, &n) : NULL;
        if (!q || q == next || n == 0 || n > UINT64_MAX - start)
            continue;
        vec_push(&list->code,
                 ((struct sym_jitmap_code){ start, start + n, q, (size_t)(next - q) }));
    }
}

bool sym_jitmap_read(struct sym_module *m, int fd, struct map *text)
{
    struct err e = { 0 };
    bool done = map_copy(text, fd, MAP_MAX_BYTES, &e) == 0;

    close(fd);
    if (!done)
        sym_module_set_problem(m, "%s: %s", m->req.path, e.msg);
    return done;
}

bool sym_jitmap_is_jit(const struct sym_module *m)
{
    return m->req.kind == MODULE_JIT && sym_jitmap_pid(m);
}

int64_t sym_jitmap_pid(const struct sym_module *m)
{
    long long pid = 0;
    int used = 0;

    if (m->req.pid > 0)
        return m->req.pid;
    if (sscanf(m->base, "perf-%lld.map%n", &pid, &used) == 1 && used > 0 && !m->base[used])
        return pid;
    return 0;
}

int64_t sym_jitmap_ns_pid(const struct sym_module *m)
{
    char path[64], text[8192];
    long long pid = sym_jitmap_pid(m), inner = pid;
    char *line;

    if (m->req.ns_pid > 0 || m->req.is_past)
        return m->req.ns_pid > 0 ? m->req.ns_pid : pid;
    snprintf(path, sizeof path, "/proc/%lld/status", pid);
    if (map_read_text(path, text, sizeof text) < 0 || !(line = strstr(text, "\nNSpid:")))
        return pid;
    line += 7;
    line[strcspn(line, "\n")] = 0;
    for (char *p = line, *stop; *p; p = stop) { /* outermost first: the last is its own */
        long long x = strtoll(p, &stop, 10);

        if (stop == p)
            break;
        inner = x;
    }
    return inner;
}

static bool open_text(struct sym_module *m, struct map *text)
{
    char path[PATH_MAX];
    int fd = -1;

    if (strncmp(m->base, "perf-", 5) == 0) {
        fd = sym_locate_dup(m);
        if (fd < 0)
            fd = sym_locate_owned(m, m->req.root, m->req.path);
        if (fd < 0)
            fd = sym_locate_owned(m, "", m->req.path);
    }
    snprintf(path, sizeof path, "/tmp/perf-%lld.map", (long long)sym_jitmap_ns_pid(m));
    if (fd < 0)
        fd = sym_locate_owned(m, m->req.root, path);
    if (fd < 0) {
        snprintf(path, sizeof path, "/tmp/perf-%lld.map", (long long)sym_jitmap_pid(m));
        fd = sym_locate_owned(m, "", path);
    }
    return fd >= 0 && sym_jitmap_read(m, fd, text);
}

static void jitmap_close(void *state)
{
    struct jitmap_state *st = state;

    sym_table_release(&st->table);
    sym_names_release(&st->names);
    vec_release(&st->list.code);
    map_close(&st->text);
    free(st);
}

static void *jitmap_open(struct sym_module *m)
{
    struct jitmap_state *st;

    if (!sym_jitmap_is_jit(m))
        return NULL;
    st = mem_zalloc(sizeof *st);
    if (!open_text(m, &st->text)) {
        sym_module_set_problem(m, "process %lld wrote no perf-%lld.map or jitdump for its code",
                               (long long)sym_jitmap_pid(m), (long long)sym_jitmap_ns_pid(m));
        jitmap_close(st);
        return NULL;
    }
    sym_jitmap_parse(&st->list, (const char *)st->text.data, st->text.size);
    for (size_t i = 0; i < st->list.code.n; i++)
        sym_table_add(&st->table, (struct sym_entry){ st->list.code.v[i].start,
                                                      st->list.code.v[i].end, (uint32_t)i, 0, 0 });
    sym_table_finish_layers(&st->table);
    return st;
}

static bool jitmap_find(struct sym_module *m, void *state, uint64_t address)
{
    struct jitmap_state *st = state;
    long at = sym_table_find(&st->table, address);
    uint32_t index = at < 0 ? 0 : st->table.entry.v[at].name;
    const struct sym_jitmap_code *c;
    const struct sym_name *name;
    struct sym_line *l;

    if (at < 0)
        return false;
    c = &st->list.code.v[index];
    name = sym_names_find(&st->names, index);
    if (!name)
        name = sym_names_add(&st->names, m, index,
                             arena_strndup(&m->arena, c->name, c->name_size));
    if (!*name->plain)
        return false;
    l = sym_module_add(m);
    l->name = name->plain;
    l->linkage_name = name->linkage;
    l->start = c->start;
    l->end = c->end;
    l->source = SYM_JIT;
    return true;
}

const struct symbolizer symbolizer_jitmap = {
    .name = "jitmap",
    .about = "JIT code listed in perf-PID.map",
    .source = SYM_JIT,
    .open = jitmap_open,
    .close = jitmap_close,
    .find = jitmap_find,
};
