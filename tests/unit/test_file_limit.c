/* test_file_limit.c - SIGXFSZ stays the program's.  SPDX-License-Identifier: Apache-2.0 */
#include "base/file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/save.h"
#include "test.h"

static volatile sig_atomic_t received;

static void count(int signal)
{
    (void)signal;
    received++;
}

/* A file that cannot be extended. */
static int full_file(void)
{
    const struct rlimit most = { 10, 10 };
    int fd = open(test_file("0123456789", 10), O_WRONLY | O_APPEND | O_CLOEXEC);

    CHECK(fd >= 0);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &most), 0);
    signal(SIGXFSZ, count);
    return fd;
}

static void set_blocked(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    CHECK_EQ(sigprocmask(how, &set, NULL), 0);
}

static bool is_blocked(void)
{
    sigset_t set;

    CHECK_EQ(sigprocmask(SIG_BLOCK, NULL, &set), 0);
    return sigismember(&set, SIGXFSZ) == 1;
}

TEST(file_limit_makes_a_write_fail_without_a_signal)
{
    int fd = full_file();

    CHECK_EQ(write(fd, "x", 1), -1);
    CHECK_EQ(received, 1); /* the kernel sends one here */
    CHECK_EQ(save_write(fd, "x", 1), -1);
    CHECK_EQ(errno, EFBIG);
    CHECK_EQ(received, 1);
    CHECK(!is_blocked());
    CHECK_EQ(raise(SIGXFSZ), 0); /* those of the program arrive */
    CHECK_EQ(received, 2);
}

TEST(file_limit_keeps_a_signal_that_the_program_blocks)
{
    int fd = full_file();

    set_blocked(SIG_BLOCK);
    CHECK_EQ(save_write(fd, "x", 1), -1);
    CHECK(is_blocked());
    set_blocked(SIG_UNBLOCK);
    CHECK_EQ(received, 0); /* ours is gone */
    set_blocked(SIG_BLOCK);
    CHECK_EQ(raise(SIGXFSZ), 0);
    CHECK_EQ(save_write(fd, "x", 1), -1);
    set_blocked(SIG_UNBLOCK);
    CHECK_EQ(received, 1); /* the program's is not */
}
