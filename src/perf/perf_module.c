/* perf_module.c - see perf_module.h.  SPDX-License-Identifier: Apache-2.0 */
#include "perf/perf_module.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/module_kind.h"
#include "unwind/unw_table.h"

/* A recording can call a file any number of names, such as /usr/./lib. */
enum { MOST_ALIASES = 16 };

static const char deleted[] = " (deleted)";

const struct perf_host perf_host_none = { 0 };

void perf_module_init(struct perf_modules *m, struct intern *in, const struct perf_host *host)
{
    memset(m, 0, sizeof *m);
    m->in = in;
    m->host = host;
}

void perf_module_release(struct perf_modules *m)
{
    for (size_t i = 0; i < m->v.n; i++) {
        struct perf_module *x = &m->v.v[i];

        if (x->fd >= 0)
            close(x->fd);
        cfi_table_free(x->table);
        vec_release(&x->variant);
        free(x->path);
    }
    for (size_t i = 0; i < m->build_id.n; i++)
        free(m->build_id.v[i].path);
    vec_release(&m->v);
    vec_release(&m->build_id);
    for (size_t i = 0; i < m->user.n; i++) {
        named_user_release(m->user.v[i]);
        free(m->user.v[i]);
    }
    vec_release(&m->user);
    index_release(&m->by_key);
    index_release(&m->by_path);
    umap_release(&m->files);
}

/* --- users -------------------------------------------------------------------------------- */

const struct named_user *perf_module_user(struct perf_modules *m, int64_t pid)
{
    struct named_user u, *kept;

    if (!m->host->user)
        return NULL;
    if (!m->host->user(pid, &u))
        return geteuid() == 0 ? &named_nobody : NULL;
    for (size_t i = 0; i < m->user.n; i++)
        if (named_user_same(m->user.v[i], &u)) {
            named_user_release(&u);
            return m->user.v[i];
        }
    kept = mem_alloc(sizeof *kept);
    *kept = u;
    vec_push(&m->user, kept);
    return kept;
}

/* --- modules ------------------------------------------------------------------------------ */

struct perf_module *perf_module_get(struct perf_modules *m, uint32_t number)
{
    return number && number <= m->v.n ? &m->v.v[number - 1] : NULL;
}

static const struct perf_build_id *find_build_id(const struct perf_modules *m, const char *path)
{
    uint64_t h = hash_bytes(path, strlen(path));

    for (uint32_t at = index_first(&m->by_path, h), n; (n = index_id(&m->by_path, h, &at));)
        if (strcmp(m->build_id.v[n - 1].path, path) == 0)
            return &m->build_id.v[n - 1];
    return NULL;
}

void perf_module_add_build_id(struct perf_modules *m, const char *path, const uint8_t *id,
                              size_t size)
{
    struct perf_build_id *b;

    if (!size || size > sizeof b->id || find_build_id(m, path))
        return;
    b = vec_add(&m->build_id);
    *b = (struct perf_build_id){ .path = mem_strdup(path), .size = (uint8_t)size };
    memcpy(b->id, id, size);
    index_add(&m->by_path, hash_bytes(path, strlen(path)), (uint32_t)m->build_id.n);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Code without a file is named after the symbol map that its runtime writes, which also separates
 * the processes. */
static void jit_path(char *path, size_t cap, const struct perf_mapping *w)
{
    if (w->jit_dump)
        snprintf(path, cap, "%s", w->jit_dump);
    else
        snprintf(path, cap, "/tmp/perf-%" PRId64 ".map", w->inner_pid);
}

static uint64_t key_of(const struct perf_mapping *w, const char *path)
{
    uint64_t h = hash_bytes(path, strlen(path));

    if (w->build_id_size)
        return hash_pair(h, hash_bytes(w->build_id, w->build_id_size));
    return hash_pair(h, hash_pair(w->device, w->inode));
}

static bool is_same(const struct perf_module *x, const struct perf_mapping *w, const char *path)
{
    if (strcmp(x->path, path) != 0)
        return false;
    if (x->build_id_size && w->build_id_size)
        return x->build_id_size == w->build_id_size &&
               memcmp(x->build_id, w->build_id, x->build_id_size) == 0;
    return x->device == w->device && x->inode == w->inode;
}

/* The user of a new module.  A process changes its user without a record, so ask again. */
static const struct named_user *user_of(struct perf_modules *m, const struct perf_mapping *w,
                                        int fd)
{
    const struct named_user *u = named_user_weaker(w->user, perf_module_user(m, w->pid));
    struct stat st;

    /* The process has ended, and the file that it ran is not ours either. */
    if (!u && m->host->user && fd >= 0 && (fstat(fd, &st) < 0 || !named_is_ours(&st)))
        return &named_nobody;
    return u;
}

static int open_mapped(struct perf_modules *m, const struct perf_mapping *w)
{
    int fd;

    errno = 0;
    fd = m->host->open ? m->host->open(w) : -1;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        m->unopened++;
    return fd;
}

uint32_t perf_module_number(struct perf_modules *m, const struct perf_mapping *w)
{
    enum module_kind kind = module_kind_of_mapping(w->path);
    const struct perf_build_id *known = w->build_id_size ? NULL : find_build_id(m, w->path);
    struct perf_mapping file = *w; /* for code without a file only the name matters */
    char path[4096];
    struct perf_module *x;
    uint64_t h;

    if (kind == MODULE_JIT)
        jit_path(path, sizeof path, w);
    else
        snprintf(path, sizeof path, "%s", w->path);
    if (ends_with(path, deleted))
        path[strlen(path) - strlen(deleted)] = 0;
    if (known) {
        file.build_id = known->id;
        file.build_id_size = known->size;
    }
    if (kind != MODULE_FILE)
        file.device = file.inode = file.build_id_size = 0;
    else if (m->host->find) /* its file is found by path and build id alone: read it once */
        file.device = file.inode = 0;
    h = key_of(&file, path);
    for (uint32_t at = index_first(&m->by_key, h), n; (n = index_id(&m->by_key, h, &at));)
        if (is_same(&m->v.v[n - 1], &file, path)) {
            x = &m->v.v[n - 1];
            x->user = named_user_weaker(x->user, w->user);
            return n;
        }
    x = vec_add(&m->v);
    *x = (struct perf_module){ .path = mem_strdup(path), .kind = kind, .fd = -1,
                              .device = file.device, .inode = file.inode,
                              .build_id_size = file.build_id_size,
                              .target_pid = kind == MODULE_JIT ? w->pid : 0,
                              .pid = kind == MODULE_JIT ? w->inner_pid : 0 };
    if (file.build_id_size)
        memcpy(x->build_id, file.build_id, file.build_id_size);
    if (w->root_fd >= 0)
        snprintf(x->root, sizeof x->root, "/proc/self/fd/%d", w->root_fd);
    if (kind == MODULE_FILE)
        x->fd = open_mapped(m, w);
    x->user = user_of(m, w, x->fd);
    index_add(&m->by_key, h, (uint32_t)m->v.n);
    return (uint32_t)m->v.n;
}

/* Whether too many modules have the file of X, which was found at FD, or only its build id. */
static bool is_alias(struct perf_modules *m, const struct perf_module *x, int fd)
{
    struct stat st;
    uint64_t key;
    uint32_t n;

    if (fd >= 0 && fstat(fd, &st) == 0)
        key = hash_pair(st.st_dev, st.st_ino);
    else if (x->build_id_size)
        key = hash_bytes(x->build_id, x->build_id_size);
    else
        return x->path[0] != '/';
    n = umap_find(&m->files, key);
    umap_put(&m->files, key, n + 1);
    return n >= MOST_ALIASES;
}

/* A file found by its name or build id, not the one that was mapped. */
static void load_found(struct perf_modules *m, struct perf_module *x)
{
    int fd = m->host->find(x->path, x->build_id, x->build_id_size);

    x->is_alias = is_alias(m, x, fd);
    if (fd < 0)
        return;
    if (!x->is_alias && elf_file_read(&x->elf, fd))
        x->table = cfi_table_open(fd, x->build_id_size ? x->build_id : NULL, x->build_id_size,
                                  NULL);
    close(fd);
}

static void load_file(struct perf_module *x)
{
    if (x->fd < 0 || !elf_file_read(&x->elf, x->fd))
        return;
    if (!x->build_id_size) {
        memcpy(x->build_id, x->elf.build_id, sizeof x->build_id);
        x->build_id_size = x->elf.build_id_size;
    } else if (x->elf.build_id_size != x->build_id_size ||
               memcmp(x->build_id, x->elf.build_id, x->build_id_size) != 0) {
        return; /* replaced meanwhile: its segments are still the best guess */
    }
    x->table = cfi_table_open(x->fd, x->build_id_size ? x->build_id : NULL, x->build_id_size, NULL);
}

void perf_module_load(struct perf_modules *m, struct perf_module *x)
{
    struct module def = { .kind = x->kind };

    if (x->loaded)
        return;
    x->loaded = true;
    if (x->kind == MODULE_FILE && x->fd < 0 && m->host->find)
        load_found(m, x);
    else if (x->kind == MODULE_FILE)
        load_file(x);
    else if (x->kind == MODULE_JIT && m->host->open_jit)
        /* The symbol map grows while the program runs and disappears with its namespace. */
        x->fd = m->host->open_jit(x->target_pid, x->path, x->user);
    else if (x->kind == MODULE_VDSO)
        x->table = cfi_table_vdso();
    def.path = intern_cstr(m->in, x->path);
    memcpy(def.build_id, x->build_id, sizeof def.build_id);
    def.build_id_size = x->build_id_size;
    x->id = intern_module(m->in, &def);
}

const struct unw_table *perf_module_table(const struct perf_module *x)
{
    return x->table || x->kind == MODULE_JIT ? x->table : &unw_table_empty;
}

uint64_t perf_module_bias(const struct perf_module *x, uint64_t start, uint64_t file_offset)
{
    if (x->kind == MODULE_JIT || x->kind == MODULE_NONE)
        return 0;
    if (x->kind == MODULE_VDSO)
        return start - file_offset;
    return start - elf_file_address(&x->elf, file_offset);
}
