/* file_limit.h - writes beyond the limit on file sizes (ulimit -f) that fail with EFBIG instead of
 * ending the program with SIGXFSZ, whose disposition belongs to the program.
 *
 *     struct file_limit l = file_limit_begin();
 *     int rc = ftruncate(fd, bytes);
 *     file_limit_end(&l);
 *
 * No allocation, and keeps errno: safe in target code.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_FILE_LIMIT_H
#define FATHOM_BASE_FILE_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct file_limit {
    sigset_t old;
    bool was_pending;
};

/* Block the signal, which the kernel sends to the thread that writes. */
struct file_limit file_limit_begin(void);
/* Discard the signal that came meanwhile, and restore the mask. */
void file_limit_end(const struct file_limit *l);

#endif
