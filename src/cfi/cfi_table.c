/* cfi_table.c - open tables.  Opening costs one small read.  The first look-up maps the cache file
 * or compiles the CFI.  SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_table.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cfi/cfi_analyse.h"
#include "cfi/cfi_frame.h"

/* File descriptors are kept open to read the code around return addresses.  From this number on,
 * tables are compiled at once and their files closed. */
enum { MOST_FDS = 256, MOST_BUILD_ID = 64, MOST_FRAMES = 64 };

struct frame { /* an answer of cfi_table_frame */
    uint64_t address;
    int32_t offset;
    bool known;
};

struct table {
    struct unw_table table; /* first, so that one pointer serves both */
    const struct unw_machine *machine;
    struct elf_file file; /* its segments, to read code; n_segments 0: no code */
    int fd; /* -1: none */
    uint64_t file_size;
    struct timespec changed; /* the file's inode, when it was opened */
    uint8_t build_id[MOST_BUILD_ID];
    size_t build_id_size;
    bool from_cache;
    VEC(struct frame) frames;
};

static struct table *table_new(const struct cfi_elf *elf)
{
    struct table *t = mem_zalloc(sizeof *t);

    t->fd = -1;
    t->machine = elf->machine;
    return t;
}

static bool code(const struct unw_table *table, uint64_t address, void *to, size_t n)
{
    struct table *t = (struct table *)table; /* a read that fails is noted in the file */

    for (size_t i = 0; i < t->file.n_segments; i++) {
        const struct elf_segment *s = &t->file.segment[i];
        uint64_t at = address - s->address;

        if (s->exec && at < s->size && n <= s->size - at)
            return elf_file_bytes(&t->file, s->offset + at, n, to);
    }
    return false;
}

/* Read code from the file at FD, or from the image in FILE. */
static void provide_code(struct table *t, const struct elf_file *file, int fd)
{
    t->file = *file;
    t->file.fd = t->fd = fd;
    t->table.code = code;
}

struct unw_table *cfi_table_build(const void *image, size_t size, struct err *e)
{
    struct cfi_elf elf = { 0 };
    struct table *t;

    if (cfi_elf_open(&elf, -1, image, size, e) < 0)
        return NULL;
    cfi_elf_read_sections(&elf);
    t = table_new(&elf);
    cfi_compile(&t->table.body, &elf);
    cfi_elf_release(&elf);
    return &t->table;
}

struct unw_table *cfi_table_vdso(void)
{
    size_t size;
    const void *image = elf_file_vdso(&size);
    struct unw_table *t = image ? cfi_table_build(image, size, NULL) : NULL;
    struct elf_file file;

    if (t && elf_file_read_image(&file, image, size))
        provide_code((struct table *)t, &file, -1);
    return t;
}

/* Compile the file at t->fd.  Returns false when it has changed since it was opened: the result
 * must not be cached.  An unreadable file has an empty table. */
static bool table_compile(struct table *t)
{
    struct cfi_elf elf = { 0 };
    struct stat st;
    bool whole = cfi_elf_open(&elf, t->fd, NULL, 0, NULL) == 0;

    if (whole)
        cfi_elf_read_sections(&elf);
    whole = whole && !elf.file.truncated;
    elf.machine = t->machine;
    cfi_compile(&t->table.body, &elf);
    cfi_elf_release(&elf);
    return whole && fstat(t->fd, &st) == 0 && (uint64_t)st.st_size == t->file_size &&
           st.st_ctim.tv_sec == t->changed.tv_sec && st.st_ctim.tv_nsec == t->changed.tv_nsec;
}

static void load(struct unw_table *table)
{
    struct table *t = (struct table *)table;
    uint64_t key;
    char name[160];
    bool keep;

    key = hash_fixed_bytes(t->build_id, t->build_id_size) + cfi_analyse_version();
    keep = cfi_stored_name(name, sizeof name, t->build_id, t->build_id_size, t->file_size);
    t->from_cache = keep && cfi_stored_load(&t->table.body, name, key) &&
                    t->table.body.header->arch == (uint32_t)t->machine->arch;
    if (!t->from_cache) {
        cfi_body_release(&t->table.body);
        if (table_compile(t) && keep)
            cfi_stored_save(&t->table.body, name, key);
    }
}

static void close_file(struct table *t)
{
    t->table.code = NULL;
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

void cfi_table_prepare(struct unw_table *t)
{
    if (!t->body.header)
        load(t);
}

struct unw_table *cfi_table_open(int fd, const uint8_t *build_id, size_t build_id_size,
                                 struct err *e)
{
    struct cfi_elf elf = { 0 };
    struct table *t = NULL;
    struct stat st;

    if (fstat(fd, &st) < 0) {
        err_sys(e, "cannot read");
        return NULL;
    }
    if (cfi_elf_open(&elf, fd, NULL, 0, e) == 0) {
        t = table_new(&elf);
        t->table.load = load;
        t->file_size = (uint64_t)st.st_size;
        t->changed = st.st_ctim;
        provide_code(t, &elf.file, fcntl(fd, F_DUPFD_CLOEXEC, 3));
    }
    cfi_elf_release(&elf);
    if (t && build_id && build_id_size <= sizeof t->build_id) {
        memcpy(t->build_id, build_id, build_id_size);
        t->build_id_size = build_id_size;
    }
    if (t && t->fd < 0) { /* no descriptor is left to load it later */
        t->fd = t->file.fd = fd;
        load(&t->table);
        t->fd = -1;
        close_file(t);
    } else if (t && t->fd >= MOST_FDS) {
        load(&t->table);
        close_file(t);
    }
    return t ? &t->table : NULL;
}

void cfi_table_free(struct unw_table *table)
{
    struct table *t = (struct table *)table;

    if (!t)
        return;
    close_file(t);
    cfi_body_release(&t->table.body);
    vec_release(&t->frames);
    free(t);
}

static struct frame find_frame(const struct table *t, uint64_t address)
{
    struct frame f = { .address = address };
    struct cfi_elf elf = { 0 };

    if (t->fd >= 0 && cfi_elf_open(&elf, t->fd, NULL, 0, NULL) == 0) {
        cfi_elf_read_sections(&elf);
        f.known = cfi_frame_find(&elf, address, &f.offset);
    }
    cfi_elf_release(&elf);
    return f;
}

bool cfi_table_frame(const struct unw_table *table, uint64_t address, int32_t *offset)
{
    struct table *t = (struct table *)table;
    size_t i = 0;

    while (i < t->frames.n && t->frames.v[i].address != address)
        i++;
    if (i == MOST_FRAMES)
        return false;
    if (i == t->frames.n)
        vec_push(&t->frames, find_frame(t, address));
    *offset = t->frames.v[i].offset;
    return t->frames.v[i].known;
}

struct cfi_table_info cfi_table_info(struct unw_table *table)
{
    const struct table *t = (struct table *)table;
    const struct unw_header *h;

    cfi_table_prepare(table);
    h = t->table.body.header;
    return (struct cfi_table_info){ .arch = t->machine->arch, .rows = h->n_rows,
                                    .rules = h->n_rules, .bytes = t->table.body.size,
                                    .low = h->start, .high = h->end,
                                    .from_cache = t->from_cache };
}
