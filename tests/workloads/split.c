/* split.c - two functions with a known share: 70 % in one, 30 % in two.
 * build: split gcc -O2 -g -fomit-frame-pointer -o @OUT@ @IN@
 * build: split-fp gcc -O2 -g -fno-omit-frame-pointer -o @OUT@ @IN@
 * build: split-stripped gcc -O2 -fomit-frame-pointer -s -o @OUT@ @IN@
 * build: split-static gcc -O2 -g -static -o @OUT@ @IN@
 * build: split-asan gcc -O2 -g -fomit-frame-pointer -fsanitize=address -o @OUT@ @IN@
 * build: split-musl musl-gcc -O2 -g -o @OUT@ @IN@ 2>/dev/null || : > @OUT@
 * build: split-bare objcopy -S --remove-section=.eh_frame_hdr @DIR@/split-static @OUT@
 * build: split-bare-hdr gcc -O2 -static -s -Wl,--eh-frame-hdr -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t keep;

__attribute__((noinline)) static void spin(long n)
{
    uint64_t x = 88172645463325252u;

    for (long i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep = x;
}

__attribute__((noinline)) static void one(long n)
{
    spin(n * 7);
    keep++;
}

__attribute__((noinline)) static void two(long n)
{
    spin(n * 3);
    keep++;
}

/* Code that .eh_frame does not describe, behind code that it does; "marks" has its address. */
__asm__(".pushsection .text\n.p2align 4\nundescribed: nop\nnop\nret\n.popsection\n"
        ".pushsection marks,\"aw\"\n.quad 1, undescribed\n.popsection");

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100;

    for (long i = 0; i < rounds; i++) {
        one(300000);
        two(300000);
    }
    printf("%lu\n", (unsigned long)keep);
    return 0;
}
