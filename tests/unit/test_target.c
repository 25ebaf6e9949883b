/* test_target.c - the library below code that runs inside profiled programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/tgt_fork.h"
#include "target/tgt_guard.h"
#include "target/tgt_load.h"
#include "target/tgt_pool.h"
#include "target/tgt_word.h"
#include "test.h"

enum { PAGES = 16, BYTES = PAGES * TGT_PAGE };

static unsigned char *bytes_at(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

/* The exit status of a child that runs F. */
static int in_a_child(int (*f)(void))
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        _exit(f());
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- Guards ---- */

static int changes_errno(bool early)
{
    TGT_KEEP_ERRNO();

    errno = ENOENT;
    if (early)
        return 1;
    errno = EINVAL;
    return 2;
}

TEST(guard_keeps_errno_on_every_way_out)
{
    errno = EBUSY;
    CHECK_EQ(changes_errno(true), 1);
    CHECK_EQ(errno, EBUSY);
    CHECK_EQ(changes_errno(false), 2);
    CHECK_EQ(errno, EBUSY);
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
    handled = number;
}

TEST(guard_keeps_signals_out_of_a_block)
{
    sigset_t before, after;

    signal(SIGUSR1, handle);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    {
        TGT_BLOCK_SIGNALS();
        raise(SIGUSR1);
        CHECK_EQ(handled, 0);
    }
    CHECK_EQ(handled, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK_EQ(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1));
}

/* ---- Words ---- */

TEST(word_swaps_only_an_expected_value)
{
    uint64_t word = 5;

    CHECK(!tgt_swap_if(&word, 4, 9));
    CHECK_EQ(word, 5);
    CHECK(tgt_swap_if(&word, 5, 9));
    tgt_bump(&word, 1);
    tgt_add(&word, 2);
    CHECK_EQ(word, 12);
    tgt_put(&word, UINT64_MAX);
    tgt_bump(&word, 3);
    CHECK_EQ(word, 2);
}

/* ---- Locks ---- */

static struct tgt_lock lock, other;
static unsigned shared;

static void *add_under_the_lock(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        tgt_lock(&lock);
        shared = shared + 1;
        tgt_unlock(&lock);
    }
    return arg;
}

TEST(lock_lets_one_thread_in_at_a_time)
{
    pthread_t id[4];

    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&id[i], NULL, add_under_the_lock, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
    CHECK_EQ(shared, 4 * 20000);
}

TEST(lock_reports_to_a_handler_that_its_thread_holds_one)
{
    CHECK(tgt_lock_unless_held(&lock));
    CHECK(!tgt_lock_unless_held(&lock));
    CHECK(!tgt_lock_unless_held(&other)); /* any lock: two in the wrong order would deadlock */
    CHECK(!tgt_lock_try(&lock));
    CHECK(tgt_lock_try(&other));
    tgt_unlock(&other);
    CHECK(!tgt_lock_unless_held(&other));
    tgt_unlock(&lock);
    CHECK(tgt_lock_unless_held(&other));
    tgt_unlock(&other);
}

static void *give_back_later(void *arg)
{
    tgt_lock(&lock);
    tgt_lock(&other); /* the other thread waits for LOCK now; hold it for a while */
    tgt_unlock(&other);
    usleep(20000);
    tgt_unlock(&lock);
    return arg;
}

TEST(lock_keeps_errno_while_it_waits)
{
    pthread_t id;

    tgt_lock(&other);
    CHECK_EQ(pthread_create(&id, NULL, give_back_later, NULL), 0);
    while (!__atomic_load_n(&lock.taken, __ATOMIC_RELAXED))
        usleep(100);
    tgt_unlock(&other);
    errno = EBUSY;
    tgt_lock(&lock);
    CHECK_EQ(errno, EBUSY);
    tgt_unlock(&lock);
    pthread_join(id, NULL);
}

/* ---- Pages ---- */

static uint32_t next_page;
static struct tgt_pool pool;

static void make_pool(int fd)
{
    CHECK_EQ(tgt_pool_map(&pool, BYTES, fd), 0);
    next_page = 0;
    pool.next = &next_page;
    pool.lock = &lock;
}

TEST(pool_hands_out_each_page_once_and_zeroed)
{
    make_pool(-1);
    for (int i = 0; i < PAGES; i++) {
        uint64_t page = tgt_pool_take(&pool);

        CHECK_EQ(page, pool.base + (uint64_t)i * TGT_PAGE);
        CHECK_EQ(bytes_at(page)[0] + bytes_at(page)[TGT_PAGE - 1], 0);
        memset(bytes_at(page), 0xff, TGT_PAGE);
    }
    CHECK_EQ(tgt_pool_take(&pool), 0);
    CHECK_EQ(tgt_pool_take_locked(&pool), 0);
    CHECK_EQ(tgt_pool_used(&pool), PAGES);
    next_page = PAGES + 1; /* a count that the program overwrote leads to no page outside */
    CHECK_EQ(tgt_pool_take(&pool), 0);
    CHECK_EQ(tgt_pool_used(&pool), PAGES);
}

TEST(pool_reuses_returned_pages)
{
    uint64_t a, b;

    make_pool(-1);
    a = tgt_pool_take(&pool);
    b = tgt_pool_take(&pool);
    memset(bytes_at(a), 0xff, TGT_PAGE);
    tgt_lock(&lock);
    tgt_pool_free(&pool, a);
    tgt_pool_free(&pool, b);
    CHECK_EQ(pool.free_count, 2);
    CHECK_EQ(tgt_pool_take_locked(&pool), b);
    CHECK_EQ(tgt_pool_take(&pool), b + TGT_PAGE); /* the list is locked: a new page, no waiting */
    tgt_unlock(&lock);
    CHECK_EQ(tgt_pool_take(&pool), a);
    for (int i = 0; i < TGT_PAGE; i++)
        CHECK_EQ(bytes_at(a)[i], 0);
    CHECK_EQ(pool.free_count, 0);
}

TEST(pool_hands_out_no_page_when_the_disk_is_full)
{
    int fd = open(test_file("", 0), O_RDONLY);

    make_pool(-1);
    pool.fd = fd; /* cannot be written: no blocks */
    errno = EBUSY;
    CHECK_EQ(tgt_pool_take(&pool), 0);
    CHECK_EQ(errno, EBUSY);
    CHECK_EQ(next_page, 0);
    close(fd);
}

static int sized_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    CHECK_EQ(tgt_pool_size(fd, BYTES, 0), 0);
    return fd;
}

TEST(pool_in_a_file_has_its_blocks_before_a_page_is_used)
{
    char path[4096];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "%s/pool", test_dir());
    fd = sized_file(path);
    CHECK(fd >= 0);
    make_pool(fd);
    CHECK(tgt_pool_take(&pool) != 0);
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK(st.st_size >= BYTES);
    CHECK(st.st_blocks * 512 >= BYTES || pool.allocated == BYTES);
    memcpy(bytes_at(pool.base), "kept", 4);
    CHECK_EQ(pread(fd, path, 4, 0), 4);
    CHECK(!memcmp(path, "kept", 4));
    close(fd);
}

TEST(pool_refuses_devices_and_directories)
{
    int devices[] = { open("/dev/null", O_RDWR), open(test_dir(), O_RDONLY), -1 };

    for (int i = 0; i < 3; i++)
        CHECK_EQ(tgt_pool_size(devices[i], BYTES, 0), -1);
    close(devices[0]);
    close(devices[1]);
}

static bool keeps_some(uint64_t page, void *arg)
{
    uint64_t i = (page - pool.base) / TGT_PAGE;

    (*(int *)arg)++;
    return i == 1 || i == 4;
}

TEST(pool_renewed_keeps_pages_at_their_addresses_and_frees_those_between)
{
    int asked = 0;

    make_pool(-1);
    for (int i = 0; i < 8; i++)
        memset(bytes_at(tgt_pool_take(&pool)), i + 1, TGT_PAGE);
    CHECK_EQ(tgt_pool_renew(&pool, -1, keeps_some, &asked), 0);
    CHECK_EQ(asked, 8);
    CHECK_EQ(bytes_at(pool.base)[TGT_PAGE + 9], 2);
    CHECK_EQ(bytes_at(pool.base)[4 * TGT_PAGE + 9], 5);
    CHECK_EQ(bytes_at(pool.base)[6 * TGT_PAGE + 9], 0);
    CHECK_EQ(tgt_pool_used(&pool), 5);
    CHECK_EQ(pool.free_count, 3); /* 0, 2 and 3 */
    for (int i = 0; i < 3; i++) {
        uint64_t page = tgt_pool_take(&pool);

        CHECK(page < pool.base + 4 * TGT_PAGE);
        CHECK_EQ(bytes_at(page)[0] + bytes_at(page)[9], 0);
    }
    CHECK_EQ(tgt_pool_take(&pool), pool.base + 5 * TGT_PAGE);
}

TEST(pool_renewed_forgets_which_pages_were_free_before)
{
    uint64_t page[8];
    int asked = 0;

    make_pool(-1);
    for (int i = 0; i < 8; i++)
        page[i] = tgt_pool_take(&pool);
    tgt_pool_free(&pool, page[2]);
    tgt_pool_free(&pool, page[7]);
    CHECK_EQ(pool.free_count, 2);
    CHECK_EQ(tgt_pool_renew(&pool, -1, keeps_some, &asked), 0);
    CHECK_EQ(pool.free_count, 3); /* 0, 2 and 3 */
    for (int i = 0; i < 3; i++)
        CHECK(tgt_pool_take(&pool) < page[4]);
    CHECK_EQ(pool.free_count, 0);
    CHECK_EQ(tgt_pool_take(&pool), page[5]);
}

static bool keeps_all(uint64_t page, void *arg)
{
    (void)page, (void)arg;
    return true;
}

static int writes_into_its_own_pool(void)
{
    if (tgt_pool_renew(&pool, -1, keeps_all, NULL) < 0 || bytes_at(pool.base)[5] != 'p')
        return 1;
    bytes_at(pool.base)[5] = 'c';
    return 0;
}

TEST(pool_of_a_forked_child_is_not_that_of_its_parent)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof path, "%s/pool", test_dir());
    fd = sized_file(path);
    make_pool(fd);
    bytes_at(tgt_pool_take(&pool))[5] = 'p';
    CHECK_EQ(in_a_child(writes_into_its_own_pool), 0);
    CHECK_EQ(bytes_at(pool.base)[5], 'p');
    close(fd);
}

/* ---- Fork ---- */

static int children, rounds;

static void count_child(void)
{
    errno = EINVAL;
    children++;
}

static void *hold_both(void *arg)
{
    while (!__atomic_load_n(&rounds, __ATOMIC_RELAXED)) {
        tgt_lock(&lock);
        tgt_lock(&other);
        shared++;
        tgt_unlock(&other);
        tgt_unlock(&lock);
    }
    return arg;
}

static int finds_both_locks_free(void)
{
    bool kept = errno == EBUSY;

    if (children != 1 || !kept || !tgt_lock_unless_held(&lock))
        return 1;
    return tgt_lock_try(&other) ? 0 : 2;
}

TEST(fork_leaves_locks_free_whoever_held_them)
{
    static const struct tgt_fork follow = { { &lock, &other }, count_child };
    pthread_t id;

    tgt_fork_follow(&follow);
    tgt_fork_follow(&follow); /* a second call has no effect; otherwise a fork would deadlock */
    CHECK_EQ(pthread_create(&id, NULL, hold_both, NULL), 0);
    for (int i = 0; i < 50; i++) {
        errno = EBUSY;
        CHECK_EQ(in_a_child(finds_both_locks_free), 0);
    }
    CHECK_EQ(children, 0);
    __atomic_store_n(&rounds, 1, __ATOMIC_RELAXED);
    pthread_join(id, NULL);
    CHECK(tgt_lock_unless_held(&lock));
    tgt_unlock(&lock);
}

static int is_no_guest(void)
{
    return tgt_fork_is_guest((uint32_t)getpid());
}

TEST(fork_detects_a_child_that_shares_our_memory)
{
    static volatile int guest = -1;
    uint32_t pid = (uint32_t)getpid();
    pid_t child;

    CHECK(!tgt_fork_is_guest(pid));
    child = vfork();
    if (child == 0) {
        guest = tgt_fork_is_guest(pid);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    CHECK_EQ(guest, 1);
    CHECK_EQ(in_a_child(is_no_guest), 0);
}

/* ---- Loads ---- */

static unsigned char *pages_with_a_hole(size_t n, size_t hole)
{
    unsigned char *p = mmap(NULL, n * TGT_PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    for (size_t i = 0; i < n * TGT_PAGE; i++)
        p[i] = (unsigned char)(i * 7 + i / TGT_PAGE);
    CHECK_EQ(mprotect(p + hole * TGT_PAGE, TGT_PAGE, PROT_NONE), 0);
    return p;
}

TEST(load_stops_at_the_first_page_that_cannot_be_read)
{
    unsigned char *p = pages_with_a_hole(4, 2), out[3 * TGT_PAGE];
    uint64_t at = (uint64_t)(uintptr_t)p;

    errno = EBUSY;
    memset(out, 0xee, sizeof out);
    CHECK_EQ(tgt_load(out, at + 100, sizeof out), 2 * TGT_PAGE - 100);
    CHECK(!memcmp(out, p + 100, 2 * TGT_PAGE - 100));
    CHECK_EQ(out[2 * TGT_PAGE - 100], 0xee);
    CHECK_EQ(tgt_load(out, at + 2 * TGT_PAGE, 8), 0);
    CHECK_EQ(tgt_load(out, 0, 8), 0);
    CHECK_EQ(tgt_load(out, UINT64_MAX - 3, 8), 0);
    CHECK_EQ(tgt_load(out, at + 10, 20), 20);
    CHECK_EQ(errno, EBUSY);
}

TEST(load_copies_more_than_one_call_can)
{
    enum { MANY = 70 };
    unsigned char *p = pages_with_a_hole(MANY, MANY - 1), *out = malloc(MANY * TGT_PAGE);

    CHECK_EQ(tgt_load(out, (uint64_t)(uintptr_t)p + 3, MANY * TGT_PAGE),
             (MANY - 1) * TGT_PAGE - 3);
    CHECK(!memcmp(out, p + 3, (MANY - 1) * TGT_PAGE - 3));
    free(out);
}

TEST(load_by_page_stops_at_the_first_page_that_cannot_be_read)
{
    unsigned char *p = pages_with_a_hole(4, 2), out[3 * TGT_PAGE];
    uint64_t at = (uint64_t)(uintptr_t)p;

    errno = EBUSY;
    memset(out, 0xee, sizeof out);
    CHECK_EQ(tgt_load_probed(out, at + 101, sizeof out), 2 * TGT_PAGE - 101);
    CHECK(!memcmp(out, p + 101, 2 * TGT_PAGE - 101));
    CHECK_EQ(out[2 * TGT_PAGE - 101], 0xee);
    CHECK_EQ(tgt_load_probed(out, at + 2 * TGT_PAGE, 8), 0);
    CHECK_EQ(tgt_load_probed(out, 0, 8), 0);
    CHECK_EQ(tgt_load_probed(out, UINT64_MAX - 3, 8), 0);
    CHECK_EQ(tgt_load_probed(out, at + 10, 20), 20);
    CHECK_EQ(tgt_load_probed(out, at + TGT_PAGE - 10, 20), 20);
    CHECK(!memcmp(out, p + TGT_PAGE - 10, 20));
    CHECK_EQ(errno, EBUSY);
}

TEST(load_within_bounds_never_leaves_them)
{
    unsigned char *p = pages_with_a_hole(2, 1), out[200];
    uint64_t at = (uint64_t)(uintptr_t)p, end = at + TGT_PAGE;

    for (size_t from = TGT_PAGE - 40; from < TGT_PAGE; from++) {
        memset(out, 0xee, sizeof out);
        CHECK_EQ(tgt_load_within(out, at + from, sizeof out, at, end), TGT_PAGE - from);
        CHECK(!memcmp(out, p + from, TGT_PAGE - from));
        CHECK_EQ(out[TGT_PAGE - from], 0xee);
    }
    CHECK_EQ(tgt_load_within(out, end, 8, at, end), 0);
    CHECK_EQ(tgt_load_within(out, at - 8, 16, at, end), 0);
    CHECK_EQ(tgt_load_within(out, at + 1, 17, at, end), 17);
    CHECK(!memcmp(out, p + 1, 17));
}
