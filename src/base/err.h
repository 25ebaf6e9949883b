/* err.h - the error that a fallible function reports.  The caller owns the struct and zeroes it.
 * The first error is kept, and callers add context.  Only cli/ prints errors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_ERR_H
#define FATHOM_BASE_ERR_H

enum err_code {
    ERR_NONE,
    ERR_SYSTEM,   /* a system call failed; sys holds its errno */
    ERR_FORMAT,   /* input is not what it claims to be */
    ERR_LIMIT,    /* input exceeds a limit */
    ERR_REFUSED,  /* a permission is missing */
    ERR_MISSING,  /* a requested item does not exist */
    ERR_USAGE,    /* the command line is invalid */
    ERR_COMMAND,  /* a command cannot be run; sys holds its errno */
};

struct err {
    enum err_code code;
    int sys;
    char msg[512];
    char hint[384]; /* what the user can do about it, or "" */
};

/* Record a failure unless one is recorded already.  E may be NULL.  Always returns -1. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same from errno: "FMT: strerror(errno)". */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Put "FMT: " before the message.  Always returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Set the hint, unless one is set. */
void err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
