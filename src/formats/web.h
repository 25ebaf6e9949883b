/* web.h - the viewer's files, embedded at build time by tools/embed-web.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_WEB_H
#define FATHOM_FORMATS_WEB_H

#include <stddef.h>

struct web_file {
    const char *name; /* path below web/src; NULL ends the list */
    const unsigned char *data; /* NUL-terminated */
    size_t size;
};
extern const struct web_file web_files[];

#endif
