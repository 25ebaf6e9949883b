/* test_cfi_frame.c - frame pointers, from the instructions of a function.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "cfi/cfi.h"
#include "cfi/cfi_analyse.h"
#include "test.h"

#define NOINLINE __attribute__((noinline, noclone))

/* A frame, as its callee sees it. */
static struct seen {
    uint64_t pc, sp, fp;
} seen;

NOINLINE static void look(int a, ...)
{
    uint64_t *frame = __builtin_frame_address(0);

    seen = (struct seen){ (uint64_t)(uintptr_t)__builtin_return_address(0),
                          (uint64_t)(uintptr_t)(frame + 2), frame[0] };
    __asm__ volatile("" : : "r"(a) : "memory");
}

NOINLINE static void plain(void)
{
    look(1);
    __asm__ volatile("");
}

/* Arguments on the stack move the stack pointer at the call. */
NOINLINE static void many_arguments(void)
{
    look(1, 2, 3, 4, 5, 6, 7, 8, 9);
    __asm__ volatile("");
}

NOINLINE static void large_frame(int n)
{
    volatile char bytes[1000];

    for (int i = 0; i < n; i++)
        bytes[i] = (char)i;
    if (n)
        look(bytes[n / 2]);
    __asm__ volatile("");
}

NOINLINE static void variable_frame(size_t n)
{
    volatile char *bytes = __builtin_alloca(n);

    bytes[n - 1] = 1;
    look(bytes[n - 1]);
    __asm__ volatile("");
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1; /* the first is the program itself */
}

static bool ask(const struct unw_table *t, uint64_t pc, int32_t *offset)
{
    uint64_t bias = 0;

    dl_iterate_phdr(take_bias, &bias);
    return cfi_table_frame(t, pc - bias, offset);
}

static bool finds_the_frame_pointer(const struct unw_table *t)
{
    int32_t offset = 0;

    return ask(t, seen.pc - 1, &offset) && seen.sp + (uint64_t)(int64_t)offset == seen.fp;
}

static struct unw_table *own_table(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct err e = { 0 };
    struct unw_table *t = cfi_table_open(fd, NULL, 0, &e);

    close(fd);
    CHECK(t != NULL);
    if (!cfi_analyse_version())
        test_skip("no disassembler");
    return t;
}

TEST(cfi_frame_finds_the_frame_pointer_from_the_stack_pointer)
{
    struct unw_table *t = own_table();

    for (int again = 0; again < 2; again++) { /* the second answer is remembered */
        plain();
        CHECK(finds_the_frame_pointer(t));
        many_arguments();
        CHECK(finds_the_frame_pointer(t));
        large_frame(1000);
        CHECK(finds_the_frame_pointer(t));
    }
    cfi_table_free(t);
}

TEST(cfi_frame_finds_nothing_where_the_distance_varies_or_no_frame_is)
{
    struct unw_table *t = own_table();
    int32_t offset;

    variable_frame((size_t)getpid() % 100 + 1);
    CHECK(!ask(t, seen.pc - 1, &offset));
    CHECK(!ask(t, (uint64_t)(uintptr_t)plain, &offset)); /* before its first instruction */
    CHECK(!cfi_table_frame(t, 1, &offset));
    cfi_table_free(t);
}

TEST(cfi_frame_answers_only_so_many_questions)
{
    struct unw_table *t = own_table();
    int32_t offset;

    for (uint64_t i = 0; i < 64; i++)
        CHECK(!cfi_table_frame(t, i, &offset));
    plain();
    CHECK(!finds_the_frame_pointer(t));
    cfi_table_free(t);
}
