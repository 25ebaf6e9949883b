/* tgt_load.h - read memory of the program that may not be mapped.  All of it may run in a signal
 * handler; errno is preserved.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_LOAD_H
#define FATHOM_TARGET_TGT_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Copy up to N mapped bytes from FROM.  The kernel copies and stops at the first page that cannot
 * be read.  Returns the number of bytes copied; 0 also if the program's seccomp filter rejects
 * process_vm_readv. */
size_t tgt_load(void *to, uint64_t from, size_t n);

/* tgt_load without a system call, for a program whose filter would kill it.  Copies only from
 * [LOW, HIGH), which must be mapped. */
size_t tgt_load_within(void *to, uint64_t from, size_t n, uint64_t low, uint64_t high);

/* tgt_load where the kernel refuses process_vm_readv.  Asks it for each page whether that can be
 * read, so nobody may unmap it in the meantime: for a stack of the calling thread. */
size_t tgt_load_probed(void *to, uint64_t from, size_t n);

#endif
