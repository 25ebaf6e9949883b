/* meta.c - see meta.def.  SPDX-License-Identifier: Apache-2.0 */
#include "profile/meta.h"

#include <stddef.h>

const struct meta_key meta_keys[] = {
#define META(key, unit, about) { key, unit, about },
#include "profile/meta.def"
#undef META
    { NULL, NULL, NULL },
};
