// rt_all_cxx.cc - rt_all.c as C++.
// SPDX-License-Identifier: Apache-2.0
#include "rt_all.c"
