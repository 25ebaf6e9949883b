/* cfi_read.c - read CIEs and FDEs of .eh_frame and .debug_frame in one linear pass.  The sorted
 * .eh_frame_hdr is not used, since it may be absent or wrong.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cfi/cfi_read.h"

#include <stdlib.h>

#include "base/search.h"

enum { PE_ABS = 0x00, PE_PCREL = 0x10, PE_TEXTREL = 0x20, PE_DATAREL = 0x30, PE_FUNCREL = 0x40 };
enum { NO_CIE = UINT32_MAX };

static uint64_t pointer_value(struct cursor *c, uint8_t encoding, bool *ok)
{
    switch (encoding & 0x0f) {
    case 0x00: case 0x04: case 0x0c: return cur_u64(c);
    case 0x01: return cur_uleb(c);
    case 0x02: return cur_u16(c);
    case 0x03: return cur_u32(c);
    case 0x09: return (uint64_t)cur_sleb(c);
    case 0x0a: return (uint64_t)(int64_t)(int16_t)cur_u16(c);
    case 0x0b: return (uint64_t)(int64_t)(int32_t)cur_u32(c);
    default: *ok = false; return 0;
    }
}

uint64_t cfi_pointer(const struct cfi_elf *elf, const struct cfi_section *section,
                         struct cursor *c, uint8_t encoding, bool *ok)
{
    uint64_t here = section->address + (uint64_t)(c->p - section->data);
    uint64_t value = pointer_value(c, encoding, ok);

    switch (encoding & 0xf0) {
    case PE_ABS: case PE_FUNCREL: return value;
    case PE_PCREL: return here + value;
    case PE_TEXTREL: return elf->text + value;
    case PE_DATAREL: return elf->got + value;
    default: *ok = false; return 0; /* indirect, aligned: not for code addresses */
    }
}

/* Parse the augmentation letters of a 'z' CIE, whose data is DATA. */
static bool cie_letters(const struct cfi *cfi, struct cfi_cie *cie, const char *letters,
                        struct cursor data)
{
    bool ok = true;

    for (; *letters; letters++)
        switch (*letters) {
        case 'L': cur_skip(&data, 1); break;
        case 'R': cie->encoding = cur_u8(&data); break;
        case 'S': cie->signal = true; break;
        case 'B': case 'G': break; /* aarch64: key and tagging */
        case 'P': {
            uint8_t encoding = cur_u8(&data) & 0x7f;

            cfi_pointer(cfi->elf, cie->section, &data, encoding, &ok);
            break;
        }
        default: return false;
        }
    return ok && !data.failed;
}

/* The body of a CIE after its id. */
static bool cie_parse(const struct cfi *cfi, struct cfi_cie *cie, struct cursor c)
{
    uint8_t version = cur_u8(&c);
    const char *letters = cur_cstr(&c);

    if (version != 1 && version != 3 && version != 4)
        return false;
    if (letters[0] == 'e' && letters[1] == 'h') { /* ancient: a pointer, then as without */
        cur_skip(&c, 8);
        letters += 2;
    }
    if (version == 4 && (cur_u8(&c) != 8 || cur_u8(&c) != 0)) /* address, segment size */
        return false;
    cie->code_align = cur_uleb(&c);
    cie->data_align = cur_sleb(&c);
    cie->return_column = version == 1 ? cur_u8(&c) : cur_uleb(&c);
    if (letters[0] == 'z') {
        size_t n = cur_uleb(&c);

        cie->sized = true;
        if (!cie_letters(cfi, cie, letters + 1, cur_sub(&c, n)))
            return false;
    } else if (letters[0]) {
        return false;
    }
    cie->initial = cfi->elf->machine->initial;
    return !c.failed && cfi_run_initial(cfi, cie, c);
}

static uint32_t cie_find(const struct cfi *cfi, uint64_t offset)
{
    size_t n = cfi->cies.n, at;

    if (n > cfi->first_cie && cfi->cies.v[n - 1].offset == offset) /* nearly always */
        return (uint32_t)(n - 1);
    /* Offsets grow within a section. */
    at = search(cfi->first_cie, n, i, cfi->cies.v[i].offset < offset);
    return at < n && cfi->cies.v[at].offset == offset ? (uint32_t)at : NO_CIE;
}

static bool fde_add(struct cfi *cfi, const struct cfi_section *section, uint64_t cie_offset,
                    struct cursor c)
{
    uint32_t at = cie_find(cfi, cie_offset);
    const struct cfi_cie *cie;
    struct cfi_fde fde = { .cie = at, .order = (uint32_t)cfi->fdes.n };
    uint64_t size;
    bool ok = true;

    if (at == NO_CIE || !cfi->cies.v[at].usable)
        return false;
    cie = &cfi->cies.v[at];
    fde.start = cfi_pointer(cfi->elf, section, &c, cie->encoding, &ok);
    size = pointer_value(&c, cie->encoding & 0x0f, &ok);
    if (cie->sized)
        cur_skip(&c, cur_uleb(&c));
    if (!ok || c.failed || size == 0 || size > UINT32_MAX || cur_left(&c) > UINT32_MAX ||
        !cfi_elf_is_code(cfi->elf, fde.start, size))
        return false;
    fde.size = (uint32_t)size;
    fde.ops = c.p;
    fde.ops_size = (uint32_t)cur_left(&c);
    vec_push(&cfi->fdes, fde);
    return true;
}

/* Read one entry, a CIE or an FDE.  C is past its length; OFFSET is that of the entry. */
static bool entry_add(struct cfi *cfi, const struct cfi_section *section, bool is_eh,
                      bool wide, uint64_t offset, struct cursor c)
{
    uint64_t id_at = (uint64_t)(c.p - section->data);
    uint64_t id = wide ? cur_u64(&c) : cur_u32(&c);
    uint64_t none = is_eh ? 0 : wide ? UINT64_MAX : UINT32_MAX;

    if (c.failed)
        return false;
    if (id == none) {
        struct cfi_cie cie = { .section = section, .offset = offset };

        cie.usable = cie_parse(cfi, &cie, c);
        *vec_add(&cfi->cies) = cie;
        return cie.usable;
    }
    return fde_add(cfi, section, is_eh ? id_at - id : id, c);
}

void cfi_read(struct cfi *cfi, const struct cfi_section *section, bool is_eh)
{
    struct cursor c = cursor_of(section->data, section->size);

    cfi->first_cie = cfi->cies.n;
    while (section->data && cur_left(&c) >= 4) {
        uint64_t offset = (uint64_t)(c.p - section->data);
        uint64_t length = cur_u32(&c);
        bool wide = length == UINT32_MAX;

        if (wide)
            length = cur_u64(&c);
        if (length == 0) /* a terminator; linkers have left them in the middle */
            continue;
        if (length > cur_left(&c) || cfi->fdes.n >= UINT32_MAX / 2) {
            cfi->dropped++;
            break;
        }
        if (!entry_add(cfi, section, is_eh, wide, offset, cur_sub(&c, length)))
            cfi->dropped++;
    }
}

void cfi_release(struct cfi *cfi)
{
    vec_release(&cfi->cies);
    vec_release(&cfi->fdes);
}
