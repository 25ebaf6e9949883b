/* sym_locate.c - see sym_locate.h.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/sym_locate.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/sym_debuginfod.h"

void sym_locate_hex(char *text, const uint8_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    text[2 * n] = 0;
}

/* Open what M names. */
static int open_named(const struct sym_module *m, const char *path, struct err *e)
{
    return named_open(m->req.root, path, m->req.user, 0, e);
}

/* Open a file of our own system; HOW as in named_open. */
static int open_own(const char *path, unsigned how)
{
    return named_open("", path, NULL, how, NULL);
}

int sym_locate_owned(struct sym_module *m, const char *root, const char *path)
{
    struct err e = { 0 };
    int fd = named_open(root, path, m->req.user, NAMED_OWNED | NAMED_NO_LINK, &e);

    if (fd < 0 && e.code == ERR_REFUSED) {
        sym_module_set_problem(m, "%s is ignored: %s", path, e.msg);
        m->ignored = true;
    }
    return fd;
}

int sym_locate_dup(const struct sym_module *m)
{
    return m->req.file > 0 ? fcntl(m->req.file, F_DUPFD_CLOEXEC, 3) : -1;
}

static bool same_id(const struct sym_image *im, const uint8_t *id, size_t n)
{
    return im->build_id_size == n && memcmp(im->build_id, id, n) == 0;
}

static struct sym_image *check_id(struct sym_module *m, struct sym_image *im)
{
    char was[2 * SYM_BUILD_ID_MAX + 1], is[2 * SYM_BUILD_ID_MAX + 1];

    if (!im || !m->req.build_id_size || same_id(im, m->req.build_id, m->req.build_id_size))
        return im;
    sym_locate_hex(was, m->req.build_id, m->req.build_id_size);
    sym_locate_hex(is, im->build_id, im->build_id_size);
    sym_module_set_problem(m,
                           "%s was replaced after the recording (build id %.12s then, %.12s now)",
                           m->req.path, was, *is ? is : "none");
    sym_image_close(im);
    return NULL;
}

struct sym_image *sym_locate_file(struct sym_module *m)
{
    struct err e = { 0 };
    struct sym_image *im;
    int fd;

    if (m->req.kind == MODULE_VDSO) {
        im = sym_image_open_vdso(&e);
    } else {
        fd = sym_locate_dup(m);
        if (fd < 0)
            fd = open_named(m, m->req.path, &e);
        if (fd < 0) {
            sym_module_set_problem(m, "%s cannot be read: %s", m->req.path,
                                   e.sys ? strerror(e.sys) : e.msg);
            return NULL;
        }
        im = sym_image_open_fd(fd, m->req.path, &e);
    }
    if (!im)
        sym_module_set_problem(m, "%s", e.msg);
    return check_id(m, im);
}

struct wanted { /* what a debug file must match */
    const uint8_t *id;
    size_t id_size;
    uint32_t crc;
    bool has_crc;
};

static struct sym_image *open_if_matching(int fd, const char *path, const struct wanted *w)
{
    struct sym_image *im = fd >= 0 ? sym_image_open_fd(fd, path, NULL) : NULL;
    bool right;

    if (!im)
        return NULL;
    if (w->id_size && im->build_id_size)
        right = same_id(im, w->id, w->id_size);
    else
        right = w->has_crc && sym_image_crc(im) == w->crc;
    if (right)
        return im;
    sym_image_close(im);
    return NULL;
}

static struct sym_image *by_build_id(const struct sym_module *m, const struct wanted *w)
{
    char hex[2 * SYM_BUILD_ID_MAX + 1], path[2 * SYM_BUILD_ID_MAX + 64];
    struct sym_image *im;

    if (w->id_size < 2)
        return NULL;
    sym_locate_hex(hex, w->id, w->id_size);
    snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    if (*m->req.root && (im = open_if_matching(open_named(m, path, NULL), path, w)))
        return im;
    return open_if_matching(open_own(path, 0), path, w);
}

static struct sym_image *by_debuglink(struct sym_module *m, const char *link,
                                      const struct wanted *w)
{
    static const struct {
        const char *before, *below;
    } places[] = { { "", "" }, { "", ".debug/" }, { "/usr/lib/debug", "" } };
    const char *slash = strrchr(m->req.path, '/');
    int folder = slash ? (int)(slash - m->req.path) + 1 : 0;
    struct stat own, st;

    if (!link || fstat(m->file->fd, &own) < 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        char path[PATH_MAX];
        struct sym_image *im;
        int fd;

        if (snprintf(path, sizeof path, "%s%.*s%s%s", places[i].before, folder, m->req.path,
                     places[i].below, link) >= (int)sizeof path)
            continue;
        fd = open_named(m, path, NULL);
        /* A link to the file itself would be found first and add nothing. */
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == own.st_ino && st.st_dev == own.st_dev) {
            close(fd);
            continue;
        }
        im = open_if_matching(fd, path, w);
        if (im)
            return im;
    }
    return NULL;
}

struct sym_image *sym_locate_debug(struct sym_module *m)
{
    struct wanted w = { m->req.build_id, m->req.build_id_size, 0, false };
    struct sym_image *im;
    const char *link = NULL, *fetched;

    if (m->file) {
        w.id = m->file->build_id;
        w.id_size = m->file->build_id_size;
        link = sym_image_debuglink(m->file, &w.crc);
        w.has_crc = link != NULL;
    }
    im = by_build_id(m, &w);
    if (!im && m->file && m->file->fd >= 0)
        im = by_debuglink(m, link, &w);
    if (im || w.id_size < 2)
        return im;
    fetched = sym_debuginfod_cached(w.id, w.id_size);
    if (fetched)
        im = open_if_matching(open_own(fetched, NAMED_OWNED), fetched, &w);
    else
        sym_debuginfod_want(w.id, w.id_size);
    return im;
}

/* The folder of PATH with its last slash; "" when PATH is not absolute. */
static int folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return *path == '/' && slash ? (int)(slash - path) + 1 : 0;
}

int sym_locate_dwo(const struct sym_module *m, const char *dir, const char *name)
{
    int folder = folder_of(m->req.path), fd = -1;
    char path[PATH_MAX];

    if (!folder || !*name) /* not a file */
        return -1;
    if (*name == '/')
        return open_named(m, name, NULL);
    if (snprintf(path, sizeof path, "%.*s%s", folder, m->req.path, name) < (int)sizeof path)
        fd = open_named(m, path, NULL);
    if (fd < 0 && *dir == '/' &&
        snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path)
        fd = open_named(m, path, NULL);
    return fd;
}

struct sym_image *sym_locate_alt(const struct sym_module *m, const char *of, const char *name,
                                 const void *id, size_t id_size)
{
    struct wanted w = { id, id_size, 0, false };
    struct sym_image *im = by_build_id(m, &w);
    char path[PATH_MAX];

    if (im || !folder_of(of) ||
        snprintf(path, sizeof path, "%.*s%s", *name == '/' ? 0 : folder_of(of), of, name) >=
            (int)sizeof path)
        return im;
    return open_if_matching(open_named(m, path, NULL), path, &w);
}
