/* fuzz_cachegrind.c - cachegrind files, read and written in every format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_format.h"

FUZZ_FORMAT(cachegrind)
