/* rt_region.c - the mapping everything measured lives in: pages, text, small numbers.
 * Callers hold rt.lock where rt.h says so; rt_page takes no lock it would have to wait for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { GROW = 1 << 20, SPINS = 200 };
static const uint32_t TMPFS = 0x01021994, RAMFS = 0x858458f6; /* statfs(2) */

struct rt rt = { .fd = -1, .percentiles = true, .mode = FATHOM_MODE_AGGREGATE };

/* Set before a lock is tried for and until after it is given back. */
static __thread uint32_t holding;

static bool try_for(uint32_t *lock)
{
    uint32_t expected = 0;

    holding++;
    FATHOM_ORDER_();
    for (int i = 0; i < SPINS; i++, expected = 0)
        if (__atomic_compare_exchange_n(lock, &expected, 1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return true;
    holding--;
    return false;
}

/* Yielding is not enough when the holder has a lower priority in real time. */
static void wait_for(uint32_t *lock)
{
    struct timespec pause = { 0, 100000 };
    int saved = errno;

    for (int tries = 0; !try_for(lock); tries++)
        if (tries < 50)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    errno = saved;
}

static void release(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    FATHOM_ORDER_();
    holding--;
}

bool rt_trylock(void)
{
    return try_for(&rt.lock);
}

bool rt_lock_unless_mine(void)
{
    if (holding)
        return false;
    rt_lock();
    return true;
}

void rt_lock(void)
{
    wait_for(&rt.lock);
}

void rt_unlock(void)
{
    release(&rt.lock);
}

void rt_lock_threads(void)
{
    wait_for(&rt.threads_lock);
}

bool rt_trylock_threads(void)
{
    return try_for(&rt.threads_lock);
}

void rt_unlock_threads(void)
{
    release(&rt.threads_lock);
}

void rt_locks_forget(void)
{
    rt.lock = rt.threads_lock = holding = 0;
}

void rt_lose(enum fathom_loss cause, uint64_t n)
{
    if (rt.head)
        __atomic_fetch_add(&rt.head->lost[cause], n, __ATOMIC_RELAXED);
}

static uint8_t *page_kind(uint64_t page)
{
    return (uint8_t *)(uintptr_t)(rt.base + LIVE_PAGE) + (page - rt.base) / LIVE_PAGE;
}

static void set_kind(uint64_t page, enum live_kind kind)
{
    __atomic_store_n(page_kind(page), (uint8_t)kind, __ATOMIC_RELEASE);
}

/* A hole in a file on a full disk would be a SIGBUS in the program: have the blocks first. */
bool rt_have_blocks(uint64_t end)
{
    uint64_t done = __atomic_load_n(&rt.allocated, __ATOMIC_RELAXED);
    uint64_t want = (end + GROW - 1) / GROW * GROW;
    int saved = errno, failed;

    if (rt.fd < 0 || end <= done)
        return true;
    if (want > (uint64_t)rt.n_pages * LIVE_PAGE)
        want = (uint64_t)rt.n_pages * LIVE_PAGE;
    failed = fallocate(rt.fd, 0, (off_t)done, (off_t)(want - done));
    if (failed && errno == EOPNOTSUPP)
        failed = 0; /* some file systems have no such call: then as good as any program */
    errno = saved;
    if (!failed)
        __atomic_store_n(&rt.allocated, want, __ATOMIC_RELAXED);
    return !failed;
}

static uint64_t take_free_page(void)
{
    uint64_t page = rt.free_page;

    if (page) {
        __atomic_store_n(&rt.free_page, *(uint64_t *)(uintptr_t)page, __ATOMIC_RELAXED);
        __atomic_store_n(&rt.free_count, rt.free_count - 1, __ATOMIC_RELAXED);
        *(uint64_t *)(uintptr_t)page = 0;
    }
    return page;
}

static uint64_t take_new_page(void)
{
    uint32_t at;

    at = __atomic_load_n(&rt.head->next_page, __ATOMIC_RELAXED);
    do {
        if (at >= rt.n_pages || !rt_have_blocks((uint64_t)(at + 1) * LIVE_PAGE))
            return 0;
    } while (!__atomic_compare_exchange_n(&rt.head->next_page, &at, at + 1, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return rt.base + (uint64_t)at * LIVE_PAGE;
}

uint64_t rt_page_locked(enum live_kind kind)
{
    uint64_t page = take_free_page();

    if (!page)
        page = take_new_page();
    if (page)
        set_kind(page, kind);
    return page;
}

uint64_t rt_page_take(void)
{
    uint64_t page = 0;

    if (__atomic_load_n(&rt.free_page, __ATOMIC_RELAXED) && rt_trylock()) {
        page = take_free_page();
        rt_unlock();
    }
    return page ? page : take_new_page();
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
    memset((void *)(uintptr_t)page, 0, LIVE_PAGE);
    *(uint64_t *)(uintptr_t)page = rt.free_page;
    __atomic_store_n(&rt.free_page, page, __ATOMIC_RELAXED);
    __atomic_store_n(&rt.free_count, rt.free_count + 1, __ATOMIC_RELAXED);
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
        rt.string_page = (uint32_t)((page - rt.base) / LIVE_PAGE);
        rt.string_at = 0;
    }
    ref = rt.string_page * LIVE_PAGE + rt.string_at;
    to = (char *)(uintptr_t)(rt.base + ref);
    memcpy(to, text, n);
    rt.string_at += (uint32_t)n + 1; /* the page is zeroed: the NUL is there */
    return ref;
}

static uint32_t *names(void)
{
    return (uint32_t *)(uintptr_t)(rt.base + (uint64_t)rt.head->names_page * LIVE_PAGE);
}

const char *rt_name_text(uint32_t name)
{
    uint32_t ref = name < LIVE_MAX_NAMES ? names()[name] : 0;

    return ref ? (const char *)(uintptr_t)(rt.base + ref) : "";
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

int rt_region_file(const char *path, uint64_t bytes, uint64_t used)
{
    int fd = *path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -1;
    }
    if (ftruncate(fd, (off_t)bytes) < 0 ||
        (fallocate(fd, 0, 0, (off_t)(used < GROW ? GROW : used)) < 0 && errno != EOPNOTSUPP)) {
        unlink(path);
        close(fd);
        return -1;
    }
    return fd;
}

static int open_file(const struct rt_region_config *c)
{
    rt.fd = -1;
    rt.live_path[0] = 0;
    if (!c->path)
        return 0;
    if (strlen(c->path) >= sizeof rt.live_path)
        return -1;
    rt.fd = rt_region_file(c->path, c->bytes, 0);
    if (rt.fd < 0)
        return -1;
    strcpy(rt.live_path, c->path);
    return 0;
}

static void *map_pages(const struct rt_region_config *c)
{
    int flags = MAP_NORESERVE | (rt.fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);

    return mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, flags, rt.fd, 0);
}

static void fill_header(struct live_header *h, uint64_t bytes)
{
    uint32_t table = (uint32_t)((bytes / LIVE_PAGE + LIVE_PAGE - 1) / LIVE_PAGE);

    h->version = LIVE_VERSION;
    h->page_bytes = LIVE_PAGE;
    h->base = rt.base;
    h->region_bytes = bytes;
    h->n_pages = rt.n_pages;
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

    if (open_file(c) < 0)
        return FATHOM_E_SYSTEM;
    h = map_pages(c);
    if (h == MAP_FAILED)
        return FATHOM_E_SYSTEM;
    rt.base = (uint64_t)(uintptr_t)h;
    rt.n_pages = (uint32_t)(c->bytes / LIVE_PAGE);
    rt.memory_pages = (uint32_t)(c->memory / LIVE_PAGE);
    rt.trace_pages_max = rt.n_pages - rt.memory_pages / 4;
    rt.retired = 0;
    rt.trace_pages = rt.free_page = rt.free_count = rt.allocated = 0;
    rt.string_page = 0;
    fill_header(h, c->bytes);
    rt.head = h;
    for (uint32_t i = 0; i <= h->table_pages; i++)
        set_kind(rt.base + (uint64_t)i * LIVE_PAGE, LIVE_HEADER);
    h->names_page = (uint32_t)((rt_page(LIVE_NAMES) - rt.base) / LIVE_PAGE);
    h->contexts_page = (uint32_t)((rt_page(LIVE_CONTEXTS) - rt.base) / LIVE_PAGE);
    rt.no_histogram = rt_page(LIVE_OTHER);
    rt_clock_init(h);
    memcpy(h->magic, LIVE_MAGIC, 8); /* last: now it can be read */
    return 0;
}
