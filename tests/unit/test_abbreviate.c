/* test_abbreviate.c - shorten names to a given width.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "formats/abbreviate.h"

static void check_label(const char *name, size_t room, const char *want)
{
    struct buf b = { 0 };

    abbreviate(&b, name, room);
    CHECK_STR(buf_text(&b), want);
    buf_release(&b);
}

TEST(abbreviate_shortens_a_name_to_what_fits)
{
    static const char name[] = "std::map<int, std::vector<X>>::find(int const&) const";

    check_label(name, 80, name);
    check_label(name, 20, "std::map::find");
    check_label(name, 10, "…map::find");
    check_label(name, 5, "…find");
    check_label(name, 3, "fi…");
    check_label("main", 4, "main");
    check_label("main", 3, "ma…");
}

TEST(abbreviate_keeps_names_that_only_look_like_calls_and_whole_characters)
{
    check_label("operator()(int)", 15, "operator()(int)");
    check_label("<alloc::vec::Vec<T>>::push", 6, "…push");
    check_label("(anonymous)", 5, "(ano…");
    check_label("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3, "\xc3\xa9\xc3\xa9…");
    check_label("x::", 2, "x…");
}
