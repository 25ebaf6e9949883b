/* tgt_load.h - reading memory of the program that may not be there.
 * All of it may run in a signal handler; errno is kept.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TARGET_TGT_LOAD_H
#define FATHOM_TARGET_TGT_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* Up to N bytes from FROM on, whatever is mapped there: the kernel copies, and stops at the
 * first page that cannot be read.  Returns how many bytes came; 0 also where the program's own
 * seccomp filter refuses process_vm_readv. */
size_t tgt_load(void *to, uint64_t from, size_t n);

/* The same without a system call, for a program whose filter would end it: what lies in
 * [LOW, HIGH), which the caller knows to be mapped. */
size_t tgt_load_within(void *to, uint64_t from, size_t n, uint64_t low, uint64_t high);

#endif
