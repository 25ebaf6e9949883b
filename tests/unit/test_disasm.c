/* test_disasm.c - disassemble known bytes.  SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "disasm/disasm.h"

static struct disasm_line decode(const char *bytes, size_t n)
{
    struct disasm_line line = { 0 };

    if (*disasm_refusal("x86_64"))
        test_skip(disasm_refusal("x86_64"));
    CHECK(disasm_one((const unsigned char *)bytes, n, 0x1000, &line));
    return line;
}

TEST(disasm_names_instructions_and_targets)
{
    struct disasm_line l = decode("\x48\x89\xe5", 3);

    CHECK_STR(l.text, "mov rbp, rsp");
    CHECK(l.size == 3 && l.sets_frame && l.kind == DISASM_OTHER);
    l = decode("\x75\x10", 2);
    CHECK(l.kind == DISASM_BRANCH && l.target == 0x1012);
    l = decode("\xe8\x00\x01\x00\x00", 5);
    CHECK(l.kind == DISASM_CALL && l.target == 0x1105);
    l = decode("\xc3", 1);
    CHECK(l.kind == DISASM_RETURN && l.target == 0);
}

TEST(disasm_distinguishes_vector_from_scalar)
{
    CHECK(decode("\x0f\x58\xc1", 3).is_vector);      /* addps */
    CHECK(!decode("\xf3\x0f\x58\xc1", 4).is_vector); /* addss */
}

TEST(disasm_skips_invalid_bytes)
{
    struct disasm_line l = decode("\x06", 1);

    CHECK(l.kind == DISASM_BAD && l.size == 1);
    CHECK(!disasm_one((const unsigned char *)"", 0, 0, &l));
}
