/* test_sym_ifunc.c - names of the chosen variants in a C library without debug symbols.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <link.h>

#include "base/map.h"
#include "symbol/symbolizer.h"
#include "test.h"

/* The name that a module over the bytes of our own C library gives to the code of FUNCTION. */
static void check_name(const char *function, const char *want)
{
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    const struct sym_line *chain;
    struct sym_module *m;
    struct link_map *own;
    struct map file = { 0 };
    uint64_t at;

    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &own) < 0)
        test_skip("this program does not use a shared C library");
    at = (uintptr_t)dlsym(library, function) - own->l_addr;
    CHECK(map_open(&file, own->l_name, NULL) == 0);
    m = sym_module_open_memory(file.data, file.size, own->l_name);
    CHECK(sym_module_find(m, at + 1, &chain) == 1);
    if (sym_module_source(m) == SYM_SYMTAB || !strstr(chain[0].name, "[ifunc]"))
        CHECK(sym_module_source(m) >= SYM_MINI); /* real symbols win */
    else
        CHECK_STR(chain[0].name, want);
    sym_module_close(m);
    map_close(&file);
    dlclose(library);
}

TEST(sym_ifunc_names_the_chosen_variant_of_a_stripped_library)
{
    check_name("strcmp", "strcmp [ifunc]");
    check_name("strlen", "strlen [ifunc]");
}

TEST(sym_ifunc_chooses_the_plainest_of_several_names)
{
    check_name("memmove", "memcpy [ifunc]");
    check_name("bcmp", "memcmp [ifunc]");
    check_name("index", "strchr [ifunc]");
    check_name("__stpcpy", "stpcpy [ifunc]");
}
