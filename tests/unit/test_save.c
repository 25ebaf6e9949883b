/* test_save.c - atomic replacement of files.  SPDX-License-Identifier: Apache-2.0 */
#include "base/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "test.h"

static char folder[] = "/tmp/fathom-save-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static unsigned at;

    if (strstr(folder, "XXXXXX"))
        CHECK(mkdtemp(folder) != NULL);
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", folder, name);
    return path[at];
}

/* Write TEXT to PATH; returns the result of save_close. */
static int save_text(const char *path, const char *text, mode_t mode, bool good)
{
    struct save s;

    CHECK_EQ(save_open(&s, path, mode), 0);
    CHECK_EQ(save_write(s.fd, text, strlen(text)), 0);
    return save_close(&s, good);
}

static const char *text_of(const char *path)
{
    static char text[64];

    map_read_text(path, text, sizeof text);
    return text;
}

static unsigned mode_of(const char *path)
{
    struct stat st = { 0 };

    lstat(path, &st);
    return st.st_mode & 07777;
}

/* Count the files in the directory, then remove it with its contents. */
static int clean_up(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    for (struct dirent *it; (it = readdir(d));)
        n += it->d_name[0] != '.' && unlinkat(dirfd(d), it->d_name, 0) == 0;
    closedir(d);
    CHECK_EQ(rmdir(folder), 0);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return n;
}

TEST(save_replaces_a_file_only_on_success)
{
    const char *path = in_folder("file");
    struct save s;

    CHECK_EQ(save_text(path, "old", SAVE_SHARED, true), 0);
    CHECK_EQ(save_text(path, "half", SAVE_SHARED, false), 0);
    CHECK_STR(text_of(path), "old");
    CHECK_EQ(save_open(&s, path, SAVE_SHARED), 0);
    CHECK_EQ(save_write(s.fd, "new", 3), 0);
    CHECK_STR(text_of(path), "old");
    CHECK_EQ(save_close(&s, true), 0);
    CHECK_STR(text_of(path), "new");
    CHECK_EQ(clean_up(), 1);
}

TEST(save_makes_private_files_readable_by_their_owner_only)
{
    const char *path = in_folder("file");
    mode_t mask = umask(022);

    save_text(path, "x", SAVE_SHARED, true);
    CHECK_EQ(mode_of(path), 0644);
    save_text(path, "x", SAVE_PRIVATE, true);
    CHECK_EQ(mode_of(path), 0600);
    umask(mask);
    clean_up();
}

TEST(save_writes_through_links_and_never_replaces_them)
{
    const char *path = in_folder("file"), *link = in_folder("link");

    save_text(path, "old", SAVE_SHARED, true);
    CHECK_EQ(symlink("file", link), 0);
    CHECK_EQ(save_text(link, "new", SAVE_SHARED, true), 0);
    CHECK_STR(text_of(path), "new");
    CHECK_EQ(save_text(link, "half", SAVE_SHARED, false), 0);
    CHECK(readlink(link, (char[8]){ 0 }, 8) == 4);
    CHECK_EQ(clean_up(), 2);
}

TEST(save_leaves_a_fifo_in_place)
{
    const char *path = in_folder("fifo");
    char got[4] = "";
    struct stat st;
    int in;

    CHECK_EQ(mkfifo(path, 0600), 0);
    in = open(path, O_RDONLY | O_NONBLOCK);
    CHECK_EQ(save_text(path, "abc", SAVE_SHARED, true), 0);
    CHECK_EQ(read(in, got, 3), 3);
    CHECK_STR(got, "abc");
    close(in);
    CHECK(lstat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    CHECK_EQ(clean_up(), 1);
}

static int names(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    for (struct dirent *it; (it = readdir(d));)
        n += strcmp(it->d_name, ".") != 0 && strcmp(it->d_name, "..") != 0;
    closedir(d);
    return n;
}

TEST(save_leaves_nothing_behind_when_the_process_is_killed)
{
    const char *path = in_folder("file");
    struct save a, b;

    CHECK(save_open(&a, path, SAVE_SHARED) == 0 && save_open(&b, path, SAVE_SHARED) == 0);
    CHECK_EQ(names(), 0);
    CHECK_EQ(save_write(a.fd, "a", 1), 0);
    CHECK_EQ(save_write(b.fd, "b", 1), 0);
    CHECK(save_close(&a, false) == 0 && save_close(&b, true) == 0);
    CHECK_STR(text_of(path), "b");
    CHECK_EQ(names(), 1);
    CHECK_EQ(clean_up(), 1);
}

/* Without /proc, an unnamed file could not get a name. */
static int save_without_proc(void)
{
    struct save a, b;

    if (chroot(folder) < 0 || chdir("/") < 0)
        return 77;
    if (save_open(&a, "/file", SAVE_PRIVATE) < 0 || save_open(&b, "file", SAVE_PRIVATE) < 0)
        return 1;
    if (!a.temporary[0] || strcmp(a.temporary, b.temporary) == 0 ||
        access(a.temporary, F_OK) < 0)
        return 2;
    if (save_write(a.fd, "a", 1) < 0 || save_close(&a, true) < 0 || save_close(&b, false) < 0)
        return 3;
    if (save_open(&a, "other", SAVE_PRIVATE) < 0 || close(a.fd) < 0 || save_close(&a, true) == 0)
        return 4; /* what cannot be closed does not get its name */
    return access("other", F_OK) == 0 ? 5 : 0;
}

TEST(save_works_on_file_systems_without_unnamed_files)
{
    const char *path = in_folder("file");
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(save_without_proc());
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == 77) {
        clean_up();
        test_skip("chroot is not permitted");
    }
    CHECK_EQ(status, 0);
    CHECK_STR(text_of(path), "a");
    CHECK_EQ(mode_of(path), 0600);
    CHECK_EQ(names(), 1);
    CHECK_EQ(clean_up(), 1);
}

TEST(save_gives_a_file_its_name_before_it_is_written)
{
    const char *path = in_folder("file");
    struct save s;
    int fd;

    save_text(path, "old", SAVE_SHARED, true);
    CHECK_EQ(save_open_new(&s, path, SAVE_PRIVATE), 0);
    fd = save_keep(&s);
    CHECK(fd >= 0);
    CHECK_STR(text_of(path), "");
    CHECK_EQ(save_write(fd, "new", 3), 0);
    CHECK_STR(text_of(path), "new");
    close(fd);
    CHECK_EQ(save_open_new(&s, "/dev/null", SAVE_PRIVATE), -1);
    CHECK_EQ(errno, EEXIST);
    CHECK_EQ(clean_up(), 1);
}

TEST(save_keeps_what_is_written_directly)
{
    const char *path = in_folder("fifo");
    char got[4] = "";
    struct save s;
    int in, fd;

    CHECK_EQ(mkfifo(path, 0600), 0);
    in = open(path, O_RDONLY | O_NONBLOCK);
    CHECK_EQ(save_open(&s, path, SAVE_SHARED), 0);
    fd = save_keep(&s);
    CHECK_EQ(save_write(fd, "abc", 3), 0);
    CHECK_EQ(read(in, got, 3), 3);
    CHECK_STR(got, "abc");
    close(in);
    close(fd);
    CHECK_EQ(clean_up(), 1);
}

TEST(save_lets_signals_through_again)
{
    const char *path = in_folder("file");
    sigset_t blocked;

    CHECK_EQ(save_text(path, "x", SAVE_SHARED, true), 0);
    CHECK_EQ(sigprocmask(SIG_SETMASK, NULL, &blocked), 0);
    CHECK(!sigismember(&blocked, SIGTERM) && !sigismember(&blocked, SIGINT));
    CHECK_EQ(clean_up(), 1);
}

TEST(save_replaces_a_hard_link_but_not_what_it_shares)
{
    const char *path = in_folder("file"), *other = in_folder("other");

    save_text(other, "precious", SAVE_SHARED, true);
    CHECK_EQ(link(other, path), 0);
    CHECK_EQ(save_text(path, "new", SAVE_SHARED, true), 0);
    CHECK_STR(text_of(other), "precious");
    CHECK_STR(text_of(path), "new");
    CHECK_EQ(clean_up(), 2);
}

TEST(save_follows_links_to_their_end)
{
    const char *link = in_folder("link"), *there = in_folder("there"), *loop = in_folder("loop");
    char path[300];
    struct save s;

    CHECK_EQ(mkdir(there, 0700), 0);
    CHECK_EQ(symlink("there/./file", link), 0); /* to a file that does not exist yet */
    CHECK_EQ(save_text(link, "one", SAVE_SHARED, true), 0);
    snprintf(path, sizeof path, "%s/file", there);
    CHECK_STR(text_of(path), "one");
    CHECK_EQ(unlink(link), 0);
    CHECK_EQ(symlink(path, link), 0); /* absolute */
    CHECK_EQ(save_text(link, "two", SAVE_SHARED, true), 0);
    CHECK_STR(text_of(path), "two");
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(rmdir(there), 0);
    CHECK_EQ(symlink("loop", loop), 0);
    CHECK_EQ(save_open(&s, loop, SAVE_SHARED), -1);
    CHECK_EQ(errno, ELOOP);
    CHECK_EQ(clean_up(), 2);
}

TEST(save_writes_to_an_open_descriptor_by_its_path)
{
    const char *path = in_folder("file");
    char name[64];
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    CHECK_EQ(save_text(name, "text", SAVE_SHARED, true), 0);
    CHECK_STR(text_of(path), "text");
    CHECK_EQ(save_text(name, "new", SAVE_SHARED, true), 0); /* shorter */
    CHECK_STR(text_of(path), "new");
    snprintf(name, sizeof name, "/proc/self/cwd/./no-such-folder/%d", fd);
    CHECK_EQ(save_open(&(struct save){ 0 }, name, SAVE_SHARED), -1);
    CHECK_EQ(errno, ENOENT);
    close(fd);
    CHECK_EQ(clean_up(), 1);
}

TEST(save_refuses_paths_that_are_directories)
{
    static const char *const paths[] = { "/tmp", "/tmp/", "/", ".", "..", "/tmp/." };
    struct save s;

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        CHECK_EQ(save_open(&s, paths[i], SAVE_SHARED), -1);
        CHECK_EQ(errno, EISDIR);
    }
    CHECK_EQ(save_open(&s, "", SAVE_SHARED), -1);
    CHECK_EQ(errno, ENOENT);
    CHECK_EQ(save_open(&s, "/dev/null/x", SAVE_SHARED), -1);
    CHECK_EQ(errno, ENOTDIR);
}

/* A folder like /tmp, in which another user has put the thing PATH. */
static void plant(const char *path)
{
    if (geteuid() != 0)
        test_skip("not root: nothing can belong to another user");
    CHECK_EQ(chmod(folder, 01777), 0);
    CHECK_EQ(lchown(path, 65534, 65534), 0);
}

static void check_refused(const char *path)
{
    struct save s;

    CHECK_EQ(save_open(&s, path, SAVE_SHARED), -1);
    CHECK_EQ(errno, EACCES);
    CHECK(s.at.foreign);
}

TEST(save_refuses_what_another_user_has_put_in_a_shared_folder)
{
    const char *victim = in_folder("victim"), *link = in_folder("link"), *fifo = in_folder("fifo");
    char through[300];
    struct stat st;
    struct save s;

    save_text(victim, "precious", SAVE_PRIVATE, true);
    CHECK_EQ(symlink("victim", link), 0);
    CHECK_EQ(mkfifo(fifo, 0666), 0);
    plant(fifo);
    plant(link);
    check_refused(link);
    check_refused(fifo);
    CHECK_EQ(unlink(link), 0);
    CHECK_EQ(symlink(".", link), 0); /* as a directory on the way */
    plant(link);
    snprintf(through, sizeof through, "%s/victim", link);
    check_refused(through);
    CHECK_STR(text_of(victim), "precious");
    CHECK_EQ(chmod(folder, 0777), 0); /* as the kernel: only in sticky folders */
    CHECK_EQ(save_text(through, "new", SAVE_PRIVATE, true), 0);
    CHECK_EQ(chmod(folder, 01777), 0);
    CHECK_EQ(lchown(folder, 65534, 65534), 0); /* the owner of the folder is trusted */
    CHECK_EQ(save_text(through, "newer", SAVE_PRIVATE, true), 0);
    CHECK_STR(text_of(victim), "newer");
    CHECK_EQ(lchown(folder, 0, 0), 0);
    CHECK_EQ(lchown(link, 0, 0), 0); /* our own */
    CHECK_EQ(save_open(&s, through, SAVE_PRIVATE), 0);
    CHECK_EQ(save_close(&s, false), 0);
    plant(victim); /* a file is replaced, whoever owns it */
    CHECK_EQ(save_text(victim, "ours", SAVE_PRIVATE, true), 0);
    CHECK(lstat(victim, &st) == 0 && st.st_uid == 0);
    CHECK_EQ(clean_up(), 3);
}

TEST(save_fails_when_the_file_cannot_take_its_name)
{
    const char *path = in_folder("file");
    struct save s;

    CHECK_EQ(save_open(&s, path, SAVE_SHARED), 0);
    CHECK_EQ(mkdir(path, 0700), 0); /* meanwhile the name is that of a directory */
    CHECK_EQ(save_close(&s, true), -1);
    CHECK_EQ(errno, EISDIR);
    CHECK_EQ(rmdir(path), 0);
    CHECK_EQ(clean_up(), 0);
}

TEST(save_writes_everything_or_fails)
{
    static char bytes[1 << 20];
    int ends[2];

    CHECK_EQ(pipe2(ends, O_NONBLOCK), 0); /* accepts a part of it */
    CHECK_EQ(save_write(ends[1], bytes, sizeof bytes), -1);
    CHECK_EQ(errno, EAGAIN);
    close(ends[0]);
    close(ends[1]);
}

TEST(save_reports_why_it_cannot_write)
{
    struct save s;

    CHECK_EQ(save_open(&s, "/no-such-folder/file", SAVE_SHARED), -1);
    CHECK_EQ(save_write(-1, "x", 1), -1);
}

/* --- writes that take several system calls --- */

static void on_interrupt(int number)
{
    (void)number;
}

static void until_asleep(pid_t pid)
{
    char path[64], text[256], *state;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    do {
        map_read_text(path, text, sizeof text);
        state = strrchr(text, ')');
    } while (!state || state[2] != 'S');
}

/* Interrupt the writer when it has filled the pipe, and again before it can write more. */
static int read_interrupted(pid_t writer, int fd, const unsigned char *want, int size)
{
    static unsigned char got[1 << 18];
    int n = 0;
    ssize_t part;

    for (int i = 0; i < 2; i++) {
        until_asleep(writer);
        kill(writer, SIGUSR1);
    }
    until_asleep(writer);
    while (n < size && (part = read(fd, got + n, (size_t)(size - n))) > 0)
        n += (int)part;
    return n != size || memcmp(got, want, (size_t)size) != 0;
}

TEST(save_writes_the_rest_after_a_signal)
{
    static unsigned char bytes[1 << 18];
    const struct sigaction interrupt = { .sa_handler = on_interrupt }; /* without SA_RESTART */
    int ends[2], status;
    pid_t writer = getpid(), pid;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 24);
    CHECK(pipe(ends) == 0 && sigaction(SIGUSR1, &interrupt, NULL) == 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() != writer || close(ends[1]) < 0 ||
              read_interrupted(writer, ends[0], bytes, sizeof bytes));
    }
    CHECK_EQ(save_write(ends[1], bytes, sizeof bytes), 0);
    close(ends[1]);
    while (waitpid(pid, &status, 0) < 0)
        CHECK_EQ(errno, EINTR);
    CHECK_EQ(status, 0);
    close(ends[0]);
}

/* --- names and places that do not work --- */

TEST(save_refuses_names_and_paths_that_are_too_long)
{
    const char *link = in_folder("link");
    char path[PATH_MAX + 1] = "", name[NAME_MAX + 2] = "", text[4000] = "";
    struct save s;
    int fd;

    memset(name, 'x', NAME_MAX + 1);
    fd = open(folder, O_RDONLY | O_DIRECTORY);
    CHECK_EQ(save_open_in(&s, fd, name, SAVE_PRIVATE), -1);
    CHECK_EQ(errno, ENAMETOOLONG);
    close(fd);
    for (int i = 0; i < PATH_MAX - 2; i += 2)
        memcpy(path + i, "./", 2);
    memcpy(path + PATH_MAX - 2, "xy", 2);
    CHECK_EQ(save_open(&s, path, SAVE_PRIVATE), -1);
    CHECK_EQ(errno, ENAMETOOLONG);
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "./", 2);
    CHECK_EQ(symlink(text, link), 0);
    snprintf(path, sizeof path, "%s/%.300s/xy", link, text);
    CHECK_EQ(save_open(&s, path, SAVE_PRIVATE), -1);
    CHECK_EQ(errno, ENAMETOOLONG);
    CHECK_EQ(clean_up(), 1);
}

TEST(save_keeps_no_folder_open_after_a_failure)
{
    struct save s;

    CHECK_EQ(save_open(&s, "/proc/self/no-such-file", SAVE_PRIVATE), -1);
    CHECK_EQ(s.at.folder, -1);
}

TEST(save_keeps_no_file_open_that_cannot_take_its_name)
{
    const char *path = in_folder("file");
    struct save s;
    int fd;

    CHECK_EQ(save_open(&s, path, SAVE_SHARED), 0);
    fd = s.fd;
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK_EQ(save_keep(&s), -1);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
    CHECK_EQ(rmdir(path), 0);
    CHECK_EQ(clean_up(), 0);
}

TEST(save_reports_that_a_file_cannot_be_closed)
{
    struct save s;

    CHECK_EQ(save_open(&s, "/dev/null", SAVE_SHARED), 0);
    CHECK(s.direct);
    close(s.fd);
    CHECK_EQ(save_close(&s, true), -1);
    CHECK_EQ(errno, EBADF);
}

TEST(place_does_not_open_what_was_exchanged_meanwhile)
{
    const char *path = in_folder("fifo"), *other = in_folder("other");
    struct place p;
    int folder_fd;

    CHECK(mkfifo(path, 0600) == 0 && mkfifo(other, 0600) == 0);
    CHECK_EQ(place_find(&p, path), 0);
    folder_fd = p.folder;
    CHECK_EQ(rename(other, path), 0);
    CHECK_EQ(place_open(&p, O_RDWR), -1);
    CHECK_EQ(errno, EACCES);
    save_text(other, "precious", SAVE_PRIVATE, true);
    CHECK(unlink(path) == 0 && symlink("other", path) == 0);
    CHECK_EQ(place_open(&p, O_WRONLY | O_TRUNC), -1);
    CHECK_STR(text_of(other), "precious");
    place_close(&p);
    CHECK_EQ(fcntl(folder_fd, F_GETFD), -1); /* it was the folder's */
    CHECK_EQ(clean_up(), 2);
}
