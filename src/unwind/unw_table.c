/* unw_table.c - tables as the rest of fathom sees them.  Opening costs one small read; the
 * cache file is mapped, or the CFI compiled, when the first address is looked up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unwind/unw_table.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

/* A file descriptor is held until the first look-up; past this number we compile at once. */
enum { MOST_FDS = 256, MOST_BUILD_ID = 64, MOST_PAGE = 1 << 16 };

struct unw_table {
    struct unw_body body; /* header NULL: not prepared yet */
    const struct unw_machine *machine;
    struct elf_segment segment[ELF_FILE_SEGMENTS];
    size_t n_segments;
    int fd; /* -1 once prepared */
    uint64_t file_size;
    struct timespec changed; /* the file's inode, when it was opened */
    uint8_t build_id[MOST_BUILD_ID];
    size_t build_id_size;
    bool from_cache;
};

static struct unw_table *table_new(const struct unw_elf *elf)
{
    struct unw_table *t = mem_zalloc(sizeof *t);

    t->fd = -1;
    t->machine = elf->machine;
    t->n_segments = elf->file.n_segments;
    memcpy(t->segment, elf->file.segment, sizeof t->segment);
    return t;
}

struct unw_table *unw_table_build(const void *image, size_t size, struct err *e)
{
    struct unw_elf elf = { 0 };
    struct unw_table *t;

    if (unw_elf_open(&elf, -1, image, size, e) < 0)
        return NULL;
    unw_elf_read_sections(&elf);
    t = table_new(&elf);
    unw_table_compile(&t->body, &elf);
    unw_elf_release(&elf);
    return t;
}

struct unw_table *unw_table_vdso(void)
{
    size_t size;
    const void *image = elf_file_vdso(&size);

    return image ? unw_table_build(image, size, NULL) : NULL;
}

/* Compile the file at t->fd; false when it has changed since it was opened, so that the result
 * is good for this run at best.  A file that has become unreadable gives an empty table. */
static bool table_compile(struct unw_table *t)
{
    struct unw_elf elf = { 0 };
    struct stat st;
    bool whole = unw_elf_open(&elf, t->fd, NULL, 0, NULL) == 0;

    if (whole)
        unw_elf_read_sections(&elf);
    whole = whole && !elf.file.truncated;
    elf.machine = t->machine;
    unw_table_compile(&t->body, &elf);
    unw_elf_release(&elf);
    return whole && fstat(t->fd, &st) == 0 && (uint64_t)st.st_size == t->file_size &&
           st.st_ctim.tv_sec == t->changed.tv_sec && st.st_ctim.tv_nsec == t->changed.tv_nsec;
}

void unw_table_prepare(const struct unw_table *table)
{
    struct unw_table *t = (struct unw_table *)table; /* filling in late is not a change */
    uint64_t key;
    char path[PATH_MAX];
    bool keep;

    if (t->body.header)
        return;
    key = hash_bytes(t->build_id, t->build_id_size);
    keep = unw_cache_file_path(path, sizeof path, t->build_id, t->build_id_size, t->file_size);
    t->from_cache = keep && unw_cache_file_load(&t->body, path, key) &&
                    t->body.header->arch == (uint32_t)t->machine->arch;
    if (!t->from_cache) {
        unw_body_release(&t->body);
        if (table_compile(t) && keep)
            unw_cache_file_store(&t->body, path, key);
    }
    close(t->fd);
    t->fd = -1;
}

struct unw_table *unw_table_open(int fd, const uint8_t *build_id, size_t build_id_size,
                                 struct err *e)
{
    struct unw_elf elf = { 0 };
    struct unw_table *t = NULL;
    struct stat st;

    if (fstat(fd, &st) < 0) {
        err_sys(e, "cannot read");
        return NULL;
    }
    if (unw_elf_open(&elf, fd, NULL, 0, e) == 0) {
        t = table_new(&elf);
        t->file_size = (uint64_t)st.st_size;
        t->changed = st.st_ctim;
        t->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    }
    unw_elf_release(&elf);
    if (t && t->fd < 0) {
        err_sys(e, "cannot keep the file open");
        free(t);
        return NULL;
    }
    if (t && build_id && build_id_size <= sizeof t->build_id) {
        memcpy(t->build_id, build_id, build_id_size);
        t->build_id_size = build_id_size;
    }
    if (t && t->fd >= MOST_FDS)
        unw_table_prepare(t);
    return t;
}

bool unw_table_bias(const struct unw_table *t, uint64_t start, uint64_t file_offset,
                    uint64_t *bias)
{
    for (size_t i = 0; i < t->n_segments; i++) {
        const struct elf_segment *s = &t->segment[i];

        /* A mapping begins at or, for alignment, up to a page before its segment. */
        if (!s->exec || file_offset + MOST_PAGE <= s->offset || file_offset >= s->offset + s->size)
            continue;
        *bias = start - (s->address + (file_offset - s->offset));
        return true;
    }
    return false;
}

void unw_table_free(struct unw_table *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    unw_body_release(&t->body);
    free(t);
}

struct unw_table_info unw_table_info(const struct unw_table *t)
{
    const struct unw_header *h;

    unw_table_prepare(t);
    h = t->body.header;
    return (struct unw_table_info){ .arch = t->machine->arch, .rows = h->n_rows,
                                    .rules = h->n_rules, .bytes = t->body.size,
                                    .low = h->start, .high = h->end,
                                    .from_cache = t->from_cache };
}

const struct unw_rule *unw_table_rule(const struct unw_table *t, uint64_t address)
{
    const struct unw_row *row;
    unsigned id;

    unw_table_prepare(t);
    row = unw_body_row(&t->body, address);
    id = row ? row->rule : 0;
    return id && id < t->body.header->n_rules ? &t->body.rules[id] : NULL;
}
