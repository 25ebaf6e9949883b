/* chrome.h - shared by the writer and the reader of Chrome's trace events.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_CHROME_H
#define FATHOM_FORMATS_CHROME_H

#include "formats/formats.h"

#define CHROME_SERIES "id"     /* of a counter: its label; every argument would be a counter */
#define CHROME_DETAIL "detail" /* the argument that holds a span's detail */

int chrome_recognize(const struct import_input *in);
int chrome_import(const struct import_input *in, struct sink *out, struct err *e);

#endif
