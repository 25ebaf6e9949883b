/* vgframe.c - see vgframe.h.  SPDX-License-Identifier: Apache-2.0 */
#include "formats/vgframe.h"

/* " (ht.c:6)" or " (in /usr/lib/x.so)" at the end of T, which is removed. */
static void cut_place(struct intern *in, struct scan_text *t, struct function *f, uint32_t *line)
{
    struct scan_text place = *t, number;
    size_t at = t->n;
    uint64_t x;

    if (!at || t->s[at - 1] != ')')
        return;
    while (at > 1 && !(t->s[at - 1] == '(' && t->s[at - 2] == ' '))
        at--;
    if (at < 2)
        return;
    place = scan_of(t->s + at, t->n - at - 1);
    t->n = at - 2;
    if (scan_take(&place, "in ")) {
        f->module = intern_path(in, intern_string(in, place.s, place.n));
        return;
    }
    for (at = place.n; at && place.s[at - 1] != ':';)
        at--;
    number = scan_of(place.s + at, place.n - at);
    if (at && scan_u64(&number, &x) && !number.n && x <= UINT32_MAX) {
        *line = (uint32_t)x;
        place.n = at - 1;
    }
    f->file = place.n ? intern_string(in, place.s, place.n) : 0;
}

uint32_t vgframe_of(struct intern *in, struct scan_text t)
{
    struct scan_text after = t;
    struct function f = { 0 };
    uint32_t line = 0;

    if (scan_take(&after, "0x") && scan_skip_hex(&after) && scan_take(&after, ": "))
        t = after;
    cut_place(in, &t, &f, &line);
    f.name = t.n && !scan_is(t, "???") ? intern_string(in, t.s, t.n)
                                       : intern_cstr(in, "[unknown]");
    return intern_named_frame(in, FRAME_NATIVE, intern_function(in, &f), line);
}
