/* rt_region.c - the mapping that holds all measurements: pages, text, small numbers.  Callers hold
 * rt.lock where rt.h requires it; rt_page never waits for a lock.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "base/save.h"

static const uint32_t TMPFS = 0x01021994, RAMFS = 0x858458f6; /* statfs(2) */

struct rt rt = { .pool.fd = -1, .percentiles = true, .mode = FATHOM_MODE_AGGREGATE };

void rt_lose(enum fathom_loss cause, uint64_t n)
{
    if (rt.head)
        __atomic_fetch_add(&rt.head->lost[cause], n, __ATOMIC_RELAXED);
}

static uint8_t *page_kind(uint64_t page)
{
    return (uint8_t *)(uintptr_t)(rt.pool.base + LIVE_PAGE) + (page - rt.pool.base) / LIVE_PAGE;
}

static void set_kind(uint64_t page, enum live_kind kind)
{
    __atomic_store_n(page_kind(page), (uint8_t)kind, __ATOMIC_RELEASE);
}

uint64_t rt_page_locked(enum live_kind kind)
{
    uint64_t page = tgt_pool_take_locked(&rt.pool);

    if (page)
        set_kind(page, kind);
    return page;
}

uint64_t rt_page_take(void)
{
    return tgt_pool_take(&rt.pool);
}

void rt_page_show(uint64_t page, enum live_kind kind)
{
    set_kind(page, kind);
}

uint64_t rt_page(enum live_kind kind)
{
    uint64_t page = rt_page_take();

    if (page)
        set_kind(page, kind);
    return page;
}

void rt_page_free(uint64_t page)
{
    set_kind(page, LIVE_FREE);
    tgt_pool_free(&rt.pool, page);
}

uint32_t rt_text(const char *text)
{
    size_t n = text ? strnlen(text, 1000) : 0;
    char *to;
    uint32_t ref;

    if (n == 0)
        return 0;
    if (!rt.string_page || rt.string_at + n + 1 > LIVE_PAGE) {
        uint64_t page = rt_page_locked(LIVE_STRINGS);

        if (!page)
            return 0;
        rt.string_page = (uint32_t)((page - rt.pool.base) / LIVE_PAGE);
        rt.string_at = 0;
    }
    ref = rt.string_page * LIVE_PAGE + rt.string_at;
    to = (char *)(uintptr_t)(rt.pool.base + ref);
    memcpy(to, text, n);
    rt.string_at += (uint32_t)n + 1; /* the page is zeroed: the text ends with a NUL */
    return ref;
}

static uint32_t *names(void)
{
    return (uint32_t *)(uintptr_t)(rt.pool.base + (uint64_t)rt.head->names_page * LIVE_PAGE);
}

const char *rt_name_text(uint32_t name)
{
    uint32_t ref = name < LIVE_MAX_NAMES ? names()[name] : 0;

    return ref ? (const char *)(uintptr_t)(rt.pool.base + ref) : "";
}

uint32_t rt_name(const char *text)
{
    uint32_t n = rt.head->n_names, ref;

    if (!text || !*text)
        return 0;
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(rt_name_text(i), text) == 0)
            return i;
    if (n >= LIVE_MAX_NAMES || !(ref = rt_text(text)))
        return 0;
    names()[n] = ref;
    __atomic_store_n(&rt.head->n_names, n + 1, __ATOMIC_RELEASE);
    return n;
}

bool rt_page_is_done(uint64_t page)
{
    const struct live_chunk *c = (struct live_chunk *)(uintptr_t)page;

    return __atomic_load_n(page_kind(page), __ATOMIC_ACQUIRE) == LIVE_CHUNK && c->trace &&
           __atomic_load_n(&c->next, __ATOMIC_RELAXED);
}

bool rt_region_on_disk(const char *path)
{
    char folder[RT_PATH];
    const char *slash = strrchr(path, '/');
    struct statfs fs;

    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    return statfs(folder, &fs) == 0 && (uint32_t)fs.f_type != TMPFS && (uint32_t)fs.f_type != RAMFS;
}

/* The new file gets its name with its full size and an empty header, so no reader sees half of it.
 * An old file at PATH is replaced, never truncated: another process may have mapped it. */
int rt_region_file(const char *path, uint64_t bytes, uint64_t used)
{
    struct file_limit l;
    struct save s;
    int fd, rc;

    rt.live_path[0] = 0;
    if (strlen(path) >= sizeof rt.live_path || save_open_new(&s, path, SAVE_PRIVATE) < 0)
        return -1;
    l = file_limit_begin();
    rc = tgt_pool_size(s.fd, bytes, used);
    file_limit_end(&l);
    if (rc < 0) {
        save_close(&s, false);
        return -1;
    }
    fd = save_keep(&s);
    if (fd >= 0)
        strcpy(rt.live_path, path);
    return fd;
}

static void fill_header(struct live_header *h, uint64_t bytes)
{
    uint32_t table = (uint32_t)((bytes / LIVE_PAGE + LIVE_PAGE - 1) / LIVE_PAGE);

    h->version = LIVE_VERSION;
    h->page_bytes = LIVE_PAGE;
    h->base = rt.pool.base;
    h->region_bytes = bytes;
    h->n_pages = rt.pool.n_pages;
    h->table_pages = table;
    h->next_page = 1 + table;
    h->pid = (uint32_t)getpid();
    h->parent_pid = (uint32_t)getppid();
    h->n_names = h->n_contexts = 1;
    prctl(PR_GET_NAME, h->comm);
}

int rt_region_map(const struct rt_region_config *c)
{
    struct live_header *h;
    int fd = c->path ? rt_region_file(c->path, c->bytes, 0) : -1;

    if (c->path && fd < 0)
        return FATHOM_E_SYSTEM;
    if (tgt_pool_map(&rt.pool, c->bytes, fd) < 0) {
        if (fd >= 0) {
            close(fd);
            unlink(rt.live_path);
        }
        return FATHOM_E_SYSTEM;
    }
    h = (struct live_header *)(uintptr_t)rt.pool.base;
    rt.pool.next = &h->next_page;
    rt.pool.lock = &rt.lock;
    rt.memory_pages = (uint32_t)(c->memory / LIVE_PAGE);
    rt.trace_pages_max = rt.pool.n_pages - rt.memory_pages / 4;
    rt.retired = rt.trace_pages = 0;
    rt.string_page = 0;
    fill_header(h, c->bytes);
    rt.head = h;
    for (uint32_t i = 0; i <= h->table_pages; i++)
        set_kind(rt.pool.base + (uint64_t)i * LIVE_PAGE, LIVE_HEADER);
    h->names_page = (uint32_t)((rt_page(LIVE_NAMES) - rt.pool.base) / LIVE_PAGE);
    h->contexts_page = (uint32_t)((rt_page(LIVE_CONTEXTS) - rt.pool.base) / LIVE_PAGE);
    rt.no_histogram = rt_page(LIVE_OTHER);
    rt_clock_init(h);
    memcpy(h->magic, LIVE_MAGIC, 8); /* last: readers accept the region from now on */
    return 0;
}
