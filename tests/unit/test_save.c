/* test_save.c - atomic replacement of files.  SPDX-License-Identifier: Apache-2.0 */
#include "base/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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
    return save_close(&s, path, good);
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
    CHECK_EQ(save_close(&s, path, true), 0);
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

TEST(save_uses_another_temporary_name_each_time)
{
    const char *path = in_folder("file");
    struct save a, b;

    CHECK(save_open(&a, path, SAVE_SHARED) == 0 && save_open(&b, path, SAVE_SHARED) == 0);
    CHECK(strcmp(a.suffix, b.suffix) != 0);
    CHECK(save_close(&a, path, false) == 0 && save_close(&b, path, true) == 0);
    CHECK_EQ(clean_up(), 1);
}

TEST(save_fails_when_the_file_cannot_take_its_name)
{
    const char *path = in_folder("file");
    struct save s;

    CHECK_EQ(save_open(&s, path, SAVE_SHARED), 0);
    CHECK_EQ(mkdir(path, 0700), 0); /* meanwhile the name is that of a directory */
    CHECK_EQ(save_close(&s, path, true), -1);
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
    struct err e = { 0 };

    CHECK_EQ(save_open(&s, "/no-such-folder/file", SAVE_SHARED), -1);
    CHECK_EQ(save_write(-1, "x", 1), -1);
    CHECK_EQ(map_write_file("/proc/no-such-folder/file", "x", 1, &e), -1);
    CHECK(strstr(e.msg, "cannot write /proc/no-such-folder/file") != NULL);
}
