/* input.c - see input.h.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

#include <unistd.h>

#include "formats/formats.h"

struct profile *input_open_path(const char *path, struct err *e)
{
    if (path)
        return format_open(path, e);
    if (access(INPUT_DEFAULT, F_OK) != 0) {
        err_set(e, ERR_MISSING, "no file was named and there is no " INPUT_DEFAULT " here");
        err_hint(e, "fathom record -- COMMAND makes one");
        return NULL;
    }
    return format_open(INPUT_DEFAULT, e);
}

struct profile *input_open(const struct opts_rest *rest, struct err *e)
{
    if (rest->n > 1 || (rest->n && rest->command)) {
        err_set(e, ERR_USAGE, "one file at a time: \"%s\" is too much", rest->v[rest->n - 1]);
        return NULL;
    }
    if (rest->command)
        return input_record(rest->command, e);
    return input_open_path(rest->n ? rest->v[0] : NULL, e);
}
