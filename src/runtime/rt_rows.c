/* rt_rows.c - see rt_rows.h.  SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rt_rows.h"

#include <string.h>
#include <unistd.h>

#include "base/save.h"
#include "base/utf8.h"
#include "runtime/rt.h"
#include "target/tgt_guard.h"

void rt_complain(const char *what, const char *about)
{
    char line[600];
    size_t a = strnlen(what, 200), b = strnlen(about, 300);

    memcpy(line, "fathom: ", 8);
    memcpy(line + 8, what, a);
    memcpy(line + 8 + a, about, b);
    utf8_clean_line(line, 8 + a + b);
    line[8 + a + b] = '\n';
    save_write(STDERR_FILENO, line, a + b + 9);
}

/* While measuring is off, do not measure the cost of a zone again: two results must be equal. */
int rt_rows_take(struct zone_rows *r, bool per_thread)
{
    int rc;
    TGT_KEEP_ERRNO();

    if (!rt.head)
        return FATHOM_E_STATE;
    rt_clock_refine();
    tgt_lock(&rt.lock);
    if (rt.enabled)
        rt_clock_cost(rt.head);
    tgt_unlock(&rt.lock);
    tgt_lock(&rt.threads_lock);
    rc = zone_rows_read(r, rt.head, (size_t)rt.pool.n_pages * LIVE_PAGE, per_thread);
    tgt_unlock(&rt.threads_lock);
    return rc;
}
