/* output.c - see output.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int output_open(struct output *o, const char *path, unsigned mode, struct err *e)
{
    *o = (struct output){ .fd = STDOUT_FILENO };
    if (!path || strcmp(path, "-") == 0)
        return 0;
    o->path = path;
    if (save_open(&o->save, path, mode) < 0)
        return err_sys(e, "cannot write %s", path);
    o->fd = o->save.fd;
    return 0;
}

int output_close(struct output *o, bool good, struct err *e)
{
    if (!o->path)
        return good ? 0 : -1;
    if (save_close(&o->save, o->path, good) < 0)
        return err_sys(e, "cannot write %s", o->path);
    return good ? 0 : err_wrap(e, "%s", o->path);
}

int output_write(const char *path, const struct format *f, const struct an_view *v,
                 const struct export_options *opt, struct err *e)
{
    bool is_profile = strcmp(f->name, "fathom") == 0;
    struct output o;
    struct out out;
    int rc;

    if (output_open(&o, path, is_profile ? SAVE_PRIVATE : SAVE_SHARED, e) < 0)
        return -1;
    out = out_fd(o.fd);
    rc = f->write(v, opt, &out, e);
    if (out_close(&out, e) < 0)
        rc = -1;
    return output_close(&o, rc == 0, e);
}

int output_save(const char *path, const struct profile *p, struct err *e)
{
    struct an_view v = an_view_of(p, 0);

    return output_write(path, format_find("fathom"), &v, &(struct export_options){ 0 }, e);
}

int output_keep_old(const char *path, bool back, struct err *e)
{
    char *old = mem_printf("%s.old", path);
    int rc = back ? rename(old, path) : rename(path, old);

    free(old);
    return rc < 0 ? err_sys(e, "cannot rename %s to %s.old", path, path) : 0;
}
