/* col_words.h - words from the memory of another process, which cannot delay us.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_WORDS_H
#define FATHOM_COLLECT_COL_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Read N words of process PID; see perf_host.  A page may come from a file system in user space or
 * from the process itself (userfaultfd), which can wait for ever and let no signal interrupt us.
 * So another thread reads.  If it takes too long, this and all later calls return -1. */
long col_words_read(int64_t pid, const uint64_t *address, size_t n, uint64_t *word);

#endif
