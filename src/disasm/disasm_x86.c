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

/* --- effects --- */

/* Number of the 64-bit register that contains R. */
static uint8_t register_number(ZydisRegister r)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

    return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
               ? (uint8_t)(whole - ZYDIS_REGISTER_RAX) : DISASM_NO_REGISTER;
}

/* The number of a whole register, or none for every other operand. */
static uint8_t whole_register(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->size == 64
               ? register_number(op->reg.value) : DISASM_NO_REGISTER;
}

static bool is_plain_memory(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.segment != ZYDIS_REGISTER_FS &&
           op->mem.segment != ZYDIS_REGISTER_GS;
}

/* Split the address of OP, without its index, into base and value; false when it has another
 * base than a register.  An address relative to the instruction becomes absolute. */
static bool split_address(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
                          uint64_t address, uint8_t *base, int64_t *value)
{
    *base = DISASM_NO_REGISTER;
    *value = op->mem.disp.value;
    if (op->mem.base == ZYDIS_REGISTER_RIP)
        *value += (int64_t)(address + i->length);
    else if (op->mem.base != ZYDIS_REGISTER_NONE)
        *base = register_number(op->mem.base);
    return op->mem.base == ZYDIS_REGISTER_NONE || op->mem.base == ZYDIS_REGISTER_RIP ||
           *base != DISASM_NO_REGISTER;
}

/* Registers and memory that I writes, in general. */
static void note_writes(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
                        struct disasm_effect *e)
{
    for (int k = 0; k < i->operand_count; k++) {
        uint8_t number;
        int64_t at;

        if (!(op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        if (op[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (number = register_number(op[k].reg.value)) != DISASM_NO_REGISTER)
            e->writes |= (uint16_t)(1 << number);
        if (is_plain_memory(&op[k]) && op[k].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
            op[k].mem.index == ZYDIS_REGISTER_NONE &&
            split_address(i, &op[k], 0, &e->store_base, &at) && at == (int32_t)at) {
            e->store_at = (int32_t)at;
            e->store_size = op[k].size / 8 < 255 ? (uint8_t)(op[k].size / 8) : 255;
        }
    }
}

/* REG = entry of a table, if OP looks like one. */
static bool is_table(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op, int scale,
                     uint64_t address, struct disasm_effect *e)
{
    if (!is_plain_memory(op) || op->mem.index == ZYDIS_REGISTER_NONE || op->mem.scale != scale ||
        !split_address(i, op, address, &e->base, &e->value))
        return false;
    e->scale = (uint8_t)scale;
    return true;
}

static bool move_effect(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
                        uint64_t address, struct disasm_effect *e)
{
    uint8_t from = whole_register(&op[1]);

    e->reg = whole_register(&op[0]);
    if (op[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
        e->stored = op[0].size == 64 ? from : DISASM_NO_REGISTER;
        return false;
    }
    if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op[0].size >= 32) {
        e->reg = register_number(op[0].reg.value);
        e->value = op[0].size == 32 ? (uint32_t)op[1].imm.value.s : op[1].imm.value.s;
        e->op = DISASM_SET;
        return true;
    }
    e->op = DISASM_TABLE;
    if (op[0].size == 32 && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        is_table(i, &op[1], 1, address, e)) {
        e->reg = register_number(op[0].reg.value);
        e->index = register_number(op[1].mem.index);
        e->scale = 4;
        return true;
    }
    if (e->reg == DISASM_NO_REGISTER)
        return false;
    if (from != DISASM_NO_REGISTER) {
        e->base = from;
        e->op = DISASM_SET;
        return true;
    }
    if (is_table(i, &op[1], 8, address, e))
        return true;
    e->op = DISASM_LOAD;
    return is_plain_memory(&op[1]) && op[1].mem.index == ZYDIS_REGISTER_NONE &&
           split_address(i, &op[1], address, &e->base, &e->value);
}

static bool sum_effect(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
                       struct disasm_effect *e)
{
    bool adds = i->mnemonic == ZYDIS_MNEMONIC_ADD;

    e->reg = e->base = whole_register(&op[0]);
    if (e->reg == DISASM_NO_REGISTER)
        return false;
    if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        e->value = adds ? op[1].imm.value.s : (int64_t)(0 - (uint64_t)op[1].imm.value.s);
        e->op = DISASM_SET;
        return true;
    }
    e->base = whole_register(&op[1]);
    e->op = DISASM_ADD;
    return adds && e->base != DISASM_NO_REGISTER;
}

static bool zero_effect(const ZydisDecodedOperand *op, struct disasm_effect *e)
{
    if (op[0].type != ZYDIS_OPERAND_TYPE_REGISTER || op[1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
        op[0].reg.value != op[1].reg.value || op[0].size < 32)
        return false;
    e->reg = register_number(op[0].reg.value);
    e->op = DISASM_SET;
    return e->reg != DISASM_NO_REGISTER;
}

static bool lea_effect(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
                       uint64_t address, struct disasm_effect *e)
{
    e->reg = whole_register(&op[0]);
    e->op = DISASM_SET;
    return e->reg != DISASM_NO_REGISTER && op[1].mem.index == ZYDIS_REGISTER_NONE &&
           split_address(i, &op[1], address, &e->base, &e->value);
}

static bool go_effect(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
                      uint64_t address, struct disasm_effect *e)
{
    e->op = DISASM_GO;
    e->kind = (uint8_t)kind_of(i);
    e->target = target_of(i, op, address);
    if (e->kind == DISASM_RETURN && i->operand_count_visible)
        e->value = op[0].imm.value.s;
    if (e->kind == DISASM_JUMP && !e->target) {
        e->reg = whole_register(&op[0]);
        is_table(i, &op[0], 8, address, e);
    }
    return true;
}

static bool special_effect(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
                           uint64_t address, struct disasm_effect *e)
{
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH: case ZYDIS_MNEMONIC_PUSHFQ: case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_POP: case ZYDIS_MNEMONIC_POPFQ: case ZYDIS_MNEMONIC_POPF:
        e->op = i->meta.category == ZYDIS_CATEGORY_PUSH ? DISASM_PUSH : DISASM_POP;
        e->reg = i->operand_count_visible ? whole_register(&op[0]) : DISASM_NO_REGISTER;
        e->value = i->operand_width == 16 ? 2 : 8;
        return true;
    case ZYDIS_MNEMONIC_MOV: return move_effect(i, op, address, e);
    case ZYDIS_MNEMONIC_CDQE:
        e->reg = e->base = register_number(ZYDIS_REGISTER_RAX);
        e->op = DISASM_EXTEND;
        return true;
    case ZYDIS_MNEMONIC_MOVSXD:
        e->reg = whole_register(&op[0]);
        if (op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            e->base = register_number(op[1].reg.value);
            e->op = DISASM_EXTEND;
            return e->reg != DISASM_NO_REGISTER;
        }
        e->op = DISASM_TABLE;
        return e->reg != DISASM_NO_REGISTER && is_table(i, &op[1], 4, address, e);
    case ZYDIS_MNEMONIC_LEA: return lea_effect(i, op, address, e);
    case ZYDIS_MNEMONIC_XOR: return zero_effect(op, e);
    case ZYDIS_MNEMONIC_SUB: return zero_effect(op, e) || sum_effect(i, op, e);
    case ZYDIS_MNEMONIC_ADD: return sum_effect(i, op, e);
    case ZYDIS_MNEMONIC_AND:
        e->reg = whole_register(&op[0]);
        e->value = op[1].imm.value.s;
        e->op = e->value < 0 ? DISASM_ALIGN : DISASM_LIMIT;
        if (e->op == DISASM_LIMIT && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
            e->reg = register_number(op[0].reg.value);
        return e->reg != DISASM_NO_REGISTER && op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    case ZYDIS_MNEMONIC_CMP:
        e->value = op[1].imm.value.s;
        e->op = DISASM_LIMIT;
        return op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    case ZYDIS_MNEMONIC_LEAVE: e->op = DISASM_LEAVE; return true;
    case ZYDIS_MNEMONIC_HLT: case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_INT3: case ZYDIS_MNEMONIC_IRETQ:
        e->op = DISASM_STOP;
        return true;
    default:
        return kind_of(i) != DISASM_OTHER && go_effect(i, op, address, e);
    }
}

bool disasm_effect(const unsigned char *bytes, size_t n, uint64_t address,
                   struct disasm_effect *effect)
{
    static const struct disasm_effect plain = { .reg = DISASM_NO_REGISTER,
                                                .base = DISASM_NO_REGISTER,
                                                .index = DISASM_NO_REGISTER,
                                                .stored = DISASM_NO_REGISTER,
                                                .store_base = DISASM_NO_REGISTER };
    ZydisDecoder decoder;
    ZydisDecodedInstruction i;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    struct disasm_effect e = plain;

    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (n == 0 || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &i, op)))
        return false;
    if (!special_effect(&i, op, address, &e)) {
        uint8_t stored = i.mnemonic == ZYDIS_MNEMONIC_MOV ? e.stored : DISASM_NO_REGISTER;

        e = plain;
        e.stored = stored;
        e.op = i.mnemonic == ZYDIS_MNEMONIC_SYSCALL ? DISASM_SYSCALL : DISASM_PLAIN;
        note_writes(&i, op, &e);
    }
    e.size = i.length;
    *effect = e;
    return true;
}
