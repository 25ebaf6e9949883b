/* col_stub.h - code that a thread of another process runs to load the agent, as if a signal handler
 * did.
 *
 * The thread finds a struct col_stub_call at its stack pointer.  It blocks all signals, saves the
 * vector registers, calls dlopen and the function JOIN of the library, and restores everything: it
 * continues as `registers` says, with the stack pointer 128 bytes (the red zone) behind that
 * struct.  The code does not depend on its address and needs nothing from us any more.
 *
 * It does not end with rt_sigreturn, which would make interrupted sleeps fail with EINTR: the
 * kernel then forgets their remaining time.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_COLLECT_COL_STUB_H
#define FATHOM_COLLECT_COL_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/col_ptrace.h"

enum {
    COL_STUB_NAME = 32,
    COL_STUB_FOLDER = 256,
    COL_STUB_LIBRARY = 288,
    COL_STUB_RED_ZONE = 128,
    COL_STUB_ALIGNMENT = 64,
};

/* Where the thread continues; in the order in which the stub takes them from the stack. */
struct col_stub_registers {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, bp, di, si, dx, cx, bx, ax, flags, pc;
};

struct col_stub_call {
    uint64_t dlopen, dlsym, errno_location; /* addresses of functions of its libc */
    uint64_t all;         /* signals to block */
    uint64_t mask;        /* room: those that were blocked */
    uint64_t state_bytes; /* of the vector registers */
    uint64_t registers;   /* address of the struct */
    uint32_t mxcsr;       /* during the call */
    uint32_t reserved;
    char library[COL_STUB_LIBRARY], join[COL_STUB_NAME], folder[COL_STUB_FOLDER];
};

struct col_stub_frame { /* on the stack: `call` at `at`, `registers` at call.registers */
    uint64_t at;
    struct col_stub_call call;
    struct col_stub_registers registers;
};

/* Whether there is a stub for this CPU. */
bool col_stub_exists(void);
/* The code; *N is its size, a multiple of 8. */
const unsigned char *col_stub_code(size_t *n);
/* The system call that a stopped thread with R will make again; -1: none. */
long col_stub_interrupted(const struct col_ptrace_regs *r);
/* Complete F, all but the functions and texts, for a stopped thread with R: where it lies below its
 * stack, and where the thread continues.  Returns false if the thread is not in 64-bit code. */
bool col_stub_prepare(struct col_stub_frame *f, const struct col_ptrace_regs *r);
/* Change R so that the thread runs the code at CODE, with F where col_stub_prepare said. */
void col_stub_enter(const struct col_stub_frame *f, struct col_ptrace_regs *r, uint64_t code);
/* The thread pointer. */
uint64_t col_stub_pointer(const struct col_ptrace_regs *r);

#endif
