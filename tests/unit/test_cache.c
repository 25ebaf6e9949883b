/* test_cache.c - the cache directory: whose it must be, and what it keeps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

enum { NOBODY = 65534 };

static char root[128];

/* A cache in a directory of its own, which does not exist yet. */
static const char *new_cache(void)
{
    snprintf(root, sizeof root, "%s/above/cache", test_dir());
    setenv("FATHOM_CACHE", root, 1);
    return root;
}

static const char *in_cache(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void store(const char *name)
{
    struct err e = { 0 };

    if (cache_store("kept", name, "0123456789", 10, &e) < 0)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
}

static bool loads(const char *name)
{
    struct map m;
    bool done = cache_load(&m, "kept", name);

    CHECK(!done || (m.size == 10 && memcmp(m.data, "0123456789", 10) == 0));
    map_close(&m);
    return done;
}

static unsigned mode_of(const char *path)
{
    struct stat st = { 0 };

    CHECK_EQ(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static bool is_refused(const char *why)
{
    struct err e = { 0 };

    CHECK_EQ(cache_store("kept", "file", "x", 1, &e), -1);
    if (!strstr(e.msg, why))
        test_fail(__FILE__, __LINE__, "the message is \"%s\"", e.msg);
    return !loads("file");
}

TEST(cache_creates_directories_and_files_for_its_user_only)
{
    mode_t mask = umask(0);

    new_cache();
    CHECK(!loads("file"));
    CHECK(access(root, F_OK) != 0); /* reading creates nothing */
    store("file");
    umask(mask);
    CHECK(loads("file"));
    CHECK_EQ(mode_of(in_cache("kept/file")), 0600);
    CHECK_EQ(mode_of(in_cache("kept")), 0700);
    CHECK_EQ(mode_of(root), 0700);
    CHECK_EQ(mode_of(in_cache("..")), 0700);
}

TEST(cache_refuses_a_symlink_in_place_of_a_directory)
{
    char real[128];

    snprintf(real, sizeof real, "%s", test_dir());
    new_cache();
    test_make_dirs(root);
    CHECK_EQ(symlink(real, root), 0);
    CHECK(is_refused("cache is not a directory"));
    CHECK_EQ(unlink(root), 0);
    test_make_dirs(in_cache("kept"));
    CHECK_EQ(symlink(real, in_cache("kept")), 0);
    CHECK(is_refused("kept is not a directory"));
}

TEST(cache_refuses_directories_and_files_that_others_can_write)
{
    new_cache();
    store("file");
    CHECK_EQ(chmod(in_cache("kept/file"), 0620), 0);
    CHECK(!loads("file"));
    CHECK_EQ(chmod(in_cache("kept/file"), 0600), 0);
    CHECK(loads("file"));
    CHECK_EQ(chmod(in_cache("kept"), 0777), 0);
    CHECK(is_refused("other users may write to kept"));
    CHECK_EQ(chmod(in_cache("kept"), 0700), 0);
    CHECK_EQ(chmod(root, 0770), 0);
    CHECK(is_refused("other users may write to cache"));
    CHECK_EQ(chmod(root, 0755), 0);
    CHECK(loads("file"));
}

TEST(cache_reads_regular_files_only)
{
    char real[256];

    new_cache();
    store("file");
    snprintf(real, sizeof real, "%s", in_cache("real"));
    CHECK_EQ(rename(in_cache("kept/file"), real), 0);
    CHECK_EQ(symlink("../real", in_cache("kept/file")), 0);
    CHECK(!loads("file"));
    CHECK_EQ(mkfifo(in_cache("kept/fifo"), 0600), 0);
    CHECK(!loads("fifo")); /* does not wait for a writer */
}

static void need_root(void)
{
    if (geteuid() != 0)
        test_skip("not root: nothing can belong to another user");
}

TEST(cache_of_another_user_is_neither_believed_nor_written)
{
    need_root();
    new_cache();
    store("file");
    CHECK_EQ(chown(in_cache("kept/file"), NOBODY, 0), 0);
    CHECK(!loads("file"));
    CHECK_EQ(chown(in_cache("kept/file"), 0, 0), 0);
    CHECK(loads("file"));
    CHECK_EQ(chown(in_cache("kept"), NOBODY, 0), 0);
    CHECK(is_refused("kept belongs to user 65534, not to user 0"));
    CHECK_EQ(chown(in_cache("kept"), 0, 0), 0);
    CHECK_EQ(chown(root, NOBODY, 0), 0);
    CHECK(is_refused("cache belongs to user 65534"));
}

TEST(cache_is_not_created_in_the_directory_of_another_user)
{
    struct err e = { 0 };
    char above[128];

    need_root();
    snprintf(above, sizeof above, "%.*s", (int)(strlen(new_cache()) - strlen("/cache")), root);
    test_make_dirs(root);
    CHECK_EQ(chown(above, NOBODY, 0), 0);
    CHECK(is_refused("cannot create cache in a directory of user 65534"));
    CHECK(access(root, F_OK) != 0);
    CHECK_EQ(cache_check(&e), -1);
    CHECK_STR(e.msg, "cannot create cache in a directory of user 65534");
}

TEST(cache_check_says_why_the_cache_is_not_used)
{
    struct err e = { 0 };

    new_cache();
    CHECK_EQ(cache_check(&e), 0);
    store("file");
    CHECK_EQ(cache_check(&e), 0);
    CHECK_EQ(chmod(root, 0777), 0);
    CHECK_EQ(cache_check(&e), -1);
    CHECK_STR(e.msg, "other users may write to cache");
}

TEST(cache_evicts_the_least_recently_used_file)
{
    struct timespec when[2] = { { 0 }, { 0 } };
    char name[8], path[32];

    new_cache();
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%d", i);
        snprintf(path, sizeof path, "kept/%d", i);
        store(name);
        when[0].tv_sec = when[1].tv_sec = 1000 + (i * 7) % 4; /* 0, 3, 2, 1 */
        CHECK_EQ(utimensat(AT_FDCWD, in_cache(path), when, 0), 0);
    }
    CHECK_EQ(cache_trim("kept", 40), 0);
    CHECK_EQ(cache_trim("kept", 25), 2);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK_EQ(loads(name), i == 1 || i == 2);
    }
    CHECK_EQ(cache_trim("none", 0), 0);
}

TEST(cache_has_room_for_many_tables)
{
    static char table[1 << 20];
    struct err e = { 0 };

    new_cache();
    store("first");
    for (int i = 0; i < 4; i++) {
        char name[8];

        snprintf(name, sizeof name, "%d", i);
        CHECK_EQ(cache_store("kept", name, table, sizeof table, &e), 0);
    }
    CHECK(loads("first"));
    CHECK_EQ(truncate(in_cache("kept/0"), 1 << 30), 0);
    store("last");
    CHECK(access(in_cache("kept/0"), F_OK) < 0); /* too much */
}

TEST(cache_keeps_no_file_that_could_not_be_written)
{
    struct rlimit limit;

    new_cache();
    store("first");
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    limit.rlim_cur = 5;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK(cache_store("kept", "second", "0123456789", 10, NULL) < 0);
    CHECK_EQ(access(in_cache("kept/second"), F_OK), -1);
    CHECK(loads("first"));
}

TEST(cache_counts_reading_as_use)
{
    char name[8], path[32];

    new_cache();
    for (int i = 0; i < 2; i++) {
        struct timespec when[2] = { { i ? 1000 : 5000, 0 }, { i ? 2000 : 1000, 0 } };

        snprintf(name, sizeof name, "%d", i);
        snprintf(path, sizeof path, "kept/%d", i);
        store(name);
        CHECK_EQ(utimensat(AT_FDCWD, in_cache(path), when, 0), 0);
    }
    CHECK_EQ(cache_trim("kept", 10), 1);
    CHECK(!loads("1")); /* the least recently read */
}

TEST(cache_directory_follows_the_environment)
{
    char path[160], want[160], home[96], xdg[96];

    snprintf(home, sizeof home, "%s", test_dir());
    snprintf(xdg, sizeof xdg, "%s", test_dir());
    unsetenv("FATHOM_CACHE");
    setenv("XDG_CACHE_HOME", xdg, 1);
    setenv("HOME", home, 1);
    cache_dir(path, sizeof path, "unwind");
    snprintf(want, sizeof want, "%s/fathom/unwind", xdg);
    CHECK_STR(path, want);
    setenv("FATHOM_CACHE", "", 1);
    cache_dir(path, sizeof path, "unwind");
    CHECK_STR(path, want);
    setenv("FATHOM_CACHE", "/own", 1);
    cache_dir(path, sizeof path, "");
    CHECK_STR(path, "/own");
    unsetenv("FATHOM_CACHE");
    setenv("XDG_CACHE_HOME", "", 1);
    cache_dir(path, sizeof path, "x");
    snprintf(want, sizeof want, "%s/.cache/fathom/x", home);
    CHECK_STR(path, want);
    setenv("FATHOM_CACHE", "/1234567", 1);
    cache_dir(path, 8, "");
    CHECK_STR(path, ""); /* no room for the NUL */
    cache_dir(path, 9, "");
    CHECK_STR(path, "/1234567");
}

TEST(cache_under_sudo_is_in_the_home_of_the_effective_user)
{
    char path[512], want[512], home[96];

    need_root();
    snprintf(home, sizeof home, "%s", test_dir());
    CHECK_EQ(chown(home, NOBODY, 0), 0);
    unsetenv("FATHOM_CACHE");
    setenv("XDG_CACHE_HOME", home, 1);
    setenv("HOME", home, 1);
    cache_dir(path, sizeof path, "x");
    snprintf(want, sizeof want, "%s/.cache/fathom/x", getpwuid(0)->pw_dir);
    CHECK_STR(path, want);
}
