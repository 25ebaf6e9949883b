/* tgt_load.c - see tgt_load.h.  SPDX-License-Identifier: Apache-2.0 */
#include "target/tgt_load.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "target/tgt_guard.h"

enum { STEP = 4096, PIECES = 32 }; /* the smallest page size */

/* The kernel reports complete pieces only, so no piece crosses a page boundary. */
static size_t load_pieces(unsigned char *to, uint64_t from, size_t n)
{
    struct iovec local = { to, 0 }, remote[PIECES];
    size_t pieces = 0;
    long got;

    while (pieces < PIECES && local.iov_len < n) {
        uint64_t at = from + local.iov_len;
        size_t room = STEP - at % STEP, left = n - local.iov_len;

        remote[pieces++] = (struct iovec){ (void *)(uintptr_t)at, room < left ? room : left };
        local.iov_len += room < left ? room : left;
    }
    got = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &local, 1, remote, pieces, 0);
    return got > 0 ? (size_t)got : 0;
}

size_t tgt_load(void *to, uint64_t from, size_t n)
{
    size_t done = 0;
    TGT_KEEP_ERRNO();

    if (n > UINT64_MAX - from)
        n = UINT64_MAX - from;
    while (done < n) {
        size_t got = load_pieces((unsigned char *)to + done, from + done, n - done);

        done += got;
        if (got == 0)
            break;
    }
    return done;
}

/* Copy word by word: a sanitizer's memcpy rejects parts of a stack. */
__attribute__((no_sanitize("address", "thread"))) size_t
tgt_load_within(void *to, uint64_t from, size_t n, uint64_t low, uint64_t high)
{
    const volatile unsigned char *p = (const volatile unsigned char *)(uintptr_t)from;
    unsigned char *out = to;
    size_t done = 0;

    if (from < low || from >= high)
        return 0;
    if (n > high - from)
        n = (size_t)(high - from);
    for (; (from + done) % 8 != 0 && done < n; done++)
        out[done] = p[done];
    for (; done + 8 <= n; done += 8) {
        uint64_t word = *(const volatile uint64_t *)(p + done);

        __builtin_memcpy(out + done, &word, 8);
    }
    for (; done < n; done++)
        out[done] = p[done];
    return done;
}

/* rt_sigprocmask reads the mask before it rejects the first argument. */
static bool can_read(uint64_t at)
{
    uint64_t word = at / sizeof word * sizeof word;

    if (!word) /* NULL: no mask to read */
        return false;
    return syscall(SYS_rt_sigprocmask, -1, (void *)(uintptr_t)word, NULL, sizeof word) == 0 ||
           errno != EFAULT;
}

size_t tgt_load_probed(void *to, uint64_t from, size_t n)
{
    size_t done = 0;
    TGT_KEEP_ERRNO();

    if (n > UINT64_MAX - from)
        n = UINT64_MAX - from;
    while (done < n && can_read(from + done)) {
        uint64_t at = from + done;
        size_t room = STEP - at % STEP, left = n - done;

        done += tgt_load_within((unsigned char *)to + done, at, left, at,
                                at + (room < left ? room : left));
    }
    return done;
}
