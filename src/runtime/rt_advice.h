/* rt_advice.h - what the rules (rules/) find in a program's own zones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_ADVICE_H
#define FATHOM_RUNTIME_RT_ADVICE_H

#include "rules/rules.h"

/* Visit the MOST strongest findings, strongest first.  Returns how many there are. */
int rt_advice_each(const struct zone_rows *r, int most,
                   void (*visit)(const struct finding *, void *), void *arg);

#endif
