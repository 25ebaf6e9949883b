/* rt_plugin.c - an instrumented library that is loaded and unloaded.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fathom.h>

void plugin_run(int n);

void plugin_run(int n)
{
    FATHOM_ZONE("plugin");
    for (int i = 0; i < n; i++) {
        FATHOM_ZONE("inner");
    }
}
