/* output.h - the output of a command: a file, or "-" for standard output.
 *
 *     struct output o;
 *     if (output_open(&o, path, SAVE_SHARED, e) < 0)
 *         return -1;
 *     ... write to o.fd ...
 *     return output_close(&o, rc == 0, e);
 *
 * Write a file under a temporary name and rename it into place (base/save.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_CLI_OUTPUT_H
#define FATHOM_CLI_OUTPUT_H

#include "base/save.h"
#include "formats/formats.h"

struct output {
    int fd;
    const char *path; /* NULL: standard output */
    struct save save;
    bool keep_old; /* rename the file that output_close replaces to PATH.old */
    /* of output_start: */
    struct place at;
    bool has_old; /* PATH.old is the file that was replaced */
};

/* NULL as PATH means "-".  MODE is SAVE_PRIVATE or SAVE_SHARED. */
int output_open(struct output *o, const char *path, unsigned mode, struct err *e);
/* If not GOOD, discard the file, prefix the message of E with the path, and return -1. */
int output_close(struct output *o, bool good, struct err *e);

/* For a recording: PATH gets its new file at once, so that what was written can be read if the
 * recorder is killed, and an old file is renamed to PATH.old.  End with output_end; UNDO restores
 * the old state. */
int output_start(struct output *o, const char *path, struct err *e);
void output_end(struct output *o, bool undo);
struct out output_profile(const struct output *o); /* to write a .fathom file to it */

/* Write V to PATH in format F. */
int output_write(const char *path, const struct format *f, const struct an_view *v,
                 const struct export_options *opt, struct err *e);

/* Write all of P to PATH as a .fathom file. */
int output_save(const char *path, bool keep_old, const struct profile *p, struct err *e);

#endif
