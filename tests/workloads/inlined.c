/* inlined.c - two levels of always_inline with known lines, built in every way that removes or
 * moves debug information.  Section "marks" contains pairs (line, address): at that address the
 * innermost position is that line.
 * build: inlined gcc -O2 -g -o @OUT@ @IN@
 * build: inlined-dwarf4 gcc -O2 -gdwarf-4 -o @OUT@ @IN@
 * build: inlined-odd-path gcc -O2 -g -DODD_PATH -o @OUT@ @IN@
 * build: inlined-no-aranges objcopy --remove-section=.debug_aranges @DIR@/inlined @OUT@
 * build: inlined-compressed objcopy --compress-debug-sections=zlib @DIR@/inlined @OUT@
 * build: inlined-split gcc -O2 -g -gsplit-dwarf -o @OUT@ @IN@
 * build: inlined-stripped gcc -O2 -s -rdynamic -o @OUT@ @IN@
 * build: linked.debug objcopy --only-keep-debug @DIR@/inlined @OUT@
 * build: inlined-linked objcopy -S --add-gnu-debuglink=@DIR@/linked.debug @DIR@/inlined @OUT@
 * build: inlined-no-id gcc -O2 -g -Wl,--build-id=none -o @OUT@ @IN@
 * build: crc.debug objcopy --only-keep-debug @DIR@/inlined-no-id @OUT@
 * build: inlined-crc objcopy -S --add-gnu-debuglink=@DIR@/crc.debug @DIR@/inlined-no-id @OUT@
 * build: mini.xz ./mini @DIR@/inlined @OUT@
 * build: inlined-mini objcopy -S --add-section=.gnu_debugdata=@DIR@/mini.xz @DIR@/inlined @OUT@
 * build: inlined-other gcc -O2 -g -DOTHER -o @OUT@ @IN@
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define MARK                                                                                \
    __asm__ volatile("1: nop\n .pushsection marks,\"\",@progbits\n .quad %c0, 1b\n .popsection" \
                     : : "i"(__LINE__))

extern volatile uint64_t keep;
volatile uint64_t keep;

#ifdef ODD_PATH /* the first line after the #endif is 100 in both cases */
#line 97 "odd/../inlined.c"
#else
#line 99
#endif
__attribute__((always_inline)) static inline void innermost(uint64_t x)
{
    keep += x;
    MARK; /* 103 */
}

__attribute__((always_inline)) static inline void middle(uint64_t x)
{
    keep ^= x;
    MARK; /* 109 */
    innermost(x * 3); /* 110 */
}

__attribute__((noinline)) void outermost(uint64_t x)
{
    keep++;
    MARK; /* 116 */
    middle(x); /* 117 */
}

__attribute__((noinline)) static void hidden(uint64_t x)
{
    keep += x;
    MARK; /* 123 */
}

int main(int argc, char **argv)
{
    outermost((uint64_t)argc);
    hidden((uint64_t)argc);
#ifdef OTHER
    keep = 7;
#endif
    return 0;
}
