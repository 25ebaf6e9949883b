/* overflow.c - fuzz/run checks that undefined behavior ends this program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

int main(int argc, char **argv)
{
    volatile int most = INT_MAX;

    most += argc;
    return !argv || most == 0;
}
