/* notice.h - the lines for people that a command writes to standard error.  They quote paths,
 * messages and names from files, so they are cleaned like all output (text/out.h); a line end in
 * a name becomes '?' too.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_TEXT_NOTICE_H
#define FATHOM_TEXT_NOTICE_H

/* Write one line; FMT has no line end. */
void notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
