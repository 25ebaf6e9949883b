/* mem_failed.c - print an error and exit when the tool runs out of memory.  The core itself never
 * exits the process (base/mem.h).  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "text/notice.h"
#include "text/remedy.h"

void mem_failed(size_t bytes)
{
    notice("fathom: out of memory (allocating %zu bytes)", bytes);
    remedy_print(ENOMEM);
    exit(EXIT_FAILURE);
}
