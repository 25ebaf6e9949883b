/* speedscope.h - shared by the writer and the reader of speedscope's JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_SPEEDSCOPE_H
#define FATHOM_FORMATS_SPEEDSCOPE_H

#include "formats/formats.h"

#define SPEEDSCOPE_SCHEMA "https://www.speedscope.app/file-format-schema.json"
#define SPEEDSCOPE_EXPORTER "fathom"

int speedscope_recognize(const struct import_input *in);
int speedscope_import(const struct import_input *in, struct sink *out, struct err *e);

#endif
