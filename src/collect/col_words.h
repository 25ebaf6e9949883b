/* col_words.h - memory of another process, which cannot delay us.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_WORDS_H
#define FATHOM_COLLECT_COL_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { COL_WORDS_BYTES = 64 << 10 };

/* A page may come from a file system in user space or from the process itself (userfaultfd), which
 * can wait for ever and let no signal interrupt us.  So another thread reads.  If it takes too
 * long, this and all later calls fail. */

/* Read N words of process PID; see perf_host. */
long col_words_read(int64_t pid, const uint64_t *address, size_t n, uint64_t *word);
/* Read up to N bytes, at most COL_WORDS_BYTES.  Returns their number; 0: it cannot be read.  *DATA
 * is valid until the next call. */
size_t col_words_bytes(int64_t pid, uint64_t address, size_t n, const unsigned char **data);

#endif
