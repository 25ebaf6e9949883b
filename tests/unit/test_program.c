/* test_program.c - which programs can load a library of ours.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/program.h"

#if defined(__aarch64__)
#define LINKER "/lib/ld-linux-aarch64.so.1"
enum { OURS = EM_AARCH64, OTHER = EM_X86_64 };
#else
#define LINKER "/lib64/ld-linux-x86-64.so.2"
enum { OURS = EM_X86_64, OTHER = EM_AARCH64 };
#endif

enum { NAMES = 0x400, DYNAMIC = 0x500, SIZE = 0x600 };

struct made { /* a program; INTERPRETER NULL: static */
    const char *interpreter, *needed;
    int machine, class;
};

/* One directory for the whole test. */
static const char *folder(void)
{
    static const char *dir;

    return dir ? dir : (dir = test_dir());
}

static const char *write_file(const char *name, const void *bytes, size_t n, mode_t mode)
{
    static char path[300];
    int fd;

    snprintf(path, sizeof path, "%s/%s", folder(), name);
    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    CHECK_EQ(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

static const char *make(const struct made *m)
{
    static unsigned char file[SIZE];
    Elf64_Ehdr h = { .e_ident = ELFMAG, .e_machine = (Elf64_Half)(m->machine ? m->machine : OURS),
                     .e_phoff = sizeof h, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3 };
    Elf64_Phdr p[3] = { { .p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = SIZE },
                        { .p_type = PT_DYNAMIC, .p_offset = DYNAMIC, .p_filesz = 4 * 16 },
                        { .p_type = m->interpreter ? PT_INTERP : PT_NULL, .p_offset = 0x300 } };
    Elf64_Dyn d[4] = { { DT_NEEDED, { 1 } }, { DT_STRTAB, { 0x10000 + NAMES } }, { DT_NULL, { 0 } } };

    h.e_ident[EI_CLASS] = (unsigned char)(m->class ? m->class : ELFCLASS64);
    memset(file, 0, sizeof file);
    memcpy(file, &h, sizeof h);
    memcpy(file + sizeof h, p, sizeof p);
    memcpy(file + DYNAMIC, d, sizeof d);
    if (m->interpreter)
        memcpy(file + 0x300, m->interpreter, strlen(m->interpreter));
    memcpy(file + NAMES + 1, m->needed ? m->needed : "libc.so.6",
           strlen(m->needed ? m->needed : "libc.so.6"));
    return write_file("program", file, sizeof file, 0700);
}

#define FIT(...) program_fit_path(make(&(struct made){ __VA_ARGS__ }))

TEST(program_fits_if_its_dynamic_linker_is_that_of_glibc)
{
    CHECK_EQ(FIT(LINKER), PROGRAM_FITS);
    CHECK_EQ(FIT("/nix/store/x" LINKER), PROGRAM_FITS);
    CHECK_EQ(FIT(NULL), PROGRAM_STATIC);
    CHECK_EQ(FIT("/lib/ld-musl-x86_64.so.1"), PROGRAM_OTHER_LIBC);
    CHECK_EQ(FIT(LINKER "x"), PROGRAM_OTHER_LIBC);
    CHECK_EQ(FIT("so.2"), PROGRAM_OTHER_LIBC);
    CHECK_EQ(FIT(LINKER, .machine = OTHER), PROGRAM_OTHER_CPU);
    CHECK_EQ(FIT(LINKER, .class = ELFCLASS32), PROGRAM_OTHER_CPU);
}

TEST(program_with_the_runtime_of_a_sanitizer_does_not_fit)
{
    CHECK_EQ(FIT(LINKER, "libasan.so.8"), PROGRAM_SANITIZED);
    CHECK_EQ(FIT(LINKER, "libtsan.so.2"), PROGRAM_SANITIZED);
    CHECK_EQ(FIT(LINKER, "libclang_rt.asan-x86_64.so"), PROGRAM_SANITIZED);
    CHECK_EQ(FIT(LINKER, "libasa"), PROGRAM_FITS);
    CHECK_EQ(FIT(LINKER, "libclang-14.so.1"), PROGRAM_FITS);
}

TEST(program_with_elevated_rights_does_not_fit)
{
    const char *path = make(&(struct made){ LINKER });

    CHECK_EQ(chmod(path, 04711), 0);
    CHECK_EQ(program_fit_path(path), PROGRAM_ELEVATED);
    CHECK_EQ(chmod(path, 02711), 0);
    CHECK_EQ(program_fit_path(path), PROGRAM_ELEVATED);
    CHECK_EQ(chmod(path, 0711), 0);
    CHECK_EQ(program_fit_path(path), PROGRAM_FITS);
}

TEST(program_that_may_be_run_but_not_read_is_not_judged)
{
    const char *path = make(&(struct made){ LINKER });

    CHECK_EQ(chmod(path, 0111), 0);
    CHECK_EQ(chmod(folder(), 0711), 0);
    CHECK_EQ(chdir(folder()), 0); /* other users cannot reach those above it */
    if (geteuid() == 0 && setresuid(4321, 4321, 4321) < 0)
        test_skip("root cannot become another user");
    CHECK_EQ(program_fit_path("program"), PROGRAM_UNREADABLE);
}

TEST(program_judges_a_script_by_its_interpreter)
{
    char text[400];
    const char *program = make(&(struct made){ LINKER });
    int n = snprintf(text, sizeof text, "#! \t%s -x y\nwork\n", program);

    CHECK_EQ(program_fit_path(write_file("script", text, (size_t)n, 0700)), PROGRAM_FITS);
    make(&(struct made){ NULL });
    snprintf(text, sizeof text, "%s/script", folder());
    CHECK_EQ(program_fit_path(text), PROGRAM_STATIC);
    n = snprintf(text, sizeof text, "#!%s/script\n", folder()); /* and that of its interpreter */
    CHECK_EQ(program_fit_path(write_file("second", text, (size_t)n, 0700)), PROGRAM_STATIC);
    n = snprintf(text, sizeof text, "#!%s/endless\n", folder());
    CHECK_EQ(program_fit_path(write_file("endless", text, (size_t)n, 0700)), PROGRAM_MISSING);
    CHECK_EQ(program_fit_path(write_file("bare", "#!", 2, 0700)), PROGRAM_MISSING);
}

TEST(program_missing_or_of_another_kind_is_left_to_exec)
{
    char path[300];
    int fd;

    CHECK_EQ(program_fit_path("/nowhere/at/all"), PROGRAM_MISSING);
    CHECK_EQ(program_fit_path(folder()), PROGRAM_MISSING);
    CHECK_EQ(program_fit_path(write_file("text", "hello world", 11, 0700)), PROGRAM_MISSING);
    snprintf(path, sizeof path, "%s/fifo", folder());
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(program_fit_path(path), PROGRAM_MISSING); /* and opening it does not block */
    fd = open(make(&(struct made){ LINKER }), O_RDONLY);
    CHECK_EQ(program_fit_file(fd), PROGRAM_FITS);
    close(fd);
    fd = open(make(&(struct made){ LINKER }), O_RDONLY);
    CHECK_EQ(truncate(make(&(struct made){ LINKER }), 70), 0); /* its headers are gone */
    snprintf(path, sizeof path, "%s/program", folder());
    CHECK_EQ(program_fit_path(path), PROGRAM_MISSING);
    close(fd);
}

TEST(program_find_searches_as_exec_does)
{
    char path[300], list[700], want[400];

    make(&(struct made){ LINKER });
    snprintf(list, sizeof list, "/nowhere:%s:/bin", folder());
    snprintf(want, sizeof want, "%s/program", folder());
    CHECK_STR(program_find("program", list, path, sizeof path), want);
    CHECK_STR(program_find("sh", list, path, sizeof path), "/bin/sh");
    CHECK_STR(program_find("sh", NULL, path, sizeof path), "/bin/sh");
    CHECK_STR(program_find("./x/sh", list, path, sizeof path), "./x/sh");
    CHECK(!program_find("no such program", list, path, sizeof path));
    CHECK(!program_find("", list, path, sizeof path));
    CHECK(!program_find("program", list, path, 20));
    CHECK_EQ(chmod(want, 0600), 0);
    CHECK(!program_find("program", list, path, sizeof path) || geteuid() == 0);
    CHECK_EQ(chdir(folder()), 0);
    CHECK_EQ(chmod(want, 0700), 0);
    CHECK_STR(program_find("program", "/nowhere:", path, sizeof path), "program");
}
