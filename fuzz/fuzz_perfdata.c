/* fuzz_perfdata.c - perf.data files, read and written in every format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_format.h"

FUZZ_FORMAT(perfdata)
