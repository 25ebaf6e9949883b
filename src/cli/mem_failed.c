/* mem_failed.c - what the tool does when memory is out: print one sentence and exit.  The core
 * never ends the process itself (base/mem.h).  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

void mem_failed(size_t bytes)
{
    fprintf(stderr, "fathom: out of memory (allocating %zu bytes)\n", bytes);
    exit(EXIT_FAILURE);
}
