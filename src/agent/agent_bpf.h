/* agent_bpf.h - what a filter of system calls (seccomp) answers, computed before it is installed.
 * Makes no system call.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_AGENT_AGENT_BPF_H
#define FATHOM_AGENT_AGENT_BPF_H

#include <stddef.h>
#include <stdint.h>

struct sock_filter;
struct seccomp_data;

/* The answer (SECCOMP_RET_...) of the filter CODE, of N instructions, to CALL.  A filter that the
 * kernel would not accept answers SECCOMP_RET_KILL_PROCESS. */
uint32_t agent_bpf_run(const struct sock_filter *code, size_t n, const struct seccomp_data *call);

#endif
