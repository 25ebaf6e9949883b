/* main.c - find the command and run it.  SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

int main(int argc, char **argv)
{
    printf("fathom " FATHOM_VERSION "\n");
    return 0;
}
