/* trust.h - whether other users can exchange what a path leads to.
 *
 * A library that is preloaded into programs of root must not be one that somebody else chose, and
 * neither must the folder with the link to it.  The owner of any directory on the way can rename
 * what is in it, and so can everybody who may write to it, unless it is sticky.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_BASE_TRUST_H
#define FATHOM_BASE_TRUST_H

#include <limits.h>
#include <stdbool.h>

/* Write to REAL what PATH leads to, without links.  Returns whether only root, the effective user
 * and those who can exchange the running program, too, can exchange it; false also if it does not
 * exist. */
bool trust_path(const char *path, char real[PATH_MAX]);

#endif
