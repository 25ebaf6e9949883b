/* web.c - see web.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/web.h"

#include <string.h>

const struct web_file *web_find(const char *name, size_t n)
{
    for (const struct web_file *w = web_files; w->name; w++)
        if (strlen(w->name) == n && memcmp(w->name, name, n) == 0)
            return w;
    return NULL;
}

void web_put(struct out *o, const struct web_file *w)
{
    out_add(o, w->data, w->size);
}

static int starts(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

void web_put_module(struct out *o, const struct web_file *w)
{
    const char *line = (const char *)w->data;

    while (*line) {
        size_t n = strcspn(line, "\n"), whole = n + (line[n] == '\n');
        size_t skip = starts(line, "export ") ? strlen("export ") : 0;

        if (!starts(line, "import "))
            out_add(o, line + skip, whole - skip);
        line += whole;
    }
}

void web_put_all(struct out *o, const char *names, const char *end,
                 void (*put)(struct out *o, const struct web_file *w))
{
    while (names < end) {
        size_t n = strcspn(names, " ");
        const struct web_file *w;

        if (n > (size_t)(end - names))
            n = (size_t)(end - names);
        w = web_find(names, n);
        if (w)
            put(o, w);
        names += n + 1;
    }
}
