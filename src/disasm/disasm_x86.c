/* disasm_x86.c - disassemble x86-64 to Intel syntax with Zydis.
 * SPDX-License-Identifier: Apache-2.0 */
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#include "disasm/disasm.h"

const char *disasm_refusal(const char *machine)
{
    if (!*machine || strcmp(machine, "x86_64") == 0)
        return "";
    return "only x86-64 code can be disassembled";
}

static enum disasm_kind kind_of(const ZydisDecodedInstruction *i)
{
    switch (i->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        return DISASM_CALL;
    case ZYDIS_CATEGORY_RET:
        return DISASM_RETURN;
    case ZYDIS_CATEGORY_COND_BR:
        return DISASM_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return DISASM_JUMP;
    default:
        return DISASM_OTHER;
    }
}

static uint64_t target_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
                          uint64_t address)
{
    ZyanU64 target;

    if (i->operand_count_visible == 0 || op[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
        !op[0].imm.is_relative)
        return 0;
    return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(i, &op[0], address, &target)) ? target : 0;
}

static bool sets_frame(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
    return i->mnemonic == ZYDIS_MNEMONIC_MOV && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].reg.value == ZYDIS_REGISTER_RBP &&
           op[1].reg.value == ZYDIS_REGISTER_RSP;
}

/* Packed arithmetic: a vector register whose operand holds several elements. */
static bool is_vector(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
    for (int k = 0; k < i->operand_count_visible; k++) {
        ZydisRegisterClass c;

        if (op[k].type != ZYDIS_OPERAND_TYPE_REGISTER || op[k].element_count < 2)
            continue;
        c = ZydisRegisterGetClass(op[k].reg.value);
        if (c == ZYDIS_REGCLASS_XMM || c == ZYDIS_REGCLASS_YMM || c == ZYDIS_REGCLASS_ZMM)
            return true;
    }
    return false;
}

static ZydisFormatter *formatter(void)
{
    static ZydisFormatter f;
    static bool ready;

    if (!ready) {
        ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
        ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
        ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                                  ZYDIS_PADDING_DISABLED);
        ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
        ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
        ready = true;
    }
    return &f;
}

static bool bad_byte(const unsigned char *bytes, struct disasm_line *line)
{
    line->size = 1;
    line->kind = DISASM_BAD;
    snprintf(line->text, sizeof line->text, ".byte 0x%02x", bytes[0]);
    return true;
}

bool disasm_one(const unsigned char *bytes, size_t n, uint64_t address, struct disasm_line *line)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction i;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

    if (n == 0)
        return false;
    *line = (struct disasm_line){ .address = address };
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &i, op)))
        return bad_byte(bytes, line);
    line->size = i.length;
    line->kind = kind_of(&i);
    line->target = target_of(&i, op, address);
    line->sets_frame = sets_frame(&i, op);
    line->is_vector = is_vector(&i, op);
    if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(formatter(), &i, op, i.operand_count_visible,
                                                      line->text, sizeof line->text, address,
                                                      NULL)))
        return bad_byte(bytes, line);
    return true;
}
