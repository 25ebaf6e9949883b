/* meta.h - the table made from meta.def.  SPDX-License-Identifier: Apache-2.0 */
#ifndef FATHOM_PROFILE_META_H
#define FATHOM_PROFILE_META_H

struct meta_key {
    const char *key, *unit, *about;
};
extern const struct meta_key meta_keys[]; /* ended by a NULL key */

#endif
