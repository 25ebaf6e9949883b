/* sym_kallsyms.c - the running kernel and its modules, from /proc/kallsyms.
 *
 * The kernel needs about 70 ms to print the list, and the list changes only with a boot or a
 * module.  Therefore it is cached, sorted and reduced to functions, under a key computed from the
 * boot id and /proc/modules.  Only the running kernel is symbolized, not one with another build id.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cache.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/map.h"
#include "symbol/sym_kallsyms.h"
#include "symbol/sym_table.h"
#include "symbol/symbolizer.h"

enum { CACHE_VERSION = 1 };
static const char cache_magic[8] = "fthksym";

struct kernel_state {
    struct map cache;  /* names are in it, or */
    struct buf text;   /* in here */
    const char *names;
    size_t names_size;
    struct sym_table table;
};

/* One line: "ffffffff81000000 T name\t[module]".  False when it is not a function. */
static bool read_line(const char *p, const char *end, uint64_t *address, const char **name,
                      size_t *n)
{
    uint64_t x = 0;

    while (p < end && *p != ' ') {
        int d = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;

        if (d < 0)
            return false;
        x = x << 4 | (uint64_t)d;
        p++;
    }
    if (end - p < 4 || p[2] != ' ' || !strchr("tTwW", p[1]))
        return false;
    *address = x;
    *name = p + 3;
    *n = (size_t)(end - *name);
    return true;
}

bool sym_kallsyms_parse(struct sym_table *t, struct buf *names, const char *text, size_t size)
{
    const char *end = text + size, *next;
    uint64_t any = 0;

    for (const char *p = text; p < end; p = next + 1) {
        const char *name, *tab;
        uint64_t address;
        size_t n;

        next = memchr(p, '\n', (size_t)(end - p));
        if (!next)
            next = end;
        if (!read_line(p, next, &address, &name, &n))
            continue;
        any |= address;
        sym_table_add(t, (struct sym_entry){ address, 0, (uint32_t)names->n, 0, 0 });
        tab = memchr(name, '\t', n);
        buf_add(names, name, tab ? (size_t)(tab - name) : n);
        if (tab) { /* "name [module]" */
            buf_u8(names, ' ');
            buf_add(names, tab + 1, n - (size_t)(tab + 1 - name));
        }
        buf_u8(names, 0);
    }
    return any != 0;
}

/* Kernel symbols have no sizes: a function extends to the next one, but at most this far. */
static uint64_t reach(void *arg, uint64_t start)
{
    return start > UINT64_MAX - (1 << 20) ? UINT64_MAX : start + (1 << 20);
}

/* The key of the list: this boot, these modules, this user's view of addresses. */
static uint64_t list_key(void)
{
    char boot[64];
    struct map modules = { 0 };
    uint64_t key = (uint64_t)CACHE_VERSION << 32 | geteuid();

    map_read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    key = hash_fixed_pair(key, hash_fixed_bytes(boot, strlen(boot)));
    if (map_open(&modules, "/proc/modules", NULL) == 0) {
        const char *p = (const char *)modules.data, *end = p + modules.size;

        while (p && p < end) { /* names only: the use counts next to them change constantly */
            const char *stop = memchr(p, ' ', (size_t)(end - p));

            key = hash_fixed_pair(key, hash_fixed_bytes(p, stop ? (size_t)(stop - p) : 0));
            p = memchr(p, '\n', (size_t)(end - p));
            p = p ? p + 1 : NULL;
        }
        map_close(&modules);
    }
    return key;
}

static void cache_name(char *name, size_t cap)
{
    snprintf(name, cap, "kallsyms-%016llx", (unsigned long long)list_key());
}

/* magic, count, then starts and name offsets, then the names. */
static bool read_cache(struct kernel_state *st, const char *name)
{
    const unsigned char *magic;
    struct cursor c;
    uint32_t n;

    if (!cache_load(&st->cache, "symbol", name))
        return false;
    c = cursor_of(st->cache.data, st->cache.size);
    magic = cur_bytes(&c, sizeof cache_magic);
    n = cur_u32(&c);
    if (!magic || memcmp(magic, cache_magic, sizeof cache_magic) != 0 || n > cur_left(&c) / 12)
        return false;
    vec_reserve(&st->table.entry, n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t start = cur_u64(&c);

        sym_table_add(&st->table, (struct sym_entry){ start, 0, cur_u32(&c), 0, 0 });
    }
    st->names = (const char *)c.p;
    st->names_size = cur_left(&c);
    return n > 0 && st->names_size > 0 && st->names[st->names_size - 1] == 0;
}

static void write_cache(const struct kernel_state *st, const char *name)
{
    struct buf b = { 0 };

    buf_add(&b, cache_magic, sizeof cache_magic);
    buf_u32(&b, (uint32_t)st->table.entry.n);
    for (size_t i = 0; i < st->table.entry.n; i++) {
        buf_u64(&b, st->table.entry.v[i].start);
        buf_u32(&b, st->table.entry.v[i].name);
    }
    buf_add(&b, st->names, st->names_size);
    cache_store("symbol", name, b.data, b.n, NULL);
    buf_release(&b);
}

static bool read_list(struct kernel_state *st, struct sym_module *m)
{
    struct map list = { 0 };
    bool visible;

    if (map_open(&list, "/proc/kallsyms", NULL) < 0) {
        sym_module_set_problem(m, "cannot read kernel symbols from /proc/kallsyms");
        return false;
    }
    visible = sym_kallsyms_parse(&st->table, &st->text, (const char *)list.data, list.size);
    map_close(&list);
    st->names = (const char *)st->text.data;
    st->names_size = st->text.n;
    if (!visible)
        sym_module_set_problem(m, "the kernel hides its addresses from this user "
                               "(kernel.kptr_restrict, kernel.perf_event_paranoid)");
    return visible;
}

static void kernel_close(void *state)
{
    struct kernel_state *st = state;

    sym_table_release(&st->table);
    buf_release(&st->text);
    map_close(&st->cache);
    free(st);
}

/* Another kernel has another name ("[kernel 6.1.0]") or build id.  That of the running kernel is
 * among its notes. */
static bool is_running_kernel(const struct sym_module *m)
{
    struct map notes = { 0 };
    bool same;

    if (strcmp(m->req.path, "[kernel]") != 0)
        return false;
    if (m->req.build_id_size == 0 || map_open(&notes, "/sys/kernel/notes", NULL) < 0)
        return true;
    same = memmem(notes.data, notes.size, m->req.build_id, m->req.build_id_size) != NULL;
    map_close(&notes);
    return same;
}

static void *kernel_open(struct sym_module *m)
{
    struct kernel_state *st;
    char name[32];

    if (m->req.kind != MODULE_KERNEL)
        return NULL;
    if (!is_running_kernel(m)) {
        sym_module_set_problem(m, "the recording is from another kernel");
        m->advised = true; /* no setting of this machine helps */
        return NULL;
    }
    st = mem_zalloc(sizeof *st);
    cache_name(name, sizeof name);
    if (!read_cache(st, name)) {
        vec_clear(&st->table.entry);
        if (!read_list(st, m)) {
            kernel_close(st);
            return NULL;
        }
        sym_table_finish(&st->table, reach, NULL);
        write_cache(st, name);
        return st;
    }
    sym_table_finish(&st->table, reach, NULL);
    return st;
}

static bool kernel_find(struct sym_module *m, void *state, uint64_t address)
{
    const struct kernel_state *st = state;
    long at = sym_table_find(&st->table, address);
    struct sym_line *l;

    if (at < 0 || st->table.entry.v[at].name >= st->names_size ||
        !st->names[st->table.entry.v[at].name])
        return false;
    l = sym_module_add(m);
    l->name = sym_module_name(m, st->names + st->table.entry.v[at].name, &l->linkage_name);
    l->start = st->table.entry.v[at].start;
    l->end = st->table.entry.v[at].end;
    l->source = SYM_KALLSYMS;
    return true;
}

const struct symbolizer symbolizer_kallsyms = {
    .name = "kallsyms",
    .about = "the running kernel and its modules",
    .source = SYM_KALLSYMS,
    .open = kernel_open,
    .close = kernel_close,
    .find = kernel_find,
};
