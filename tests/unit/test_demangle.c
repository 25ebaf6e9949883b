/* test_demangle.c - C++ and Rust names.  SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbol.h"
#include "test.h"

static void check(const char *name, const char *want)
{
    char *got = sym_demangle(name);

    if (want)
        CHECK_STR(got, want);
    else
        CHECK(got == NULL);
    free(got);
}

TEST(demangle_leaves_plain_names)
{
    check("main", NULL);
    check("", NULL);
    check("_start", NULL);
    check("_R", NULL);
    check("_Reader", NULL);
}

TEST(demangle_cxx)
{
    check("_ZN3foo3barEi", "foo::bar(int)");
    check("_ZNSt6vectorIiSaIiEE9push_backERKi",
          "std::vector<int, std::allocator<int> >::push_back(int const&)");
    check("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
    check("_ZN1aL1bB5cxx11Ev", "a::b[abi:cxx11]()");
    check("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()");
    check("_Z1fv.cold", "f() [clone .cold]");
    check("_ZTV3foo", "vtable for foo");
    check("_Zfoo", NULL);
}

TEST(demangle_rust_legacy)
{
    check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
    check("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
          "<Test + 'static as foo::Bar<Test>>::bar");
    check("_ZN12test$BP$test4foob17h05af221e174051e9E", "test*test::foob");
    check("_ZN3foo3bar17h0123456789abcdefE.llvm.9D1C9369", "foo::bar");
}

TEST(demangle_rust_v0)
{
    check("_RNvC6_123foo3bar", "123foo::bar");
    check("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
          "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a"
          "\xe1\x83\x90\xe1\x83\x93_\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98"
          "\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98"
          "\xe1\x83\x9a\xe1\x83\x98");
    check("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}");
    check("_RNvMC0TReB4_EB2_", NULL);
    check("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std",
          "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
    check("_RNvMNtCs1234_7mycrate3modNtB2_3Foo3bar", "<mycrate::mod::Foo>::bar");
    check("_RINvCs1234_7mycrate3fooKj4_E", "mycrate::foo::<4>");
    check("_RINvC1a1bFEuE", "a::b::<fn()>");
    check("_RINvC1a1bRShE", "a::b::<&[u8]>");
    check("_RNCNKNvC1a4KEYS0s_0", "a::KEYS::{K#0}::{closure#1}");
    check("_RNvC1a1b.llvm.123", "a::b");
}

/* Each type is a pair of the type before it, so 60 of them would print 2^60 names. */
TEST(demangle_refuses_names_that_explode)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char cxx[1024] = "_Z1f1pIiiE", rust[1024] = "_RINvC1a1bTyyE";
    size_t at = 8;

    for (int i = 0; i < 35; i++)
        sprintf(cxx + strlen(cxx), "S_IS%c_S%c_E", digits[i], digits[i]);
    check(cxx, NULL);
    for (int i = 0; i < 40; i++) {
        size_t next = strlen(rust) - 2, hi = (at - 1) / 62, lo = (at - 1) % 62;
        char ref[8];

        lo = (size_t)(lo < 10 ? '0' + (int)lo : lo < 36 ? 'a' + (int)lo - 10 : 'A' + (int)lo - 36);
        if (hi)
            sprintf(ref, "%c%c", (char)('0' + hi), (char)lo);
        else
            sprintf(ref, "%c", (char)lo);
        sprintf(rust + strlen(rust), "TB%s_B%s_E%s", ref, ref, i ? "" : "E");
        if (i == 0) {
            check(rust, "a::b::<(u64, u64), ((u64, u64), (u64, u64))>");
            rust[strlen(rust) - 1] = 0;
        }
        at = next;
    }
    strcat(rust, "E");
    check(rust, NULL);
}

TEST(demangle_refuses_only_large_binders)
{
    check("_RNvC1a1NINvC1a1FFFFFFFFGEAhj11_EFFFFFEAhj11_E", NULL); /* 62^7 lifetimes, not printed */
    check("_RINvC1a1bFG0_RL0_hEuE", "a::b::<for<'a, 'b> fn(&'b u8)>");
    check("_RNvCs2DGV85I1S7_1a1b", "a::b");
    check("_RNvC1a9FGuardx_y", "a::FGuardx_y");
}

TEST(demangle_rust_v0_is_bounded)
{
    char deep[4096];

    memset(deep, 'S', sizeof deep);
    memcpy(deep, "_RINvC1a1b", 10);
    deep[sizeof deep - 1] = 0;
    check(deep, NULL);
    check("_RB_", NULL);
    check("_RINvC1a1bTB7_B7_B7_B7_EE", NULL);
    check("_RNvC99999999999999999999foo", NULL);
}
