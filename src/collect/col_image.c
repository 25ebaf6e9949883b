/* col_image.c - see col_image.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_image.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi/cfi.h"
#include "collect/col_host.h"
#include "collect/col_proc.h"

enum {
    SMALL_STACK = 64 << 10, /* as in agent_stack.c: may have no room for the handler */
    SYMBOLS_AT_ONCE = 1024,
    MOST_SYMBOLS = 4 << 20,
    MOST_NAMES = 256 << 20, /* bytes */
    NAME_BYTES = 64,        /* longer names are cut */
};

/* --- mappings --- */

static bool take_area(struct col_area *a, const char *line)
{
    int at = 0;

    *a = (struct col_area){ 0 };
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %*u %n", &a->start, &a->end,
               a->prot, &a->file_offset, &at) < 4 || !at)
        return false;
    a->path = mem_strdup(line + at);
    a->path[strcspn(a->path, "\n")] = 0;
    return true;
}

static bool read_areas(struct col_image *m)
{
    char path[64], *line = NULL;
    size_t cap = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", m->pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    while (getline(&line, &cap, f) > 0) {
        struct col_area a;

        if (take_area(&a, line))
            vec_push(&m->area, a);
    }
    free(line);
    fclose(f);
    return m->area.n > 0;
}

static void map_vdso(struct col_image *m, const struct perf_mapping *w)
{
    size_t size;
    struct elf_file elf;
    const void *image = elf_file_vdso(&size);

    m->vdso = cfi_table_vdso();
    if (m->vdso && image && elf_file_read_image(&elf, image, size))
        cfi_space_map(m->space, w->start, w->end, w->start - elf_file_address(&elf, 0), m->vdso, 0);
}

static void map_object(struct col_image *m, const struct perf_mapping *w)
{
    struct col_object o = { .fd = col_host.open(w), .start = w->start, .end = w->end };

    if (o.fd < 0 || !elf_file_read(&o.elf, o.fd)) {
        if (o.fd >= 0)
            close(o.fd);
        cfi_space_map(m->space, w->start, w->end, 0, NULL, 0);
        return;
    }
    o.path = mem_strdup(w->path);
    o.bias = w->start - elf_file_address(&o.elf, w->file_offset);
    o.table = cfi_table_open(o.fd, o.elf.build_id, o.elf.build_id_size, NULL);
    vec_push(&m->object, o);
    cfi_space_map(m->space, w->start, w->end, o.bias, o.table, (uint32_t)m->object.n);
}

static void map_code(void *with, struct perf_mapping *w)
{
    struct col_image *m = with;

    w->pid = m->pid;
    if (strcmp(w->path, "[vdso]") == 0)
        map_vdso(m, w);
    else if (*w->path == '/' && w->inode)
        map_object(m, w);
    else /* generated code: follow frame pointers */
        cfi_space_map(m->space, w->start, w->end, 0, NULL, 0);
}

bool col_image_open(struct col_image *m, int64_t pid)
{
#if defined(__aarch64__)
    enum unw_arch arch = UNW_AARCH64;
#else
    enum unw_arch arch = UNW_X86_64;
#endif

    *m = (struct col_image){ .pid = pid };
    m->space = cfi_space_new(arch);
    m->rules = cfi_cache_new();
    if (!read_areas(m))
        return false;
    col_proc_maps(pid, map_code, m);
    return true;
}

void col_image_release(struct col_image *m)
{
    for (size_t i = 0; i < m->area.n; i++)
        free(m->area.v[i].path);
    vec_release(&m->area);
    cfi_space_free(m->space);
    cfi_cache_free(m->rules);
    cfi_table_free(m->vdso);
    for (size_t i = 0; i < m->object.n; i++) {
        close(m->object.v[i].fd);
        cfi_table_free(m->object.v[i].table);
        free(m->object.v[i].path);
    }
    vec_release(&m->object);
    *m = (struct col_image){ 0 };
}

const struct col_area *col_image_area(const struct col_image *m, uint64_t address)
{
    for (size_t i = 0; i < m->area.n; i++)
        if (address >= m->area.v[i].start && address < m->area.v[i].end)
            return &m->area.v[i];
    return NULL;
}

bool col_image_small_stacks(const struct col_image *m)
{
    for (size_t i = 1; i < m->area.n; i++) {
        const struct col_area *a = &m->area.v[i], *g = a - 1;

        if (!*a->path && !strcmp(a->prot, "rw-p") && !*g->path && !strcmp(g->prot, "---p") &&
            g->end == a->start && a->end - a->start < SMALL_STACK)
            return true;
    }
    return false;
}

/* --- symbols --- */

struct col_object *col_image_object(struct col_image *m, const char *name)
{
    for (size_t i = 0; i < m->object.n; i++) {
        const char *slash = strrchr(m->object.v[i].path, '/');

        if (strncmp(slash + 1, name, strlen(name)) == 0)
            return &m->object.v[i];
    }
    return NULL;
}

typedef void each_function(void *with, const char *name, uint64_t start, uint64_t end);

static void visit(struct col_object *o, const char *names, size_t size, const Elf64_Sym *s,
                  each_function *each, void *with)
{
    uint64_t start = s->st_value + o->bias;
    char name[NAME_BYTES];
    size_t n;

    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF || s->st_name >= size)
        return;
    n = strnlen(names + s->st_name, size - s->st_name);
    n = n < sizeof name - 1 ? n : sizeof name - 1;
    memcpy(name, names + s->st_name, n);
    name[n] = 0;
    each(with, name, start, start + s->st_size);
}

static void visit_table(struct col_object *o, const struct elf_section *table, const char *names,
                        size_t size, each_function *each, void *with)
{
    uint64_t n = table->size / sizeof(Elf64_Sym), k;
    Elf64_Sym symbols[SYMBOLS_AT_ONCE];

    for (uint64_t i = 0; i < n && i < MOST_SYMBOLS; i += k) {
        k = n - i < SYMBOLS_AT_ONCE ? n - i : SYMBOLS_AT_ONCE;
        if (!elf_file_bytes(&o->elf, table->offset + i * sizeof *symbols, k * sizeof *symbols,
                            symbols))
            return;
        for (uint64_t at = 0; at < k; at++)
            visit(o, names, size, &symbols[at], each, with);
    }
}

/* Symbols of section type TYPE. */
static void visit_type(struct col_object *o, uint32_t type, each_function *each, void *with)
{
    for (unsigned i = 0; i < o->elf.n_sections; i++) {
        struct elf_section table, text;
        char *names;

        if (!elf_file_section(&o->elf, i, &table) || table.type != type ||
            !elf_file_section(&o->elf, table.link, &text) || text.size > MOST_NAMES ||
            text.size > o->elf.size)
            continue;
        names = mem_alloc(text.size + 1);
        if (elf_file_bytes(&o->elf, text.offset, text.size, names))
            visit_table(o, &table, names, text.size, each, with);
        free(names);
        return; /* a file has one of each type: more are a forgery, which would cost time */
    }
}

void col_image_functions(struct col_object *o, each_function *each, void *with)
{
    visit_type(o, SHT_DYNSYM, each, with);
    visit_type(o, SHT_SYMTAB, each, with);
}

struct wanted {
    const char *name;
    uint64_t address;
};

static void compare(void *with, const char *name, uint64_t start, uint64_t end)
{
    struct wanted *w = with;

    (void)end;
    if (strcmp(name, w->name) == 0)
        w->address = start;
}

uint64_t col_image_function(struct col_object *o, const char *name)
{
    struct wanted w = { name, 0 };

    visit_type(o, SHT_DYNSYM, compare, &w);
    return w.address;
}
