/* test_dwarf_path.c - complete and normalize DWARF paths.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "symbol/sym_dwarf_path.h"

TEST(dwarf_path_removes_dot_components)
{
    static const char *const pairs[][2] = {
        { "/a/b/../c.c", "/a/c.c" }, { "/a/./b//c.c", "/a/b/c.c" }, { "/../a", "/../a" },
        { "/a/../../b", "/../b" },   { "a/../b.c", "b.c" },         { "../../b.c", "../../b.c" },
        { "/a/b/../../c", "/c" },    { "", "" },                    { "/", "/" },
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char path[64];

        snprintf(path, sizeof path, "%s", pairs[i][0]);
        sym_dwarf_path_clean(path);
        CHECK_STR(path, pairs[i][1]);
    }
}
