/* rt_report.h - a result as text.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_RUNTIME_RT_REPORT_H
#define FATHOM_RUNTIME_RT_REPORT_H

#include "runtime/rt_out.h"
#include "runtime/rt_rows.h"

void rt_report_table(struct rt_out *o, const struct zone_rows *r, const char *context);
void rt_report_compact(struct rt_out *o, const struct zone_rows *r, const char *context);
void rt_report_json(struct rt_out *o, const struct zone_rows *r, const char *context);
void rt_report_csv(struct rt_out *o, const struct zone_rows *r, const char *context);

extern const char *const rt_kind_name[LIVE_SITE_KINDS];
extern const char *const rt_loss_name[FATHOM_LOST_CAUSES];
/* Walk the rows in the order of the report: children after their parent, most expensive first. */
uint32_t rt_report_next(const struct zone_rows *r, uint32_t row); /* preorder; LIVE_NO_NODE */
bool rt_report_shows(const struct zone_rows *r, uint32_t row, const char *context);

#endif
