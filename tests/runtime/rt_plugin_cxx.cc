// rt_plugin_cxx.cc - rt_plugin.c in C++, where sites register themselves.
// SPDX-License-Identifier: Apache-2.0
#include <fathom.h>

extern "C" void plugin_run(int n);

extern "C" void plugin_run(int n)
{
    FATHOM_ZONE("plugin");
    for (int i = 0; i < n; i++) {
        FATHOM_ZONE("inner");
    }
}
