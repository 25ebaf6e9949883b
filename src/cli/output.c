/* output.c - see output.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/limits.h"

#include "base/mem.h"

/* Say why PATH cannot be written; errno has the cause. */
static int refuse(const char *path, const struct place *at, struct err *e)
{
    if (!at->foreign)
        return err_sys(e, "cannot write %s", path);
    err_hint(e, "choose a file in a directory of your own, or remove it");
    return err_set(e, ERR_REFUSED,
                   "%s: will not write through the link, FIFO or device of another user", path);
}

int output_open(struct output *o, const char *path, unsigned mode, struct err *e)
{
    *o = (struct output){ .fd = STDOUT_FILENO };
    if (!path || strcmp(path, "-") == 0)
        return 0;
    o->path = path;
    if (save_open(&o->save, path, mode) < 0)
        return refuse(path, &o->save.at, e);
    o->fd = o->save.fd;
    return 0;
}

/* Rename the regular file at a place to NAME.old, or with BACK, NAME.old to NAME. */
static int keep_old(const struct place *at, bool back)
{
    char *old = mem_printf("%s.old", at->name);
    int rc = renameat(at->folder, back ? old : at->name, at->folder, back ? at->name : old);

    free(old);
    return rc;
}

int output_close(struct output *o, bool good, struct err *e)
{
    if (!o->path)
        return good ? 0 : -1;
    if (good && o->keep_old && !o->save.direct && o->save.at.st.st_mode)
        keep_old(&o->save.at, false);
    if (save_close(&o->save, good) < 0)
        return err_sys(e, "cannot write %s", o->path);
    return good ? 0 : err_wrap(e, "%s", o->path);
}

static int create_visible(struct output *o)
{
    if (!place_is_replaced(&o->at))
        return place_open(&o->at, O_WRONLY | (o->at.by_kernel ? O_TRUNC : 0));
    if (o->at.st.st_mode && keep_old(&o->at, false) < 0)
        return -1;
    o->has_old = o->at.st.st_mode != 0;
    return openat(o->at.folder, o->at.name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, SAVE_PRIVATE);
}

int output_start(struct output *o, const char *path, struct err *e)
{
    *o = (struct output){ .fd = -1, .at.folder = -1 };
    if (strcmp(path, "-") == 0) {
        o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return o->fd < 0 ? err_sys(e, "standard output") : 0;
    }
    o->path = path;
    if (place_find(&o->at, path) == 0)
        o->fd = create_visible(o);
    if (o->fd >= 0)
        return 0;
    refuse(path, &o->at, e);
    output_end(o, true);
    return -1;
}

void output_end(struct output *o, bool undo)
{
    struct stat mine, there;

    if (undo && o->fd >= 0 && o->path && place_is_replaced(&o->at) && fstat(o->fd, &mine) == 0 &&
        fstatat(o->at.folder, o->at.name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        there.st_dev == mine.st_dev && there.st_ino == mine.st_ino)
        unlinkat(o->at.folder, o->at.name, 0);
    if (undo && o->has_old)
        keep_old(&o->at, true);
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    place_close(&o->at);
}

struct out output_profile(const struct output *o)
{
    return out_binary(o->fd);
}

static int write_as(const char *path, bool keep_old, const struct format *f,
                    const struct an_view *v, const struct export_options *opt, struct err *e)
{
    bool is_profile = strcmp(f->name, "fathom") == 0;
    struct output o;
    struct out out;
    int rc;

    if (output_open(&o, path, is_profile ? SAVE_PRIVATE : SAVE_SHARED, e) < 0)
        return -1;
    o.keep_old = keep_old;
    out = f->is_binary ? out_binary(o.fd) : out_fd(o.fd);
    out.limit = is_profile ? 0 : LIMIT_EXPORT_BYTES;
    rc = f->write(v, opt, &out, e);
    if (out_close(&out, e) < 0)
        rc = -1;
    return output_close(&o, rc == 0, e);
}

int output_write(const char *path, const struct format *f, const struct an_view *v,
                 const struct export_options *opt, struct err *e)
{
    return write_as(path, false, f, v, opt, e);
}

int output_save(const char *path, bool keep_old, const struct profile *p, struct err *e)
{
    struct an_view v = an_view_of(p, 0);

    return write_as(path, keep_old, format_find("fathom"), &v, &(struct export_options){ 0 }, e);
}
