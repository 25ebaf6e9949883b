/* module_kind.c - see module_kind.h.  SPDX-License-Identifier: Apache-2.0 */
#include "profile/module_kind.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    const char *prefix;
    enum module_kind kind;
} prefixes[] = {
    { "[kernel", MODULE_KERNEL },
    { "[guest.kernel", MODULE_KERNEL },
    { "[anon", MODULE_JIT },
    { "[heap]", MODULE_JIT },
    { "[jit", MODULE_JIT },
    { "[stack", MODULE_JIT },
    { "//anon", MODULE_JIT },
    { "/SYSV", MODULE_JIT },
    { "/anon_hugepage", MODULE_JIT },
    { "/dev/zero", MODULE_JIT },
    { "/memfd:", MODULE_JIT },
    { "anon_inode:", MODULE_JIT },
    { "[hypervisor]", MODULE_NONE },
    { "[sigpage]", MODULE_NONE },
    { "[unknown", MODULE_NONE },
    { "[uprobes]", MODULE_NONE },
    { "[vdso", MODULE_NONE }, /* but "[vdso]": that of a 32-bit process is another one */
    { "[vectors]", MODULE_NONE },
    { "[vsyscall]", MODULE_NONE },
    { "[vvar", MODULE_NONE },
};

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "[ext4]". */
static bool is_kernel_module(const char *path)
{
    size_t n = 1;

    while (isalnum((unsigned char)path[n]) || path[n] == '_' || path[n] == '-')
        n++;
    return n > 1 && strcmp(path + n, "]") == 0;
}

/* "perf-PID.map". */
static bool is_jit_map(const char *base)
{
    size_t digits = starts(base, "perf-") ? strspn(base + 5, "0123456789") : 0;

    return digits && strcmp(base + 5 + digits, ".map") == 0;
}

bool module_is_jit_dump(const char *path)
{
    const char *base = base_of(path);
    size_t n = strlen(base);

    return n > 9 && starts(base, "jit-") && strcmp(base + n - 5, ".dump") == 0;
}

enum module_kind module_kind_of(const char *path)
{
    const char *base = base_of(path);

    if (!*path || is_jit_map(base) || module_is_jit_dump(path))
        return MODULE_JIT;
    if (strcmp(path, "[vdso]") == 0)
        return MODULE_VDSO;
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (starts(path, prefixes[i].prefix))
            return prefixes[i].kind;
    if (path[0] == '[')
        return is_kernel_module(path) ? MODULE_KERNEL : MODULE_NONE;
    return starts(base, "vmlinux") ? MODULE_KERNEL : MODULE_FILE;
}

enum module_kind module_kind_of_mapping(const char *path)
{
    enum module_kind kind = module_kind_of(path);

    if (kind != MODULE_KERNEL)
        return kind;
    return path[0] == '[' ? MODULE_NONE : MODULE_FILE;
}

enum frame_kind module_frame_kind(enum module_kind kind)
{
    return kind == MODULE_KERNEL ? FRAME_KERNEL : kind == MODULE_JIT ? FRAME_JIT : FRAME_NATIVE;
}
