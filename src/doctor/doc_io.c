/* doc_io.c - bytes that go through the kernel: pipes, sockets, files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/clock.h"
#include "base/map.h"
#include "doctor/doc_measure.h"
#include "doctor/doc_pingpong.h"

double doc_io_pipe(char *note)
{
    snprintf(note, DOC_NOTE, "round trip of one byte between two threads");
    return doc_pingpong_pipes(3000, false);
}

/* Two ends of a TCP connection over 127.0.0.1; -1 if there is no network. */
static int loopback_pair(int end[2])
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof a;
    int one = 1, listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    end[0] = end[1] = -1;
    if (listening >= 0 && bind(listening, (struct sockaddr *)&a, sizeof a) == 0 &&
        listen(listening, 1) == 0 && getsockname(listening, (struct sockaddr *)&a, &n) == 0) {
        end[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (end[0] >= 0 && connect(end[0], (struct sockaddr *)&a, sizeof a) == 0)
            end[1] = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    }
    if (listening >= 0)
        close(listening);
    if (end[1] < 0)
        return -1;
    setsockopt(end[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(end[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return 0;
}

double doc_io_loopback(char *note)
{
    int end[2];
    double ns = NAN;

    if (loopback_pair(end) == 0) {
        snprintf(note, DOC_NOTE, "round trip of one byte between two threads");
        ns = doc_pingpong(end[0], end[0], end[1], end[1], 2000, false);
    } else {
        snprintf(note, DOC_NOTE, "no loopback network");
    }
    for (int i = 0; i < 2; i++)
        if (end[i] >= 0)
            close(end[i]);
    return ns;
}

enum { FILE_BYTES = 8 << 20, BLOCK = 4096 };

/* A file without a name: in the cache directory, because /tmp is often not on a disk. */
static int open_scratch(void)
{
    int folder = cache_open("doctor", NULL);
    int fd = openat(folder < 0 ? AT_FDCWD : folder, folder < 0 ? "/tmp" : ".",
                    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (folder >= 0)
        close(folder);
    return fd;
}

static int scratch_file(void)
{
    char *block = mem_zalloc(1 << 20);
    int fd = open_scratch();

    if (fd >= 0) {
        for (size_t i = 0; i < FILE_BYTES; i += 1 << 20)
            if (write(fd, block, 1 << 20) != 1 << 20)
                break;
        fsync(fd);
    }
    free(block);
    return fd;
}

static double read_blocks(int fd, int n, char *block)
{
    uint64_t seed = 88172645463325252u, start = clock_mono_ns();

    for (int i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (pread(fd, block, BLOCK, (off_t)((seed >> 33) % (FILE_BYTES / BLOCK) * BLOCK)) != BLOCK)
            return NAN;
    }
    return (double)(clock_mono_ns() - start) / n;
}

static double read_file(char *note, bool direct)
{
    char *block = NULL, link[64];
    int fd = scratch_file(), again = -1;
    double ns = NAN;

    if (fd < 0 || posix_memalign((void **)&block, BLOCK, BLOCK) != 0) {
        snprintf(note, DOC_NOTE, "cannot create a file in the cache directory");
    } else if (!direct) {
        ns = read_blocks(fd, 5000, block);
        snprintf(note, DOC_NOTE, "pread from the page cache");
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        again = open(link, O_RDONLY | O_DIRECT | O_CLOEXEC);
        ns = again < 0 ? NAN : read_blocks(again, 200, block);
        snprintf(note, DOC_NOTE, "%s", isfinite(ns) ? "O_DIRECT at random offsets"
                                                    : "the file system does not support O_DIRECT");
    }
    free(block);
    if (again >= 0)
        close(again);
    if (fd >= 0)
        close(fd);
    return ns;
}

double doc_io_cached(char *note)
{
    return read_file(note, false);
}

double doc_io_direct(char *note)
{
    return read_file(note, true);
}
