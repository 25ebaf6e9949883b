/* rt_off.c - compiled twice, with -DFATHOM_OFF and with RT_BARE, which removes all zones.  The
 * object code must be the same.  SPDX-License-Identifier: Apache-2.0 */
#ifdef RT_BARE
#define FATHOM_ZONE(name) ((void)0)
#define FATHOM_OP(name, bytes, backend) ((void)0)
#define FATHOM_COUNT(name, delta) ((void)0)
#define FATHOM_CONTEXT(name) ((void)0)
#define FATHOM_FUNC() ((void)0)
#define FATHOM_BEGIN(var, name) ((void)0)
#define FATHOM_LAP(var, name) ((void)0)
#define FATHOM_END(var) ((void)0)
#define fathom_enable() (0)
#else
#include <fathom.h>
#endif

int rt_off(int n);

int rt_off(int n)
{
    int sum = 0;

    FATHOM_FUNC();
    FATHOM_CONTEXT("request");
    FATHOM_BEGIN(z, "first");
    if (fathom_enable() < 0)
        return 0;
    for (int i = 0; i < n; i++) {
        FATHOM_ZONE("loop");
        FATHOM_OP("op", 10, "cpu");
        FATHOM_COUNT("n", 1);
        sum += i * n;
    }
    FATHOM_LAP(z, "second");
    FATHOM_END(z);
    return sum;
}
