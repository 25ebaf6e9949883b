/* test_match.c - match functions across two profiles.  SPDX-License-Identifier: Apache-2.0 */
#include "analyze/an_match.h"

#include <stdlib.h>
#include <string.h>

#include "profile/intern.h"
#include "test.h"

struct side {
    struct profile *p;
    struct intern in;
};

static void begin(struct side *s)
{
    s->p = profile_new();
    intern_init(&s->in, profile_sink(s->p));
}

/* A function in the module at PATH with a build id of one byte; 0 for none. */
static uint32_t add(struct side *s, const char *name, const char *path, uint8_t build_id,
                    const char *file, uint32_t line)
{
    struct module m = { .path = intern_cstr(&s->in, path), .build_id = { build_id },
                        .build_id_size = build_id != 0 };
    struct function f = { .name = intern_cstr(&s->in, name), .file = intern_cstr(&s->in, file),
                          .line = line, .module = path ? intern_module(&s->in, &m) : 0 };

    return intern_function(&s->in, &f);
}

static void end(struct side *s)
{
    intern_release(&s->in);
    profile_free(s->p);
}

TEST(match_finds_functions_by_name_module_and_file)
{
    struct side a, b;
    uint32_t *to, moved, other, in_lib, twin[2], gone, bare;
    uint32_t b_in_lib, b_other, b_twin[2], b_moved, b_bare;

    begin(&a);
    begin(&b);
    moved = add(&a, "work", "/old/app", 1, "/old/src/work.c", 10);
    other = add(&a, "parse", "/old/app", 1, "/old/src/parse.c", 5);
    in_lib = add(&a, "parse", "/lib/libx.so.1", 7, NULL, 0);
    twin[0] = add(&a, "init", "/old/app", 1, "/old/src/one.c", 3);
    twin[1] = add(&a, "init", "/old/app", 1, "/old/src/two.c", 3);
    gone = add(&a, "removed", "/old/app", 1, "/old/src/work.c", 90);
    bare = add(&a, "main", NULL, 0, NULL, 0);

    b_in_lib = add(&b, "parse", "/opt/renamed.so", 7, NULL, 0);
    b_twin[1] = add(&b, "init", "/new/app", 2, "/new/src/two.c", 4);
    b_twin[0] = add(&b, "init", "/new/app", 2, "/new/src/one.c", 4);
    b_other = add(&b, "parse", "/new/app", 2, "/new/src/parse.c", 8);
    b_moved = add(&b, "work", "/new/app", 2, "/new/src/work.c", 44);
    b_bare = add(&b, "main", "/new/app", 2, "/new/src/main.c", 1);

    to = an_match_functions(a.p, b.p);
    CHECK_EQ(to[moved], b_moved);     /* another build, directory and line */
    CHECK_EQ(to[other], b_other);     /* a module of the same name */
    CHECK_EQ(to[in_lib], b_in_lib);   /* the same build id, another path */
    CHECK_EQ(to[twin[0]], b_twin[0]); /* the file distinguishes static functions */
    CHECK_EQ(to[twin[1]], b_twin[1]);
    CHECK_EQ(to[gone], 0);
    CHECK_EQ(to[bare], b_bare);       /* no known difference */
    free(to);
    end(&a);
    end(&b);
}

TEST(match_prefers_the_same_line_among_overloads)
{
    struct side a, b;
    uint32_t *to, x[2], y[2];

    begin(&a);
    begin(&b);
    x[0] = add(&a, "put", "/app", 0, "/a.cc", 10);
    x[1] = add(&a, "put", "/app", 0, "/a.cc", 20);
    y[1] = add(&b, "put", "/app", 0, "/a.cc", 20);
    y[0] = add(&b, "put", "/app", 0, "/a.cc", 10);
    to = an_match_functions(a.p, b.p);
    CHECK_EQ(to[x[0]], y[0]);
    CHECK_EQ(to[x[1]], y[1]);
    free(to);
    end(&a);
    end(&b);
}

TEST(match_takes_no_function_of_another_module_if_there_is_a_choice)
{
    struct side a, b;
    uint32_t *to, x, y, unknown, same;

    begin(&a);
    begin(&b);
    x = add(&a, "put", "/app", 0, "/a.cc", 10);
    add(&b, "put", "/other", 0, "/a.cc", 10);
    unknown = add(&b, "put", NULL, 0, NULL, 0);
    add(&b, "put", NULL, 0, NULL, 3); /* no better */
    y = add(&a, "get", "/app", 1, NULL, 0);
    add(&b, "get", "/other", 2, NULL, 0);
    same = add(&b, "get", "/app", 3, NULL, 0);
    to = an_match_functions(a.p, b.p);
    CHECK_EQ(to[x], unknown);
    CHECK_EQ(to[y], same);
    free(to);
    end(&a);
    end(&b);
}
