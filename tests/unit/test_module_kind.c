/* test_module_kind.c - kinds of modules by their paths.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "profile/module_kind.h"

static const struct {
    const char *path;
    enum module_kind kind, of_mapping;
} table[] = {
    { "/usr/bin/prog", MODULE_FILE, MODULE_FILE },
    { "/usr/bin/prog (deleted)", MODULE_FILE, MODULE_FILE },
    { "prog", MODULE_FILE, MODULE_FILE },
    { "/dev/shm/code", MODULE_FILE, MODULE_FILE },
    { "/home/x/SYSV", MODULE_FILE, MODULE_FILE },
    { "/opt/perf-tools/perf-5.map.old", MODULE_FILE, MODULE_FILE },
    { "/opt/perf-x.map", MODULE_FILE, MODULE_FILE },
    { "/tmp/jit-.dump", MODULE_FILE, MODULE_FILE },
    { "/tmp/x-jit-5.dump", MODULE_FILE, MODULE_FILE },
    { "/tmp/jitted-5-1.so", MODULE_FILE, MODULE_FILE },
    { "[kernel]", MODULE_KERNEL, MODULE_NONE },
    { "[kernel 6.1.0]", MODULE_KERNEL, MODULE_NONE },
    { "[kernel.kallsyms]_text", MODULE_KERNEL, MODULE_NONE },
    { "[guest.kernel.kallsyms]", MODULE_KERNEL, MODULE_NONE },
    { "[nf_tables]", MODULE_KERNEL, MODULE_NONE },
    { "[snd-hda]", MODULE_KERNEL, MODULE_NONE },
    { "/usr/lib/debug/boot/vmlinux-6.1.0", MODULE_KERNEL, MODULE_FILE },
    { "vmlinux", MODULE_KERNEL, MODULE_FILE },
    { "/home/vmlinux/prog", MODULE_FILE, MODULE_FILE },
    { "[vdso]", MODULE_VDSO, MODULE_VDSO },
    { "", MODULE_JIT, MODULE_JIT },
    { "//anon", MODULE_JIT, MODULE_JIT },
    { "[anon:jit cache]", MODULE_JIT, MODULE_JIT },
    { "[heap]", MODULE_JIT, MODULE_JIT },
    { "[stack]", MODULE_JIT, MODULE_JIT },
    { "[stack:12]", MODULE_JIT, MODULE_JIT },
    { "[jit]", MODULE_JIT, MODULE_JIT },
    { "/SYSV00000000 (deleted)", MODULE_JIT, MODULE_JIT },
    { "/anon_hugepage (deleted)", MODULE_JIT, MODULE_JIT },
    { "/dev/zero (deleted)", MODULE_JIT, MODULE_JIT },
    { "/memfd:doublemapper (deleted)", MODULE_JIT, MODULE_JIT },
    { "anon_inode:[io_uring]", MODULE_JIT, MODULE_JIT },
    { "/tmp/perf-12.map", MODULE_JIT, MODULE_JIT },
    { "/home/x/jit-12.dump", MODULE_JIT, MODULE_JIT },
    { "[vdso32]", MODULE_NONE, MODULE_NONE },
    { "[vsyscall]", MODULE_NONE, MODULE_NONE },
    { "[vvar_vclock]", MODULE_NONE, MODULE_NONE },
    { "[uprobes]", MODULE_NONE, MODULE_NONE },
    { "[hypervisor]", MODULE_NONE, MODULE_NONE },
    { "[unknown]", MODULE_NONE, MODULE_NONE },
    { "[shadow stack]", MODULE_NONE, MODULE_NONE },
    { "[", MODULE_NONE, MODULE_NONE },
    { "[]", MODULE_NONE, MODULE_NONE },
    { "[ext4", MODULE_NONE, MODULE_NONE },
    { "[ext4]x", MODULE_NONE, MODULE_NONE },
};

TEST(module_kind_follows_from_the_path)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int kind = (int)module_kind_of(table[i].path);
        int of_mapping = (int)module_kind_of_mapping(table[i].path);

        if (kind != (int)table[i].kind || of_mapping != (int)table[i].of_mapping)
            test_fail(__FILE__, __LINE__, "\"%s\" is %d, as a mapping %d", table[i].path, kind,
                      of_mapping);
    }
}

TEST(module_kind_decides_the_kind_of_its_frames)
{
    CHECK_EQ(module_frame_kind(MODULE_FILE), FRAME_NATIVE);
    CHECK_EQ(module_frame_kind(MODULE_KERNEL), FRAME_KERNEL);
    CHECK_EQ(module_frame_kind(MODULE_VDSO), FRAME_NATIVE);
    CHECK_EQ(module_frame_kind(MODULE_JIT), FRAME_JIT);
    CHECK_EQ(module_frame_kind(MODULE_NONE), FRAME_NATIVE);
}
