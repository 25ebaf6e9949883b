/* remedy.c - see remedy.h.  SPDX-License-Identifier: Apache-2.0 */
#include "text/remedy.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "text/human.h"
#include "text/notice.h"

/* The soft limit, if there is one. */
static bool limit(int resource, rlim_t *now)
{
    struct rlimit r;

    *now = RLIM_INFINITY;
    if (getrlimit(resource, &r) == 0)
        *now = r.rlim_cur;
    return *now != RLIM_INFINITY;
}

void remedy_print(int sys)
{
    rlim_t now;

    switch (sys) {
    case EFBIG:
        if (limit(RLIMIT_FSIZE, &now))
            notice("  raise the limit on file sizes, now %s: ulimit -f unlimited",
                   human_bytes((double)now).s);
        else
            notice("  write to a file system that allows larger files");
        break;
    case ENOSPC:
    case EDQUOT:
        notice("  free some space, or write to another file system");
        break;
    case EMFILE:
        limit(RLIMIT_NOFILE, &now);
        notice("  raise the limit on open files, now %llu: ulimit -n 65536",
               (unsigned long long)now);
        break;
    case ENFILE:
        notice("  raise the limit on open files of the whole machine: sysctl fs.file-max");
        break;
    case ENOMEM:
        if (limit(RLIMIT_AS, &now))
            notice("  raise the limit on memory, now %s: ulimit -v unlimited",
                   human_bytes((double)now).s);
        else
            notice("  free some memory");
        break;
    default:
        break;
    }
}

static void ignore(int signal)
{
    (void)signal;
}

/* Not SIG_IGN, which a recorded command would inherit. */
void remedy_survive_file_limit(void)
{
    struct sigaction old, a = { .sa_handler = ignore, .sa_flags = SA_RESTART };

    if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &a, NULL);
}
