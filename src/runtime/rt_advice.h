/* rt_advice.h - findings of the rules (rules/) about the program's own zones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_ADVICE_H
#define FATHOM_RUNTIME_RT_ADVICE_H

#include "rules/rules.h"

/* Visit at most MOST findings, strongest first.  Returns the number of all findings. */
int rt_advice_each(const struct zone_rows *r, int most,
                   void (*visit)(const struct finding *, void *), void *arg);

#endif
