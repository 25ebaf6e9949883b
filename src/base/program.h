/* program.h - whether the dynamic linker of a program would load a library of ours.
 *
 * LD_PRELOAD makes some programs print an error or refuse to start, and others ignore it.  So both
 * the recorder and the agent look at a program before it starts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_PROGRAM_H
#define FATHOM_BASE_PROGRAM_H

#include <stddef.h>

enum program_fit {
    PROGRAM_FITS,
    PROGRAM_MISSING,    /* there is no such file, or it is neither a program nor a script */
    PROGRAM_UNREADABLE, /* it may be run, but not read */
    PROGRAM_STATIC,     /* no dynamic linker */
    PROGRAM_OTHER_CPU,  /* another machine or word size */
    PROGRAM_OTHER_LIBC, /* a dynamic linker other than that of glibc, such as musl's */
    PROGRAM_SANITIZED,  /* the runtime of its sanitizer must be loaded first */
    PROGRAM_ELEVATED,   /* setuid, setgid or file capabilities */
};

/* Judge the file at PATH, or the interpreter that its first line names. */
enum program_fit program_fit_path(const char *path);
enum program_fit program_fit_file(int fd);
/* Find NAME as execvp does, in the folders of LIST, and write its path to PATH.  A name with a
 * slash is its own path.  NULL if there is none. */
const char *program_find(const char *name, const char *list, char *path, size_t size);

#endif
