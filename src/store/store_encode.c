/* store_encode.c - see store_encode.h.  SPDX-License-Identifier: Apache-2.0 */
#include "store/store_encode.h"

#include <pthread.h>

/* CRC-32, eight bytes at a time: table k is for a byte that k more bytes follow. */
static uint32_t crc_table[8][256];

static void fill_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        crc_table[0][i] = c;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t before = crc_table[k - 1][i];

            crc_table[k][i] = crc_table[0][before & 255] ^ before >> 8;
        }
}

static uint32_t read_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t store_crc(const void *data, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint32_t(*const t)[256] = crc_table;
    const unsigned char *p = data;
    uint32_t c = ~0u;

    pthread_once(&once, fill_crc_table);
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t a = c ^ read_u32(p), b = read_u32(p + 4);

        c = t[7][a & 255] ^ t[6][a >> 8 & 255] ^ t[5][a >> 16 & 255] ^ t[4][a >> 24] ^
            t[3][b & 255] ^ t[2][b >> 8 & 255] ^ t[1][b >> 16 & 255] ^ t[0][b >> 24];
    }
    while (n-- > 0)
        c = t[0][(c ^ *p++) & 255] ^ c >> 8;
    return ~c;
}

static unsigned char *put_u32(unsigned char *to, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        *to++ = (unsigned char)(x >> 8 * i);
    return to;
}

void store_encode_head(unsigned char *to, const struct store_head *h)
{
    const uint32_t words[] = { h->records, h->first, h->raw_size, h->stored_size, h->crc };
    unsigned char *at = to + 8;

    memcpy(to, STORE_SYNC, 4);
    to[4] = h->type;
    to[5] = h->flags;
    to[6] = h->columns;
    to[7] = 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        at = put_u32(at, words[i]);
    put_u32(at, store_crc(to, STORE_HEAD_SIZE - 4));
}
