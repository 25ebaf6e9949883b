/* test.h - the unit-test harness.  A test registers itself and runs in its own process.
 *
 *     TEST(arena_hands_out_aligned_memory) { CHECK(...); CHECK_EQ(got, want); CHECK_STR(a, b); }
 *
 * The name is the sentence that the test proves.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_TEST_H
#define FATHOM_TESTS_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
};
void test_register(struct test *t);
void test_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), noreturn));
/* Create a file with DATA; it is removed at the end of the test. */
const char *test_file(const void *data, size_t n);
/* A new directory for this test; it is removed with its contents at the end. */
const char *test_dir(void);
/* Write DATA to PATH, creating its directories. */
void test_write(const char *path, const void *data, size_t n);
void test_make_dirs(const char *path); /* those above its last slash */
/* Path of a program built from tests/workloads, until the next call; skips the test when there are
 * none. */
const char *test_workload(const char *name);
void test_skip(const char *why) __attribute__((noreturn));

#define TEST(id)                                                     \
    static void test_##id(void);                                     \
    __attribute__((constructor)) static void register_##id(void)    \
    {                                                                \
        static struct test t = { #id, test_##id, NULL };             \
        test_register(&t);                                           \
    }                                                                \
    static void test_##id(void)

#define CHECK(x) ((x) ? (void)0 : test_fail(__FILE__, __LINE__, "%s", #x))
#define CHECK_EQ(a, b)                                                                          \
    do {                                                                                        \
        long long a_ = (long long)(a), b_ = (long long)(b);                                     \
        if (a_ != b_)                                                                           \
            test_fail(__FILE__, __LINE__, "%s is %lld, not %s = %lld", #a, a_, #b, b_);         \
    } while (0)
#define CHECK_STR(a, b)                                                                         \
    do {                                                                                        \
        const char *a_ = (a), *b_ = (b);                                                        \
        if (!a_ || !b_ || strcmp(a_, b_) != 0)                                                  \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", not \"%s\"", #a, a_ ? a_ : "(null)", b_); \
    } while (0)

#endif
