/* sym_jitdump.c - code that a just-in-time compiler described in jit-PID.dump: names, lines and the
 * bytes themselves.  Format: tools/perf/Documentation/jitdump-specification.txt of Linux.  A
 * compiler maps its dump executable, which reveals its path.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_jitdump.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "profile/module_kind.h"
#include "symbol/sym_jitmap.h"
#include "symbol/sym_locate.h"

enum { MAGIC = 0x4a695444, HEADER_SIZE = 40, CODE_LOAD = 0, CODE_MOVE = 1, DEBUG_INFO = 2 };

struct dump_state {
    struct map data;
    struct sym_jitdump dump;
    struct sym_table table; /* name = index of code */
    struct sym_names names; /* by index of code */
};

static int by_address(const void *a, const void *b)
{
    const struct sym_jitdump_line *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

struct pending { /* lines precede their code */
    uint64_t address;
    size_t first, n;
};

static void read_lines(struct sym_jitdump *d, struct cursor c, struct pending *p)
{
    uint64_t n;
    const char *file = "";

    p->address = cur_u64(&c);
    n = cur_u64(&c);
    p->first = d->line.n;
    for (uint64_t i = 0; i < n && !c.failed; i++) {
        uint64_t address = cur_u64(&c);
        uint32_t line = cur_u32(&c);
        const char *name;

        cur_skip(&c, 4);
        name = cur_cstr(&c);
        if (c.failed)
            break;
        if (strcmp(name, "\377") != 0) /* "\377": the same file as before */
            file = utf8_is_clean(name, strlen(name)) ? name : ""; /* V8 may write freed text */
        vec_push(&d->line, ((struct sym_jitdump_line){ address, file, line }));
    }
    p->n = d->line.n - p->first;
    if (p->n)
        sort_stable(d->line.v + p->first, p->n, sizeof *d->line.v, by_address);
}

/* LAST: position + 1 of the last code with a number. */
static void add_code(struct sym_jitdump *d, struct umap *last, struct sym_jitdump_code code)
{
    vec_push(&d->code, code);
    umap_put(last, code.index, (uint32_t)d->code.n);
}

static void read_code(struct sym_jitdump *d, struct umap *last, struct cursor c,
                      struct pending *p)
{
    struct sym_jitdump_code code = { 0 };
    uint64_t size;

    cur_skip(&c, 16); /* pid, tid, vma */
    code.start = cur_u64(&c);
    size = cur_u64(&c);
    code.index = cur_u64(&c);
    code.name = cur_cstr(&c);
    code.bytes = cur_bytes(&c, size);
    if (c.failed || size == 0 || size > UINT64_MAX - code.start)
        return;
    code.end = code.start + size;
    if (p->n && p->address == code.start) {
        code.first_line = p->first;
        code.n_lines = p->n;
    }
    p->n = 0;
    add_code(d, last, code);
}

/* Moved code is found at its new address from now on. */
static void read_move(struct sym_jitdump *d, struct umap *last, struct cursor c)
{
    struct sym_jitdump_code code;
    uint64_t to;
    uint32_t of;

    cur_skip(&c, 24); /* pid, tid, vma, old address */
    to = cur_u64(&c);
    cur_skip(&c, 8);
    of = umap_find(last, cur_u64(&c));
    if (!of || c.failed)
        return;
    code = d->code.v[of - 1];
    if (code.end - code.start > UINT64_MAX - to)
        return;
    code.end = to + (code.end - code.start);
    code.start = to;
    code.n_lines = 0; /* its lines refer to the old addresses */
    add_code(d, last, code);
}

bool sym_jitdump_parse(struct sym_jitdump *d, const unsigned char *data, size_t size)
{
    struct cursor c = cursor_of(data, size);
    struct pending p = { 0 };
    struct umap last = { 0 };
    uint32_t magic = cur_u32(&c), version = cur_u32(&c), header = cur_u32(&c);

    if (magic != MAGIC || version != 1 || header < HEADER_SIZE)
        return false;
    cur_skip(&c, header - 12);
    while (cur_left(&c) >= 16) {
        uint32_t id = cur_u32(&c), total = cur_u32(&c);
        struct cursor body;

        cur_skip(&c, 8); /* time */
        if (total < 16)
            break;
        body = cur_sub(&c, total - 16);
        if (c.failed)
            break;
        if (id == CODE_LOAD)
            read_code(d, &last, body, &p);
        else if (id == CODE_MOVE)
            read_move(d, &last, body);
        else if (id == DEBUG_INFO)
            read_lines(d, body, &p);
    }
    umap_release(&last);
    return true;
}

void sym_jitdump_release(struct sym_jitdump *d)
{
    vec_release(&d->code);
    vec_release(&d->line);
}

/* The path, in its root, of the dump that process PID has mapped. */
static bool mapped_dump(int64_t pid, char *path, size_t cap)
{
    char name[64];
    struct map maps = { 0 };
    const char *p, *end, *slash, *line;
    bool found = false;

    snprintf(name, sizeof name, "/proc/%lld/maps", (long long)pid);
    if (map_open(&maps, name, NULL) < 0)
        return false;
    p = (const char *)maps.data;
    end = p + maps.size;
    for (; !found && p && p < end; p = p ? p + 1 : NULL) {
        line = p;
        p = memchr(line, '\n', (size_t)(end - line));
        slash = memchr(line, '/', (size_t)((p ? p : end) - line));
        if (!slash || (size_t)((p ? p : end) - slash) >= cap)
            continue;
        memcpy(path, slash, (size_t)((p ? p : end) - slash));
        path[(p ? p : end) - slash] = 0;
        found = module_is_jit_dump(path);
    }
    map_close(&maps);
    return found;
}

static int open_dump(struct sym_module *m)
{
    char path[PATH_MAX], cwd[64];
    long long inner, pid = sym_jitmap_pid(m);
    int fd;

    if (module_is_jit_dump(m->req.path)) {
        fd = sym_locate_dup(m);
        return fd >= 0 ? fd : sym_locate_owned(m, m->req.root, m->req.path);
    }
    if (!sym_jitmap_is_jit(m))
        return -1;
    if (!m->req.is_past && mapped_dump(pid, path, sizeof path) &&
        (fd = sym_locate_owned(m, m->req.root, path)) >= 0)
        return fd;
    inner = sym_jitmap_ns_pid(m);
    snprintf(path, sizeof path, "/tmp/jit-%lld.dump", inner);
    if ((fd = sym_locate_owned(m, m->req.root, path)) >= 0)
        return fd;
    snprintf(cwd, sizeof cwd, "/proc/%lld/cwd", pid);
    snprintf(path, sizeof path, "jit-%lld.dump", inner);
    if (!m->req.is_past && (fd = sym_locate_owned(m, cwd, path)) >= 0)
        return fd;
    snprintf(path, sizeof path, "/tmp/jit-%lld.dump", pid);
    return sym_locate_owned(m, "", path);
}

static void dump_close(void *state)
{
    struct dump_state *st = state;

    sym_table_release(&st->table);
    sym_names_release(&st->names);
    sym_jitdump_release(&st->dump);
    map_close(&st->data);
    free(st);
}

static void *dump_open(struct sym_module *m)
{
    struct dump_state *st;
    int fd = open_dump(m);

    if (fd < 0)
        return NULL;
    st = mem_zalloc(sizeof *st);
    if (!sym_jitmap_read(m, fd, &st->data) ||
        !sym_jitdump_parse(&st->dump, st->data.data, st->data.size)) {
        dump_close(st);
        return NULL;
    }
    for (size_t i = 0; i < st->dump.code.n; i++)
        sym_table_add(&st->table, (struct sym_entry){ st->dump.code.v[i].start,
                                                      st->dump.code.v[i].end, (uint32_t)i, 0, 0 });
    sym_table_finish_layers(&st->table);
    return st;
}

static const struct sym_jitdump_code *code_at(const struct dump_state *st, uint64_t address)
{
    long at = sym_table_find(&st->table, address);

    return at < 0 ? NULL : &st->dump.code.v[st->table.entry.v[at].name];
}

static const struct sym_jitdump_line *line_at(const struct dump_state *st,
                                              const struct sym_jitdump_code *c, uint64_t address)
{
    const struct sym_jitdump_line *line = st->dump.line.v + c->first_line;
    size_t n = search(0, c->n_lines, i, line[i].address <= address);

    return n ? &line[n - 1] : NULL;
}

static bool dump_find(struct sym_module *m, void *state, uint64_t address)
{
    struct dump_state *st = state;
    const struct sym_jitdump_code *c = code_at(st, address);
    const struct sym_jitdump_line *at;
    const struct sym_name *name;
    struct sym_line *l;
    uint64_t index;

    if (!c || !*c->name)
        return false;
    index = (uint64_t)(c - st->dump.code.v);
    name = sym_names_find(&st->names, index);
    if (!name)
        name = sym_names_add(&st->names, m, index, c->name);
    at = line_at(st, c, address);
    l = sym_module_add(m);
    l->name = name->plain;
    l->linkage_name = name->linkage;
    l->start = c->start;
    l->end = c->end;
    l->source = SYM_JIT;
    if (at) {
        l->file = l->decl_file = *at->file ? at->file : NULL;
        l->line = at->line;
    }
    return true;
}

static const unsigned char *dump_code(void *state, uint64_t address, size_t size)
{
    const struct sym_jitdump_code *c = code_at(state, address);

    return c && size <= c->end - address ? c->bytes + (address - c->start) : NULL;
}

const struct symbolizer symbolizer_jitdump = {
    .name = "jitdump",
    .about = "JIT code described in jit-PID.dump",
    .source = SYM_JIT,
    .open = dump_open,
    .close = dump_close,
    .find = dump_find,
    .code = dump_code,
};
