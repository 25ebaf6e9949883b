/* rt_test.h - shared by the programs in tests/runtime.  Each runs with the name of a case and
 * prints its results as `key value` lines, which test_runtime*.py check.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TESTS_RT_TEST_H
#define FATHOM_TESTS_RT_TEST_H

#include <fathom.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rt_case {
    const char *name;
    void (*run)(void);
};

static inline int rt_main(int argc, char **argv, const struct rt_case *list)
{
    for (; argc > 1 && list->name; list++)
        if (!strcmp(list->name, argv[1])) {
            list->run();
            fflush(stdout);
            return 0;
        }
    fprintf(stderr, "no such case\n");
    return 2;
}

static inline void show(const char *key, double value)
{
    printf("%s %.10g\n", key, value);
}

struct want {
    const char *path;
    struct fathom_stat stat;
    int found;
};

static inline void match_(const struct fathom_stat *s, void *arg)
{
    struct want *w = (struct want *)arg;

    if (!strcmp(s->path, w->path)) {
        if (!w->found)
            w->stat = *s;
        else
            w->stat.count += s->count;
        w->found++;
    }
}

/* The row of a path, all zero if there is none; its strings are no longer valid. */
static inline struct fathom_stat line_of(const char *path)
{
    struct want w;

    memset(&w, 0, sizeof w);
    w.path = path;
    fathom_each(NULL, 0, match_, &w);
    return w.stat;
}

static inline unsigned long long count_of(const char *path)
{
    return line_of(path).count;
}

static inline void spin_ns(uint64_t ns)
{
    uint64_t until = fathom_now_ns() + ns;

    while (fathom_now_ns() < until)
        ;
}

#endif
