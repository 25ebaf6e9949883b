/* program.c - see program.h.  SPDX-License-Identifier: Apache-2.0 */
#include "base/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SEGMENTS = 32, DYNAMIC = 256, NAME = 256, SCRIPTS = 4 };

#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
static const char linker[] = "ld-linux-aarch64.so.1";
#else
enum { MACHINE = EM_X86_64 };
static const char linker[] = "ld-linux-x86-64.so.2";
#endif

static bool read_at(int fd, uint64_t at, void *to, size_t n)
{
    return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* A NUL-terminated text of at most NAME bytes; it may lie at the end of the file. */
static bool read_text(int fd, uint64_t at, char *text)
{
    ssize_t n = pread(fd, text, NAME, (off_t)at);

    return n > 0 && memchr(text, 0, (size_t)n);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n >= k && memcmp(text + n - k, end, k) == 0;
}

struct program {
    int fd;
    Elf64_Phdr segment[SEGMENTS];
    size_t n;
};

static const Elf64_Phdr *find_segment(const struct program *p, uint32_t type)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->segment[i].p_type == type)
            return &p->segment[i];
    return NULL;
}

/* Offset in the file of a virtual address, or 0. */
static uint64_t offset_of(const struct program *p, uint64_t address)
{
    for (size_t i = 0; i < p->n; i++) {
        const Elf64_Phdr *s = &p->segment[i];

        if (s->p_type == PT_LOAD && address >= s->p_vaddr && address - s->p_vaddr < s->p_filesz)
            return address - s->p_vaddr + s->p_offset;
    }
    return 0;
}

static bool is_sanitizer(const char *library)
{
    static const char *const prefixes[] = { "libasan.so", "libtsan.so", "libmsan.so", "liblsan.so",
                                            "libhwasan.so", "libclang_rt." };

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (memcmp(library, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static bool is_sanitized(const struct program *p)
{
    const Elf64_Phdr *s = find_segment(p, PT_DYNAMIC);
    size_t n = s ? s->p_filesz / sizeof(Elf64_Dyn) : 0;
    uint64_t names = 0;
    Elf64_Dyn d[DYNAMIC];
    char name[NAME];

    n = n < DYNAMIC ? n : DYNAMIC;
    if (!n || !read_at(p->fd, s->p_offset, d, n * sizeof *d))
        return false;
    for (size_t i = 0; i < n; i++)
        if (d[i].d_tag == DT_STRTAB)
            names = offset_of(p, d[i].d_un.d_ptr);
    for (size_t i = 0; i < n && names && d[i].d_tag != DT_NULL; i++)
        if (d[i].d_tag == DT_NEEDED && read_text(p->fd, names + d[i].d_un.d_val, name) &&
            is_sanitizer(name))
            return true;
    return false;
}

static enum program_fit fit_of_elf(int fd, const Elf64_Ehdr *h)
{
    struct program p = { .fd = fd };
    const Elf64_Phdr *interpreter;
    char name[NAME];

    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != MACHINE)
        return PROGRAM_OTHER_CPU;
    p.n = h->e_phnum < SEGMENTS ? h->e_phnum : SEGMENTS;
    if (h->e_phentsize != sizeof *p.segment ||
        !read_at(fd, h->e_phoff, p.segment, p.n * sizeof *p.segment))
        return PROGRAM_MISSING;
    interpreter = find_segment(&p, PT_INTERP);
    if (!interpreter)
        return PROGRAM_STATIC;
    if (!read_text(fd, interpreter->p_offset, name) || !ends_with(name, linker))
        return PROGRAM_OTHER_LIBC;
    return is_sanitized(&p) ? PROGRAM_SANITIZED : PROGRAM_FITS;
}

static bool is_elevated(int fd, const struct stat *st)
{
    char value;

    return st->st_mode & S_ISUID || (st->st_mode & S_ISGID && st->st_mode & S_IXGRP) ||
           fgetxattr(fd, "security.capability", &value, 0) > 0;
}

/* The path behind "#!" in HEAD. */
static bool take_interpreter(char *head, size_t n, char *path)
{
    char *from = head + 2, *end;

    head[n] = 0;
    from += strspn(from, " \t");
    end = from + strcspn(from, " \t\n");
    if (end == from || (size_t)(end - from) >= NAME)
        return false;
    memcpy(path, from, (size_t)(end - from));
    path[end - from] = 0;
    return true;
}

/* Judge FD; a script sets PATH to its interpreter and returns PROGRAM_MISSING. */
static enum program_fit fit(int fd, char *path)
{
    union {
        Elf64_Ehdr elf;
        char text[NAME + 1];
    } head;
    ssize_t n = pread(fd, head.text, NAME, 0);
    struct stat st;

    path[0] = 0;
    if (n < 2 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return PROGRAM_MISSING;
    if (memcmp(head.text, "#!", 2) == 0) {
        if (!take_interpreter(head.text, (size_t)n, path))
            path[0] = 0;
        return PROGRAM_MISSING;
    }
    if (n < (ssize_t)sizeof head.elf || memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0)
        return PROGRAM_MISSING;
    return is_elevated(fd, &st) ? PROGRAM_ELEVATED : fit_of_elf(fd, &head.elf);
}

static enum program_fit fit_of_path(const char *path, char *next)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum program_fit found;

    next[0] = 0;
    if (fd < 0)
        return errno == EACCES ? PROGRAM_UNREADABLE : PROGRAM_MISSING;
    found = fit(fd, next);
    close(fd);
    return found;
}

static enum program_fit follow(enum program_fit found, char *next)
{
    char path[NAME];

    for (int i = 0; i < SCRIPTS && next[0]; i++) {
        memcpy(path, next, sizeof path);
        found = fit_of_path(path, next);
    }
    return found;
}

enum program_fit program_fit_path(const char *path)
{
    int saved = errno;
    char next[NAME] = "";
    enum program_fit found = follow(fit_of_path(path, next), next);

    errno = saved;
    return found;
}

enum program_fit program_fit_file(int fd)
{
    int saved = errno;
    char next[NAME] = "";
    enum program_fit found = follow(fit(fd, next), next);

    errno = saved;
    return found;
}

static bool may_run(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *program_find(const char *name, const char *list, char *path, size_t size)
{
    size_t n = strlen(name);
    int saved = errno;

    if (strchr(name, '/'))
        return name;
    for (const char *at = list ? list : "/bin:/usr/bin"; n; at++) {
        size_t folder = strcspn(at, ":");

        if (folder + n + 2 <= size) {
            memcpy(path, at, folder);
            path[folder] = '/';
            memcpy(path + folder + (folder > 0), name, n + 1); /* "": this folder */
            if (may_run(path)) {
                errno = saved;
                return path;
            }
        }
        at += folder;
        if (!*at)
            break;
    }
    errno = saved;
    return NULL;
}
