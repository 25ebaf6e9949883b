/* test_trust.c - paths that nobody else can exchange.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"
#include "test.h"

enum { SOMEBODY = 4321 };

/* DIR/a/b/file, all of this user and private; the path of NAME in DIR. */
static const char *tree(const char *name)
{
    static char path[PATH_MAX];
    static const char *dir;

    if (!dir) {
        char command[256];

        dir = test_dir();
        snprintf(command, sizeof command, "mkdir -m 700 %s/a %s/a/b; echo > %s/a/b/file", dir, dir,
                 dir);
        CHECK_EQ(system(command), 0);
    }
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool is_trusted(const char *name)
{
    char real[PATH_MAX];

    return trust_path(tree(name), real);
}

TEST(trust_path_accepts_what_only_this_user_can_exchange)
{
    char real[PATH_MAX], want[PATH_MAX];

    CHECK(realpath(tree("a/b/file"), want));
    CHECK(trust_path(tree("a/../a/./b/file"), real));
    CHECK_STR(real, want);
    CHECK(is_trusted("a/b"));
    CHECK(trust_path("/", real));
    CHECK(!is_trusted("missing"));
}

TEST(trust_path_rejects_directories_that_others_may_write_to)
{
    CHECK(is_trusted("a/b/file"));
    CHECK_EQ(chmod(tree("a"), 0777), 0);
    CHECK(!is_trusted("a/b/file"));
    CHECK(!is_trusted("a"));
    CHECK_EQ(chmod(tree("a"), 01777), 0); /* as /tmp */
    CHECK(is_trusted("a/b/file"));
    CHECK_EQ(chmod(tree("a"), 0700), 0);
    CHECK_EQ(chmod(tree("a/b/file"), 0602), 0);
    CHECK(!is_trusted("a/b/file"));
}

TEST(trust_path_rejects_what_belongs_to_another_user)
{
    if (geteuid() != 0)
        test_skip("not root");
    CHECK_EQ(chmod(tree("a"), 01777), 0);
    CHECK_EQ(chown(tree("a/b"), SOMEBODY, SOMEBODY), 0);
    CHECK(!is_trusted("a/b/file"));
    CHECK(!is_trusted("a/b"));
    CHECK_EQ(chown(tree("a/b"), 0, 0), 0);
    CHECK_EQ(chown(tree("a/b/file"), SOMEBODY, 0), 0);
    CHECK(!is_trusted("a/b/file"));
    CHECK_EQ(chown(tree("a/b/file"), 0, SOMEBODY), 0);
    CHECK_EQ(chmod(tree("a/b/file"), 0640), 0);
    CHECK(is_trusted("a/b/file"));
    CHECK_EQ(chmod(tree("a/b/file"), 0660), 0);
    CHECK(!is_trusted("a/b/file"));
}

/* Its owner can let it lead elsewhere, so the path is that behind it. */
TEST(trust_path_leads_through_links)
{
    char real[PATH_MAX], target[PATH_MAX];

    snprintf(target, sizeof target, "%s", tree("a/b"));
    CHECK_EQ(symlink(target, tree("link")), 0);
    CHECK(trust_path(tree("link/file"), real));
    CHECK(!strstr(real, "link"));
}
