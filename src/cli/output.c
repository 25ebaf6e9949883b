/* output.c - see output.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int write_fd(int fd, const struct format *f, const struct profile *p,
                    const struct export_options *opt, struct err *e)
{
    struct out out = out_fd(fd);
    int rc = f->write(p, opt, &out, e);

    return out_close(&out, e) < 0 ? -1 : rc;
}

int output_write(const char *path, const struct format *f, const struct profile *p,
                 const struct export_options *opt, struct err *e)
{
    int fd, rc;

    if (!path || strcmp(path, "-") == 0)
        return write_fd(STDOUT_FILENO, f, p, opt, e);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(e, "%s", path);
    rc = write_fd(fd, f, p, opt, e);
    close(fd);
    if (rc == 0)
        return 0;
    unlink(path);
    return err_wrap(e, "%s", path);
}
