/* web.h - the viewer's files, embedded at build time by tools/embed-web.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_WEB_H
#define FATHOM_FORMATS_WEB_H

#include <stddef.h>

#include "text/out.h"

struct web_file {
    const char *name; /* path below web/src; NULL ends the list */
    const unsigned char *data; /* NUL-terminated */
    size_t size;
};
extern const struct web_file web_files[];

const struct web_file *web_find(const char *name, size_t n); /* NULL when there is none */
void web_put(struct out *o, const struct web_file *w);
/* Write an ES module as part of one script, without import lines and export keywords. */
void web_put_module(struct out *o, const struct web_file *w);
/* Call PUT for each file of NAMES (separated by spaces, up to END). */
void web_put_all(struct out *o, const char *names, const char *end,
                 void (*put)(struct out *o, const struct web_file *w));

#endif
