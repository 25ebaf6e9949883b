// rt_all_cxx.cc - the same as C++.
// SPDX-License-Identifier: Apache-2.0
#include "rt_all.c"
