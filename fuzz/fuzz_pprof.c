/* fuzz_pprof.c - pprof profiles, read and written in every format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_format.h"

FUZZ_FORMAT(pprof)
