/* fuzz_perfscript.c - the output of perf script, read and written in every format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_format.h"

FUZZ_FORMAT(perfscript)
