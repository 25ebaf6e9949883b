// rt_basic_cxx.cc - every case of rt_basic.c as C++11, and cases that only C++ has.
// SPDX-License-Identifier: Apache-2.0
#define main rt_basic_main
#include "rt_basic.c"
#undef main

template <typename T> static T twice(T x)
{
    FATHOM_ZONE("twice");
    return x + x;
}

inline void in_header()
{
    FATHOM_ZONE("in_header");
}

static void throws()
{
    FATHOM_ZONE("throws");
    throw 1;
}

static void only_cxx()
{
    fathom_enable();
    twice(1);
    twice(2.0);
    in_header();
    for (int i = 0; i < 3; i++) {
        try {
            throws();
        } catch (int) {
        }
    }
    leaf();
    show("twice", (double)count_of("twice"));
    show("in_header", (double)count_of("in_header"));
    show("throws", (double)count_of("throws"));
    show("leaf", (double)count_of("leaf"));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "cxx")) {
        only_cxx();
        return 0;
    }
    return rt_basic_main(argc, argv);
}
