/* test_mem.c - out of memory: the host program decides what happens, not the core.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <unistd.h>

#include "base/buf.h"
#include "cfi/cfi.h"
#include "test.h"

/* The address sanitizer would abort instead of letting malloc fail. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static jmp_buf entry;
static volatile bool inside;
static volatile size_t wanted;

/* The unit tests act as the host: jump back to where they called the core. */
void mem_failed(size_t bytes)
{
    if (!inside)
        test_fail(__FILE__, __LINE__, "out of memory (allocating %zu bytes)", bytes);
    wanted = bytes;
    longjmp(entry, 1);
}

/* Whether the statement ran out of memory and returned through mem_failed. */
#define FAILS(statement)          \
    ({                            \
        volatile bool failed_ = true; \
        inside = true;            \
        if (!setjmp(entry)) {     \
            statement;            \
            failed_ = false;      \
        }                         \
        inside = false;           \
        failed_;                  \
    })

static const size_t HUGE_SIZE = SIZE_MAX / 2 - 4096;

TEST(mem_failed_lets_a_host_survive_every_failed_allocation)
{
    static struct arena a;
    static struct buf b;
    static VEC(uint64_t) v;

    CHECK(!FAILS(free(mem_alloc(10))));
    CHECK(FAILS(mem_alloc(HUGE_SIZE)));
    CHECK_EQ(wanted, HUGE_SIZE);
    CHECK(FAILS(mem_zalloc(HUGE_SIZE)));
    CHECK(FAILS(mem_realloc(NULL, HUGE_SIZE)));
    CHECK(FAILS(arena_alloc(&a, HUGE_SIZE)));
    CHECK(FAILS(arena_alloc(&a, SIZE_MAX)));
    CHECK(FAILS(buf_reserve(&b, SIZE_MAX)));
    CHECK(FAILS(vec_reserve(&v, SIZE_MAX / 4)));
    CHECK(FAILS(vec_reserve(&v, SIZE_MAX)));
}

TEST(mem_try_alloc_returns_null_instead)
{
    struct arena a = { 0 };
    void *p = mem_try_alloc(16);

    CHECK(p != NULL);
    free(p);
    CHECK(mem_try_alloc(HUGE_SIZE) == NULL);
    CHECK(arena_try_alloc(&a, HUGE_SIZE) == NULL);
    CHECK(arena_try_alloc(&a, 16) != NULL);
    arena_release(&a);
}

TEST(unwind_table_of_a_sparse_file_that_claims_terabytes_is_empty)
{
    unsigned char bytes[64 + 3 * 64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
    static const uint64_t huge = (uint64_t)1 << 42;
    struct unw_table *t;
    const char *path;
    int fd;

    memcpy(bytes + 16, (uint16_t[]){ 3, 62 }, 4);            /* a library for x86-64 */
    memcpy(bytes + 40, &(uint64_t){ 64 }, 8);                /* the section table: */
    memcpy(bytes + 58, (uint16_t[]){ 64, 2, 1 }, 6);         /* two sections, the last with names */
    memcpy(bytes + 64 + 4, &(uint32_t){ 1 }, 4);             /* .eh_frame at 0, terabytes long */
    memcpy(bytes + 64 + 32, &huge, 8);
    memcpy(bytes + 128 + 24, (uint64_t[]){ 192, 12 }, 16);
    memcpy(bytes + 192, ".eh_frame", 10);
    path = test_file(bytes, sizeof bytes);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (ftruncate(fd, (off_t)huge + 4096) < 0)
        test_skip("no sparse files of this size here");
    t = cfi_table_open(fd, NULL, 0, NULL);
    CHECK(t != NULL);
    CHECK_EQ(cfi_table_info(t).rows, 0);
    cfi_table_free(t);
    close(fd);
}
