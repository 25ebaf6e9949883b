/* output.c - see output.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_special(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

int output_open(struct output *o, const char *path, struct err *e)
{
    *o = (struct output){ .fd = STDOUT_FILENO };
    if (!path || strcmp(path, "-") == 0)
        return 0;
    o->path = path;
    if (!is_special(path))
        o->unfinished = mem_printf("%s.%ld.tmp", path, (long)getpid());
    o->fd = open(o->unfinished ? o->unfinished : path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                 0666);
    if (o->fd >= 0)
        return 0;
    free(o->unfinished);
    return err_sys(e, "cannot write %s", path);
}

int output_close(struct output *o, bool good, struct err *e)
{
    int rc = 0;

    if (!o->path)
        return good ? 0 : -1;
    if (close(o->fd) < 0 && good)
        rc = err_sys(e, "cannot write %s", o->path);
    else if (!good)
        rc = err_wrap(e, "%s", o->path);
    if (o->unfinished && rc == 0 && rename(o->unfinished, o->path) < 0)
        rc = err_sys(e, "cannot write %s", o->path);
    if (o->unfinished && rc < 0)
        unlink(o->unfinished);
    free(o->unfinished);
    return rc;
}

int output_write(const char *path, const struct format *f, const struct an_view *v,
                 const struct export_options *opt, struct err *e)
{
    struct output o;
    struct out out;
    int rc;

    if (output_open(&o, path, e) < 0)
        return -1;
    out = out_fd(o.fd);
    rc = f->write(v, opt, &out, e);
    if (out_close(&out, e) < 0)
        rc = -1;
    return output_close(&o, rc == 0, e);
}

int output_keep_old(const char *path, bool back, struct err *e)
{
    char *old = mem_printf("%s.old", path);
    int rc = back ? rename(old, path) : rename(path, old);

    free(old);
    return rc < 0 ? err_sys(e, "cannot keep the old %s", path) : 0;
}
