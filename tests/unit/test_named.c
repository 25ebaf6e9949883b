/* test_named.c - opening files that somebody else named, and files that change while they are read.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/named.h"
#include "test.h"

enum { SOMEBODY = 4321, GROUP = 5432 };

/* The folder of the test, which every user may enter, like the one above it. */
static const char *dir(void)
{
    static char path[256];
    char above[300];

    if (!*path) {
        snprintf(path, sizeof path, "%s", test_dir());
        snprintf(above, sizeof above, "%s/..", path);
        CHECK(chmod(path, 0755) == 0 && chmod(above, 0755) == 0);
    }
    return path;
}

static const char *in_dir(const char *name)
{
    static char path[4][300];
    static int turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof path[0], "%s/%s", dir(), name);
    return p;
}

/* A file in the folder. */
static const char *make(const char *name, const char *text, mode_t mode)
{
    const char *path = in_dir(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(fchmod(fd, mode) == 0 && close(fd) == 0);
    return path;
}

/* The text of the file that is opened so, or the reason why not. */
static const char *text_at(const char *root, const char *path, const struct named_user *user,
                           unsigned how)
{
    static char text[512];
    struct err e = { 0 };
    int fd = named_open(root, path, user, how, &e);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (n >= 0)
        text[n] = 0;
    else
        snprintf(text, sizeof text, "%s", e.msg);
    if (fd >= 0)
        close(fd);
    return text;
}

/* Skip unless files of other users can be made where those users can reach them. */
static void need_root(void)
{
    const char *path = dir();
    int status;
    pid_t pid;

    if (geteuid() != 0)
        test_skip("not root");
    pid = fork();
    if (pid == 0)
        _exit(setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0 || access(path, X_OK) < 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (status)
        test_skip("other users cannot reach the temporary folder");
}

static void own(const char *path, uid_t uid, gid_t gid, mode_t mode)
{
    CHECK(chown(path, uid, gid) == 0 && chmod(path, mode) == 0);
}

TEST(named_open_reads_regular_files_only)
{
    CHECK_STR(text_at(NULL, make("file", "text", 0600), NULL, 0), "text");
    CHECK_STR(text_at("", make("file", "text", 0600), NULL, NAMED_OWNED), "text");
    CHECK(mkfifo(in_dir("fifo"), 0600) == 0); /* opening it would block: there is no writer */
    CHECK_STR(text_at(NULL, in_dir("fifo"), NULL, 0), "it is not a regular file");
    CHECK_STR(text_at(NULL, dir(), NULL, 0), "it is not a regular file");
    CHECK_STR(text_at(NULL, "/dev/null", NULL, 0), "it is not a regular file");
    CHECK_STR(text_at(NULL, "/proc/self/environ", NULL, 0), "it is not a regular file");
    CHECK(strstr(text_at(NULL, in_dir("none"), NULL, 0), "No such file"));
}

TEST(named_open_opens_no_descriptor_of_ours_through_proc)
{
    int fd = open(make("file", "text", 0600), O_RDONLY);
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHECK(strcmp(text_at(NULL, path, NULL, 0), "text") != 0);
    CHECK_STR(text_at(NULL, path, NULL, NAMED_PROC_LINK), "text");
    close(fd);
}

TEST(named_open_does_not_wait_for_a_lease)
{
    int fd = open(make("file", "text", 0600), O_RDWR);

    if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
        test_skip("no lease on this file system");
    signal(SIGIO, SIG_IGN);
    CHECK(strstr(text_at(NULL, in_dir("file"), NULL, 0), strerror(EAGAIN)));
    close(fd);
}

TEST(named_open_does_not_follow_a_link_if_asked)
{
    make("file", "text", 0600);
    CHECK(symlink("file", in_dir("link")) == 0);
    CHECK_STR(text_at(NULL, in_dir("link"), NULL, 0), "text");
    CHECK_STR(text_at(NULL, in_dir("link"), NULL, NAMED_NO_LINK), "it is a symbolic link");
}

TEST(named_open_stays_inside_the_root)
{
    const char *outside = make("outside", "outside", 0600);
    char root[300];

    snprintf(root, sizeof root, "%s", in_dir("root"));
    CHECK(mkdir(root, 0755) == 0);
    make("root/inside", "inside", 0600);
    CHECK(symlink("/inside", in_dir("root/absolute")) == 0);
    CHECK(symlink(outside, in_dir("root/away")) == 0);
    CHECK(symlink("../outside", in_dir("root/up")) == 0);
    CHECK_STR(text_at(root, "/inside", NULL, 0), "inside");
    CHECK_STR(text_at(root, "/../../inside", NULL, 0), "inside");
    CHECK_STR(text_at(root, "/absolute", NULL, 0), "inside");
    CHECK(strstr(text_at(root, "/away", NULL, 0), "No such file"));
    CHECK(strstr(text_at(root, "/up", NULL, 0), "No such file"));
}

TEST(named_open_has_the_permissions_of_the_user)
{
    const struct named_user user = { SOMEBODY, SOMEBODY, (uint32_t[]){ GROUP }, 1, false };

    need_root();
    make("private", "private", 0600);
    make("public", "public", 0604);
    own(make("his", "his", 0600), SOMEBODY, 0, 0600);
    own(make("group", "group", 0600), 0, GROUP, 0640);
    CHECK(mkdir(in_dir("closed"), 0700) == 0);
    make("closed/public", "closed", 0644);
    CHECK(strstr(text_at(NULL, in_dir("private"), &user, 0), "Permission denied"));
    CHECK(strstr(text_at(NULL, in_dir("closed/public"), &user, 0), "Permission denied"));
    CHECK_STR(text_at(NULL, in_dir("public"), &user, 0), "public");
    CHECK_STR(text_at(NULL, in_dir("his"), &user, 0), "his");
    CHECK_STR(text_at(NULL, in_dir("group"), &user, 0), "group");
    CHECK(strstr(text_at(NULL, in_dir("his"), &named_nobody, 0), "Permission denied"));
    CHECK(strstr(text_at(NULL, in_dir("group"), &named_nobody, 0), "Permission denied"));
    CHECK_STR(text_at(NULL, in_dir("private"), NULL, 0), "private"); /* ourselves again */
    CHECK_STR(text_at(NULL, in_dir("private"), &(struct named_user){ 0 }, 0), "private");
}

TEST(named_open_takes_no_groups_of_ours_to_the_user)
{
    const struct named_user user = { .uid = SOMEBODY, .gid = SOMEBODY };
    gid_t group = GROUP, now[2] = { 0 };

    need_root();
    CHECK(setgroups(1, &group) == 0);
    own(make("group", "group", 0600), 0, GROUP, 0640);
    CHECK(strstr(text_at(NULL, in_dir("group"), &user, 0), "Permission denied"));
    CHECK_EQ(getgroups(2, now), 1);
    CHECK_EQ(now[0], GROUP);
}

TEST(named_open_is_refused_for_another_user_without_root)
{
    const struct named_user user = { .uid = SOMEBODY, .gid = SOMEBODY };

    if (geteuid() == 0)
        need_root();
    make("public", "public", 0644);
    CHECK(geteuid() != 0 || setresuid(SOMEBODY + 1, SOMEBODY + 1, SOMEBODY + 1) == 0);
    CHECK(strstr(text_at(NULL, in_dir("public"), &user, 0), "only root can open it for user 4321"));
    CHECK_STR(text_at(NULL, in_dir("public"), NULL, 0), "public");
    CHECK_STR(text_at(NULL, in_dir("public"), &(struct named_user){ .uid = geteuid() }, 0),
              "public");
}

TEST(named_open_believes_files_of_root_ourselves_and_the_user_only)
{
    const struct named_user user = { .uid = SOMEBODY, .gid = SOMEBODY };

    CHECK_STR(text_at(NULL, make("open", "x", 0666), NULL, NAMED_OWNED),
              "every user can write to it");
    need_root();
    own(make("his", "his", 0644), SOMEBODY, SOMEBODY, 0644);
    make("ours", "ours", 0644);
    CHECK_STR(text_at(NULL, in_dir("his"), NULL, NAMED_OWNED), "it belongs to user 4321");
    CHECK_STR(text_at(NULL, in_dir("his"), &named_nobody, NAMED_OWNED), "it belongs to user 4321");
    CHECK_STR(text_at(NULL, in_dir("his"), &user, NAMED_OWNED), "his");
    CHECK_STR(text_at(NULL, in_dir("ours"), &user, NAMED_OWNED), "ours");
    CHECK_STR(text_at(NULL, in_dir("his"), NULL, 0), "his");
}

TEST(named_open_believes_our_own_files_without_root)
{
    need_root();
    make("root's", "root's", 0644);
    own(make("ours", "ours", 0644), SOMEBODY, SOMEBODY, 0644);
    CHECK_EQ(setresuid(SOMEBODY, SOMEBODY, SOMEBODY), 0);
    CHECK_STR(text_at(NULL, in_dir("ours"), NULL, NAMED_OWNED), "ours");
    CHECK_STR(text_at(NULL, in_dir("root's"), NULL, NAMED_OWNED), "root's");
}

static int count_open(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

TEST(named_open_leaves_no_other_descriptor_open)
{
    int before = count_open();

    make("file", "file", 0644);
    CHECK(mkdir(in_dir("folder"), 0700) == 0);
    CHECK_STR(text_at(NULL, in_dir("file"), NULL, 0), "file");
    CHECK_STR(text_at(dir(), "/file", NULL, 0), "file");
    CHECK_STR(text_at(dir(), "/folder", NULL, 0), "it is not a regular file");
    CHECK(strstr(text_at(dir(), "/nothing", NULL, 0), "No such file"));
    CHECK_EQ(count_open(), before);
}

/* As in a sandbox, or on a kernel before 5.6. */
static void forbid_openat2(int errnum)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog program = { .len = sizeof code / sizeof *code, .filter = code };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        test_skip("no filters for system calls");
}

static void check_without_openat2(int errnum)
{
    make("file", "file", 0644);
    forbid_openat2(errnum);
    CHECK_STR(text_at(NULL, in_dir("file"), NULL, 0), "file");
    CHECK(strstr(text_at(dir(), "/file", NULL, 0), "cannot be opened"));
    CHECK(strstr(text_at(dir(), in_dir("file"), NULL, 0), "cannot be opened"));
}

TEST(named_open_opens_nothing_in_another_root_where_a_sandbox_forbids_openat2)
{
    check_without_openat2(EPERM);
}

TEST(named_open_opens_nothing_in_another_root_on_a_kernel_without_openat2)
{
    check_without_openat2(ENOSYS);
}

TEST(named_user_is_the_real_user_of_a_process)
{
    struct named_user u;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    CHECK_EQ(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
    CHECK(named_user_read(pid, &u)); /* ended, but not forgotten */
    CHECK_EQ(u.uid, getuid());
    named_user_release(&u);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK(!named_user_read(pid, &u));
    need_root();
    CHECK(setgroups(2, (gid_t[]){ GROUP, SOMEBODY }) == 0);
    CHECK(setresgid(SOMEBODY, 0, 0) == 0 && setresuid(SOMEBODY, 0, 0) == 0); /* as if setuid root */
    CHECK(named_user_read(getpid(), &u));
    CHECK_EQ(u.uid, SOMEBODY);
    CHECK_EQ(u.gid, SOMEBODY);
    CHECK_EQ(u.n_groups, 2);
    CHECK_EQ(u.group[0] + u.group[1], GROUP + SOMEBODY);
    named_user_release(&u);
}

TEST(named_user_is_the_same_with_the_same_ids_and_groups)
{
    uint32_t one[] = { GROUP, 7 }, other[] = { GROUP, 8 };
    const struct named_user u = { .uid = 1, .gid = 2, .group = one, .n_groups = 2 };
    struct named_user v = u;

    CHECK(named_user_same(&u, &v));
    v.uid++;
    CHECK(!named_user_same(&u, &v));
    v = u;
    v.gid++;
    CHECK(!named_user_same(&u, &v));
    v = u;
    v.n_groups = 1;
    CHECK(!named_user_same(&u, &v) && !named_user_same(&v, &u));
    v = u;
    v.group = other;
    CHECK(!named_user_same(&u, &v));
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct c[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    return (int)syscall(SYS_capset, &h, c);
}

/* As a user who may read everything: for files that somebody named only with the permissions of
 * that user, and as before afterwards. */
static int open_with_capabilities(const char *path)
{
    struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct c[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
    const struct named_user u = { .uid = SOMEBODY, .gid = GROUP };
    int fd;

    c[0].effective = c[0].permitted = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
    if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setgid(GROUP) < 0 || setuid(SOMEBODY) < 0 ||
        syscall(SYS_capset, &h, c) < 0)
        return 77;
    fd = open(path, O_RDONLY);
    if (fd < 0)
        return 77;
    close(fd);
    if (named_open(NULL, path, &u, 0, NULL) >= 0)
        return 1;
    return open(path, O_RDONLY) < 0 ? 2 : 0;
}

TEST(named_open_sets_capabilities_aside_and_returns_them)
{
    const char *path;
    int status;
    pid_t pid;

    need_root();
    path = make("file", "secret", 0600);
    pid = fork();
    if (pid == 0)
        _exit(open_with_capabilities(path));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) == 77)
        test_skip("no capabilities");
    CHECK_EQ(status, 0);
}

TEST(named_open_has_the_limits_of_a_root_without_capabilities)
{
    const struct named_user root = { 0 }, limited = { .is_limited = true };
    struct named_user u;

    need_root();
    own(make("his", "his", 0600), SOMEBODY, SOMEBODY, 0600);
    make("ours", "ours", 0600);
    CHECK_STR(text_at(NULL, in_dir("his"), &root, 0), "his");
    CHECK(strstr(text_at(NULL, in_dir("his"), &limited, 0), "Permission denied"));
    CHECK_STR(text_at(NULL, in_dir("ours"), &limited, 0), "ours");
    CHECK_STR(text_at(NULL, in_dir("his"), NULL, 0), "his"); /* as before */
    CHECK(named_user_read(getpid(), &u) && !u.is_limited);
    named_user_release(&u);
    CHECK_EQ(drop_capabilities(), 0);
    CHECK(named_user_read(getpid(), &u) && u.uid == 0 && u.is_limited);
    named_user_release(&u);
}

/* The kernel shows all of it only to those who had CAP_SYS_ADMIN when they opened it. */
TEST(named_open_uses_no_capability_of_ours)
{
    const struct named_user user = { .uid = SOMEBODY, .gid = SOMEBODY };
    glob_t found = { 0 };
    char bytes[256];
    bool shown = false;

    need_root();
    glob("/sys/bus/pci/devices/*/config", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int ours = named_open(NULL, found.gl_pathv[i], NULL, 0, NULL);
        int his = named_open(NULL, found.gl_pathv[i], &user, 0, NULL);

        shown |= pread(ours, bytes, sizeof bytes, 0) == sizeof bytes;
        CHECK(pread(his, bytes, sizeof bytes, 0) <= 64);
        close(ours);
        close(his);
    }
    globfree(&found);
    if (!shown)
        test_skip("no PCI device shows more to root than to others");
}

TEST(named_user_weaker_is_the_one_who_may_read_less)
{
    const struct named_user limited = { .is_limited = true };
    const struct named_user root = { 0 }, user = { .uid = SOMEBODY }, same = { .uid = SOMEBODY },
                            other = { .uid = SOMEBODY + 1 };

    CHECK(named_user_weaker(&root, &user) == &user);
    CHECK(named_user_weaker(&user, &root) == &user);
    CHECK(named_user_weaker(NULL, &user) == &user);
    CHECK(named_user_weaker(&user, NULL) == &user);
    CHECK(named_user_weaker(&user, &same) == &user);
    CHECK(named_user_weaker(&user, &other) == &named_nobody);
    CHECK(named_user_weaker(&named_nobody, &root) == &named_nobody);
    CHECK(named_user_weaker(&root, &limited) == &limited);
    CHECK(named_user_weaker(&limited, &root) == &limited);
    CHECK(named_user_weaker(&limited, &user) == &named_nobody);
    CHECK(!named_user_same(&root, &limited));
}

/* --- files that change -------------------------------------------------------------------- */

enum { PAGE = 4096 };

static int make_pages(const char *name, size_t n)
{
    int fd = open(in_dir(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
    char page[PAGE];

    memset(page, 'x', sizeof page);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(write(fd, page, sizeof page), PAGE);
    return fd;
}

TEST(map_ends_in_zeros_if_its_owner_truncates_the_file)
{
    int fd = make_pages("file", 4);
    struct map m;

    CHECK_EQ(map_fd(&m, fd, NULL), 0);
    CHECK_EQ(m.room, 0); /* mapped, not copied */
    CHECK(ftruncate(fd, PAGE) == 0);
    CHECK_EQ(m.data[PAGE - 1], 'x');
    CHECK(!map_was_truncated(&m));
    CHECK_EQ(m.data[PAGE], 0);
    CHECK_EQ(m.data[4 * PAGE - 1], 0);
    CHECK(map_was_truncated(&m));
    map_close(&m);
    close(fd);
}

TEST(map_for_writing_stays_writable_if_its_owner_truncates_the_file)
{
    int fd = make_pages("file", 2);
    struct map m;

    CHECK_EQ(map_file(&m, fd, true, NULL), 0);
    CHECK(ftruncate(fd, 0) == 0);
    ((unsigned char *)(uintptr_t)m.data)[PAGE] = 'y';
    CHECK_EQ(m.data[PAGE], 'y');
    map_close(&m);
    close(fd);
}

TEST(guard_leaves_other_missing_pages_to_the_system)
{
    int fd = make_pages("file", 2), status;
    pid_t pid = fork();

    if (pid == 0) {
        struct map m;
        const struct rlimit none = { 0, 0 };
        const volatile char *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

        setrlimit(RLIMIT_CORE, &none);
        if (map_fd(&m, fd, NULL) < 0 || ftruncate(fd, 0) < 0 || m.data[0] != 0)
            _exit(1);
        _exit(2 + p[0]);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) > 2); /* a sanitizer exits instead */
    if (WIFSIGNALED(status))
        CHECK_EQ(WTERMSIG(status), SIGBUS);
    close(fd);
}

/* Return the wait status of a process that a SIGBUS of kill reaches. */
static int killed_while_mapped(int fd)
{
    const struct rlimit none = { 0, 0 };
    struct map m;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &none);
        if (map_fd(&m, fd, NULL) == 0)
            kill(getpid(), SIGBUS);
        _exit(1);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(guard_leaves_signals_of_other_processes_to_the_system)
{
    int fd = make_pages("file", 1), status = killed_while_mapped(fd);

    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) > 1); /* a sanitizer exits instead */
    if (WIFSIGNALED(status))
        CHECK_EQ(WTERMSIG(status), SIGBUS);
    close(fd);
}

TEST(guard_of_a_new_mapping_was_not_hit)
{
    int fd = make_pages("file", 1);
    struct map m;

    CHECK_EQ(map_fd(&m, fd, NULL), 0);
    CHECK_EQ(ftruncate(fd, 0), 0);
    CHECK_EQ(m.data[0], 0);
    CHECK(guard_was_hit(m.data));
    guard_remove(m.data);
    CHECK(!guard_was_hit(m.data));
    CHECK(guard_add(m.data, PAGE));
    CHECK(!guard_was_hit(m.data));
    map_close(&m);
    close(fd);
}

TEST(guard_makes_room_when_a_mapping_is_closed)
{
    int fd = make_pages("file", 1);
    struct map m[1100] = { 0 };

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(m); i++)
            CHECK_EQ(map_fd(&m[i], fd, NULL), 0);
        CHECK_EQ(m[0].room, 0);
        CHECK_EQ(m[ARRAY_LEN(m) - 1].room, PAGE); /* no guard is left: copied */
        CHECK_EQ(m[ARRAY_LEN(m) - 1].data[PAGE - 1], 'x');
        for (size_t i = 0; i < ARRAY_LEN(m); i++)
            map_close(&m[i]);
    }
    close(fd);
}

TEST(map_copy_stays_as_it_was)
{
    int fd = make_pages("file", 3);
    struct map m;
    struct err e = { 0 };

    CHECK_EQ(map_copy(&m, fd, 2 * PAGE, &e), -1);
    CHECK(strstr(e.msg, "too large"));
    CHECK_EQ(map_copy(&m, fd, 3 * PAGE, NULL), 0);
    CHECK(pwrite(fd, "y", 1, 0) == 1 && ftruncate(fd, PAGE) == 0);
    CHECK_EQ(m.size, 3 * PAGE);
    CHECK_EQ(m.data[0], 'x');
    CHECK_EQ(m.data[3 * PAGE - 1], 'x');
    map_close(&m);
    close(fd);
}

TEST(map_copy_keeps_holes)
{
    int fd = make_pages("file", 1);
    struct map m;

    CHECK(ftruncate(fd, 64 << 20) == 0 && pwrite(fd, "y", 1, 32 << 20) == 1);
    CHECK_EQ(map_copy(&m, fd, UINT64_MAX, NULL), 0);
    CHECK_EQ(m.size, 64 << 20);
    CHECK_EQ(m.data[PAGE - 1], 'x');
    CHECK_EQ(m.data[PAGE], 0);
    CHECK_EQ(m.data[32 << 20], 'y');
    CHECK_EQ(m.data[(64 << 20) - 1], 0);
    map_close(&m);
    close(fd);
}

TEST(map_copies_what_other_users_can_change)
{
    static const struct {
        uid_t uid;
        gid_t gid;
        mode_t mode;
        bool copied;
    } files[] = { { 0, 0, 0644, false }, { 0, 0, 0664, false }, { 0, GROUP, 0664, true },
                  { 0, GROUP, 0644, false }, { 0, 0, 0646, true }, { SOMEBODY, 0, 0644, true } };

    need_root();
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        int fd = make_pages("file", 2);
        struct map m;

        own(in_dir("file"), files[i].uid, files[i].gid, files[i].mode);
        CHECK_EQ(map_fd(&m, fd, NULL), 0);
        CHECK_EQ(m.room, files[i].copied ? 2 * PAGE : 0);
        CHECK_EQ(m.size, 2 * PAGE);
        CHECK_EQ(m.data[2 * PAGE - 1], 'x');
        map_close(&m);
        close(fd);
    }
}

TEST(map_copies_are_bounded_together)
{
    int fd = open(in_dir("file"), O_RDWR | O_CREAT, 0600);
    struct map m[3] = { 0 };
    struct err e = { 0 };

    CHECK(ftruncate(fd, 1 << 30) == 0);
    CHECK_EQ(map_copy(&m[0], fd, UINT64_MAX, NULL), 0);
    CHECK_EQ(map_copy(&m[1], fd, UINT64_MAX, NULL), 0);
    CHECK_EQ(map_copy(&m[2], fd, UINT64_MAX, &e), -1);
    CHECK(strstr(e.msg, "too large"));
    map_close(&m[0]);
    CHECK_EQ(map_copy(&m[2], fd, UINT64_MAX, NULL), 0);
    map_close(&m[1]);
    map_close(&m[2]);
    close(fd);
}
