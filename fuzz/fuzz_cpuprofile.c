/* fuzz_cpuprofile.c - V8's profiles, read and written in every format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_format.h"

FUZZ_FORMAT(cpuprofile)
