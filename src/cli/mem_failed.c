/* mem_failed.c - print an error and exit when the tool runs out of memory.  The core itself never
 * exits the process (base/mem.h).  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

void mem_failed(size_t bytes)
{
    fprintf(stderr, "fathom: out of memory (allocating %zu bytes)\n", bytes);
    exit(EXIT_FAILURE);
}
