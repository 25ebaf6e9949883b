/* test_unwind_arm.c - aarch64: dumps of real programs under qemu, and a hand-made signal frame.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "unw_self.h"
#include "cfi/cfi.h"
#include "unwind/unw_machine.h"

enum { MOST = 200 };

struct dump {
    struct unw_regs regs;
    uint64_t callers[MOST];
    int n;
    unsigned char *stack;
    long size;
};

static bool read_dump(struct dump *d, FILE *f)
{
    unsigned byte;
    unsigned long pc, sp, fp, lr;

    if (fscanf(f, "regs %lx %lx %lx %lx callers %d", &pc, &sp, &fp, &lr, &d->n) != 5 ||
        d->n < 0 || d->n > MOST)
        return false;
    d->regs = (struct unw_regs){ .pc = pc, .sp = sp, .fp = fp, .lr = lr };
    for (int i = 0; i < d->n; i++)
        if (fscanf(f, "%lx", &d->callers[i]) != 1)
            return false;
    if (fscanf(f, " stack %ld", &d->size) != 1 || d->size <= 0 || d->size > 1 << 20)
        return false;
    d->stack = mem_alloc((size_t)d->size);
    for (long i = 0; i < d->size; i++) {
        if (fscanf(f, "%2x", &byte) != 1)
            return false;
        d->stack[i] = (unsigned char)byte;
    }
    return true;
}

static void check_dump(const struct dump *d, const char *program)
{
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    struct unw_table *t = cfi_table_open(fd, NULL, 0, NULL);
    struct unw_space *s = cfi_space_new(UNW_AARCH64);
    struct unw_stack stack = { d->regs.sp, d->stack, (size_t)d->size };
    struct cfi_table_info info = cfi_table_info(t);
    struct unw_frame f[MOST];
    size_t n;

    CHECK_EQ(info.arch, UNW_AARCH64);
    cfi_space_map(s, info.low, info.high, 0, t, 1);
    CHECK_EQ(unw_walk(s, NULL, d->regs, &stack, f, MOST, &n), UNW_ROOT);
    for (size_t i = 1; i < n && i <= (size_t)d->n; i++)
        CHECK_EQ(f[i].pc, d->callers[i - 1]);
    CHECK_EQ(n, d->n + 1);
    cfi_space_free(s);
    cfi_table_free(t);
    close(fd);
}

static void run_under_qemu(const char *name, const char *argument)
{
    const char *program = unw_self_workload(name);
    struct dump d = { .n = 0 };
    char command[9000];
    bool whole;
    FILE *f;

    if (!program)
        test_skip("no aarch64 program was built");
    snprintf(command, sizeof command, "qemu-aarch64 '%s' %s 2>/dev/null", program, argument);
    f = popen(command, "r");
    CHECK(f != NULL);
    whole = read_dump(&d, f);
    pclose(f);
    if (!whole)
        test_skip("qemu-aarch64 does not run here");
    check_dump(&d, program);
    free(d.stack);
}

TEST(unwind_walk_follows_aarch64_without_frame_pointers)
{
    run_under_qemu("unwind-arm", "");
}

TEST(unwind_walk_follows_aarch64_with_frame_pointers)
{
    run_under_qemu("unwind-arm-fp", "");
}

TEST(unwind_walk_follows_a_sample_of_the_agent_on_aarch64)
{
    run_under_qemu("agent-arm", "");
}

TEST(unwind_walk_follows_a_sample_without_system_calls_on_aarch64)
{
    run_under_qemu("agent-arm", "careful");
}

/* Add a CIE and an FDE for the 0x100 bytes at START. */
static void add_function(struct buf *b, uint64_t start, bool signal, const char *ops, size_t n)
{
    const char *letters = signal ? "zRS" : "zR";
    size_t cie = b->n;

    buf_u32(b, (uint32_t)(4 + 1 + strlen(letters) + 1 + 3 + 2 + 3));
    buf_u32(b, 0);
    buf_u8(b, 1);
    buf_add(b, letters, strlen(letters) + 1);
    buf_add(b, "\x04\x78\x1e\x01\x00\x0c\x1f\x00", 8); /* cfa = sp, column 30 */
    buf_u32(b, (uint32_t)(4 + 16 + 1 + n));
    buf_u32(b, (uint32_t)(b->n - cie));
    buf_u64(b, start);
    buf_u64(b, 0x100);
    buf_u8(b, 0);
    buf_add(b, ops, n);
}

/* A signal called the handler at 0x1000, which has a 16-byte frame.  The kernel's return code is
 * at 0x1100.  The interrupted leaf at 0x1200 has its return address only in x30; its caller at
 * 0x1300 is outermost. */
TEST(unwind_walk_leaves_an_aarch64_signal_frame)
{
    enum { BASE = 0x7000, FRAME = BASE + 16, CONTEXT = 128 + 176 + 8 };
    uint64_t words[100] = { 0 }, *context = words + (16 + CONTEXT) / 8;
    struct unw_regs regs = { .pc = 0x1010, .sp = BASE };
    struct unw_stack stack = { BASE, (const unsigned char *)words, sizeof words };
    struct unw_space *s = cfi_space_new(UNW_AARCH64);
    struct buf b = { 0 }, elf;
    struct unw_table *t;
    struct unw_frame f[10];
    size_t n;

    add_function(&b, 0x1000, false, "\x0e\x10\x9e\x02", 4); /* sp+16, x30 at cfa-16 */
    add_function(&b, 0x1100, true, "", 0);
    add_function(&b, 0x1200, false, "", 0);
    add_function(&b, 0x1300, false, "\x07\x1e", 2); /* x30 undefined */
    elf = unw_self_elf(EM_AARCH64, ".eh_frame", 0, &b);
    t = cfi_table_build(elf.data, elf.n, NULL);
    cfi_space_map(s, 0x1000, 0x2000, 0, t, 1);
    words[0] = 0x1104; /* after a nop that belongs to that code, as in the vDSO */
    context[30] = 0x00ab000000001310; /* signed: authentication bits above */
    context[31] = BASE + 0x300;
    context[32] = 0x1210;
    CHECK_EQ(unw_walk(s, NULL, regs, &stack, f, 10, &n), UNW_ROOT);
    CHECK_EQ(n, 4);
    CHECK_EQ(f[1].pc, 0x1104);
    CHECK_EQ(f[2].pc, 0x1210);
    CHECK_EQ(f[2].sp, BASE + 0x300);
    CHECK(!f[2].is_return);
    CHECK_EQ(f[3].pc, 0x1310);
    CHECK(f[3].is_return);
    cfi_space_free(s);
    cfi_table_free(t);
    buf_release(&b);
    buf_release(&elf);
}
