/* scopes.cc - C++ names: templates, namespaces, file-local functions.
 * build: scopes g++ -O2 -g -o @OUT@ @IN@
 * build: scopes-nodebug g++ -O2 -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdint>

#define MARK                                                                                \
    __asm__ volatile("1: nop\n .pushsection marks,\"\",@progbits\n .quad %c0, 1b\n .popsection" \
                     : : "i"(__LINE__))

volatile uint64_t keep;

#line 100
namespace outer {
template <typename T, int N> struct Box {
    __attribute__((noinline)) void put(T x)
    {
        keep += static_cast<uint64_t>(x) * N;
        MARK; /* 105 */
    }
};
namespace {
__attribute__((always_inline)) inline void unseen(uint64_t x)
{
    keep += x;
    MARK; /* 112 */
}
struct Local {
    __attribute__((noinline)) void run(uint64_t x)
    {
        keep ^= x;
        unseen(x); /* 118 */
        MARK; /* 119 */
    }
};
}
template <typename F> __attribute__((noinline)) void call(F f)
{
    f();
}
void go(uint64_t x)
{
    call([=]() __attribute__((noinline)) {
        keep += x;
        MARK; /* 131 */
    });
    Box<long, 3>().put(static_cast<long>(x));
    Local().run(x);
}
}

int main(int argc, char **)
{
    outer::go(static_cast<uint64_t>(argc));
    MARK; /* 141: in no scope, although namespaces precede it */
}
