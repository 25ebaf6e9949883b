/* sym_demangle.c - from linker names to source names.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/sym_rust.h"
#include "symbol/symbol.h"

/* Longer names are left as they are: their demangled form can grow out of all bounds. */
enum { CXX_NAME_MAX = 8192 };

typedef char *cxx_demangler(const char *name, char *out, size_t *n, int *status);

/* The C++ runtime is loaded at the first C++ name: linking it would cost every start of the
 * tool a millisecond.  Kept for the life of the process. */
static cxx_demangler *load_cxx(void)
{
    static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1", "libc++.so.1" };
    static cxx_demangler *found;
    static bool tried;

    for (size_t i = 0; !tried && !found && i < sizeof libraries / sizeof *libraries; i++) {
        void *lib = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);

        found = lib ? (cxx_demangler *)dlsym(lib, "__cxa_demangle") : NULL;
    }
    tried = true;
    return found;
}

static char *demangle_cxx(const char *name)
{
    cxx_demangler *f;
    int status = 0;

    if (strnlen(name, CXX_NAME_MAX) == CXX_NAME_MAX || !(f = load_cxx()))
        return NULL;
    return f(name, NULL, NULL, &status);
}

char *sym_demangle(const char *name)
{
    char *plain;

    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return NULL;
    if (name[1] == 'R')
        return sym_rust_v0(name);
    plain = sym_rust_legacy(name);
    return plain ? plain : demangle_cxx(name);
}
