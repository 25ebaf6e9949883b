/* rt_hostile.c - a program whose names and labels would control a terminal, start another line, or
 * be a formula in a spreadsheet; test_hostile.py checks what libfathom prints.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fathom.h>

#include <sys/prctl.h>

/* ESC, BEL, CR, a line end, C1, U+202E, U+2066, DEL, a byte that is not UTF-8 */
#define EVIL "\033]0;t\a\033[2J\r\nINJECTED\302\233K\342\200\256\342\201\246\177\377<b>\"&;/'"

static volatile unsigned keep;

static void work(void)
{
    for (unsigned i = 0; i < 100000; i++)
        keep += i;
}

int main(void)
{
    prctl(PR_SET_NAME, "=\033[2J\a\r\nINJE");
    fathom_thread_name("@thread" EVIL);
    for (int i = 0; i < 20; i++) {
        FATHOM_CONTEXT("=context" EVIL);
        FATHOM_ZONE("=cmd|' /C calc'!A0" EVIL);
        {
            FATHOM_OP_V(op, "+op" EVIL, 1000, "-backend" EVIL);
            fathom_op_label(&op, "@label" EVIL);
            work();
        }
        FATHOM_COUNT_L("=count" EVIL, 2, "+label" EVIL);
        FATHOM_GAUGE("-gauge" EVIL, i);
        FATHOM_INSTANT("@tick" EVIL);
    }
    return 0;
}
