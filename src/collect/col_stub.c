/* col_stub.c - see col_stub.h.  SPDX-License-Identifier: Apache-2.0 */
#include "collect/col_stub.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>

enum { MXCSR = 0x1f80, STATE = 0xd }; /* the default of the ABI; leaf of cpuid */

/* Offsets in struct col_stub_call, for the code below. */
#define OPEN "0"
#define FIND "8"
#define ERRNO "16"
#define ALL "24"
#define MASK "32"
#define STATE_BYTES "40"
#define REGISTERS "48"
#define MXCSR_AT "56"
#define LIBRARY "64"
#define JOIN "352"
#define FOLDER "384"
_Static_assert(offsetof(struct col_stub_call, dlopen) == 0 &&
               offsetof(struct col_stub_call, dlsym) == 8 &&
               offsetof(struct col_stub_call, errno_location) == 16 &&
               offsetof(struct col_stub_call, all) == 24 &&
               offsetof(struct col_stub_call, mask) == 32 &&
               offsetof(struct col_stub_call, state_bytes) == 40 &&
               offsetof(struct col_stub_call, registers) == 48 &&
               offsetof(struct col_stub_call, mxcsr) == 56 &&
               offsetof(struct col_stub_call, library) == 64 &&
               offsetof(struct col_stub_call, join) == 352 &&
               offsetof(struct col_stub_call, folder) == 384, "the code below knows them");

/* rt_sigprocmask(SIG_SETMASK, NEW, OLD, 8) */
#define SET_MASK(new, old)  \
    "mov $14, %eax\n"       \
    "mov $2, %edi\n"        \
    new                     \
    old                     \
    "mov $8, %r10d\n"       \
    "syscall\n"

/* rbx: the call; r12: the saved vector registers; r13, r14: where errno is, and its value. */
__asm__(".pushsection .rodata\n"
        ".p2align 3\n"
        "col_stub_begin:\n"
        "mov %rsp, %rbx\n"
        "cld\n"
        SET_MASK("lea " ALL "(%rbx), %rsi\n", "lea " MASK "(%rbx), %rdx\n")
        "sub " STATE_BYTES "(%rbx), %rsp\n"
        "and $-64, %rsp\n"
        "mov %rsp, %r12\n"
        "lea 512(%r12), %rdi\n" /* the header of the saved state must be zero */
        "xor %eax, %eax\n"
        "mov $8, %ecx\n"
        "rep stosq\n"
        "mov $-1, %eax\n"
        "mov $-1, %edx\n"
        "xsave64 (%r12)\n"
        "fninit\n"
        "ldmxcsr " MXCSR_AT "(%rbx)\n"
        "call *" ERRNO "(%rbx)\n"
        "mov %rax, %r13\n"
        "mov (%rax), %r14d\n"
        "lea " LIBRARY "(%rbx), %rdi\n"
        "mov $2, %esi\n" /* RTLD_NOW; RTLD_LOCAL is 0 */
        "call *" OPEN "(%rbx)\n"
        "test %rax, %rax\n"
        "jz 1f\n"
        "mov %rax, %rdi\n"
        "lea " JOIN "(%rbx), %rsi\n"
        "call *" FIND "(%rbx)\n"
        "test %rax, %rax\n"
        "jz 1f\n"
        "lea " FOLDER "(%rbx), %rdi\n"
        "call *%rax\n"
        "1:\n"
        "mov %r14d, (%r13)\n"
        "mov $-1, %eax\n"
        "mov $-1, %edx\n"
        "xrstor64 (%r12)\n"
        SET_MASK("lea " MASK "(%rbx), %rsi\n", "xor %edx, %edx\n")
        "mov " REGISTERS "(%rbx), %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %r11\n pop %r10\n pop %r9\n pop %r8\n"
        "pop %rbp\n pop %rdi\n pop %rsi\n pop %rdx\n pop %rcx\n pop %rbx\n pop %rax\n"
        "popfq\n"
        "ret $128\n"
        ".p2align 3\n"
        "col_stub_end:\n"
        ".popsection\n");
extern const unsigned char col_stub_begin[], col_stub_end[];
_Static_assert(COL_STUB_RED_ZONE == 128, "the code above knows it");

const unsigned char *col_stub_code(size_t *n)
{
    *n = (size_t)(col_stub_end - col_stub_begin);
    return col_stub_begin;
}

/* Bytes of the vector registers that xsave saves; 0: this CPU has no xsave. */
static uint32_t state_bytes(void)
{
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) ||
        !__get_cpuid_count(STATE, 0, &a, &b, &c, &d))
        return 0;
    return b;
}

bool col_stub_exists(void)
{
    return state_bytes() != 0;
}

/* --- registers --- */

/* The kernel's results of calls that it makes again, which only a tracer sees. */
enum { RESTART_SYS = 512, RESTART_NO_INTR, RESTART_NO_HAND, RESTART_BLOCK = 516 };
enum { USER_CODE = 0x33, CALL_BYTES = 2 }; /* the code segment in 64-bit mode; syscall */

static bool is_restarted(const struct user_regs_struct *v)
{
    int64_t result = -(int64_t)v->rax;

    return (int64_t)v->orig_rax >= 0 &&
           ((result >= RESTART_SYS && result <= RESTART_NO_HAND) || result == RESTART_BLOCK);
}

long col_stub_interrupted(const struct col_ptrace_regs *r)
{
    return is_restarted(&r->v) ? (long)r->v.orig_rax : -1;
}

/* What the kernel would do before the thread runs on. */
static void restart(struct user_regs_struct *v)
{
    if (!is_restarted(v))
        return;
    v->rax = -(int64_t)v->rax == RESTART_BLOCK ? SYS_restart_syscall : v->orig_rax;
    v->rip -= CALL_BYTES;
}

static struct col_stub_registers registers_of(const struct user_regs_struct *v)
{
    return (struct col_stub_registers){
        .r15 = v->r15, .r14 = v->r14, .r13 = v->r13, .r12 = v->r12, .r11 = v->r11, .r10 = v->r10,
        .r9 = v->r9, .r8 = v->r8, .bp = v->rbp, .di = v->rdi, .si = v->rsi, .dx = v->rdx,
        .cx = v->rcx, .bx = v->rbx, .ax = v->rax, .flags = v->eflags, .pc = v->rip,
    };
}

bool col_stub_prepare(struct col_stub_frame *f, const struct col_ptrace_regs *r)
{
    struct user_regs_struct v = r->v;

    if (r->n != sizeof v || v.cs != USER_CODE)
        return false;
    restart(&v);
    f->registers = registers_of(&v);
    f->call.registers = v.rsp - COL_STUB_RED_ZONE - sizeof f->registers;
    f->at = (f->call.registers - sizeof f->call) & ~(uint64_t)(COL_STUB_ALIGNMENT - 1);
    f->call.all = UINT64_MAX;
    f->call.state_bytes = state_bytes();
    f->call.mxcsr = MXCSR;
    return true;
}

void col_stub_enter(const struct col_stub_frame *f, struct col_ptrace_regs *r, uint64_t code)
{
    r->v.rip = code;
    r->v.rsp = f->at;
    r->v.orig_rax = (uint64_t)-1; /* the kernel makes no call again: the stub returns to it */
}

uint64_t col_stub_pointer(const struct col_ptrace_regs *r)
{
    return r->v.fs_base;
}
#else
const unsigned char *col_stub_code(size_t *n)
{
    *n = 0;
    return NULL;
}

bool col_stub_exists(void)
{
    return false;
}

long col_stub_interrupted(const struct col_ptrace_regs *r)
{
    (void)r;
    return -1;
}

bool col_stub_prepare(struct col_stub_frame *f, const struct col_ptrace_regs *r)
{
    (void)f;
    (void)r;
    return false;
}

void col_stub_enter(const struct col_stub_frame *f, struct col_ptrace_regs *r, uint64_t code)
{
    (void)f;
    (void)r;
    (void)code;
}

uint64_t col_stub_pointer(const struct col_ptrace_regs *r)
{
    (void)r;
    return 0;
}
#endif
