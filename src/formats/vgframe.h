/* vgframe.h - a place in a program as Valgrind's tools spell it:
 *     0x10918A: main (ht.c:6)      0x48417B4: malloc (in /usr/lib/x.so)      0x1: ??? (in /y)
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_FORMATS_VGFRAME_H
#define FATHOM_FORMATS_VGFRAME_H

#include "formats/textscan.h"
#include "profile/intern.h"

/* Intern the frame that TEXT describes.  Never fails: any text is a name. */
uint32_t vgframe_of(struct intern *in, struct scan_text text);

#endif
