/* CRC-32 of IEEE 802.3: polynomial 0x04C11DB7, bits reflected, begun with and finished by all ones, as in zip and PNG.
 *
 * Eight bytes a step through eight tables (Kounavis and Berry, "Novel Table Lookup-Based Algorithms for
 * High-Performance CRC Generation", 2008). Entry i of table k is the remainder of byte i with k zero bytes behind it.
 * A remainder of a sum is the sum of remainders, so eight of them, those of the single bits, make a table; the
 * preprocessor writes it out. */
#include "core/encode.h"

#define ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                            \
    (((i) & 1 ? b0 : 0) ^ ((i) & 2 ? b1 : 0) ^ ((i) & 4 ? b2 : 0) ^ ((i) & 8 ? b3 : 0) ^ ((i) & 16 ? b4 : 0) ^ \
     ((i) & 32 ? b5 : 0) ^ ((i) & 64 ? b6 : 0) ^ ((i) & 128 ? b7 : 0))
#define ENTRIES_4(i, ...) \
    ENTRY(i, __VA_ARGS__), ENTRY(i + 1, __VA_ARGS__), ENTRY(i + 2, __VA_ARGS__), ENTRY(i + 3, __VA_ARGS__)
#define ENTRIES_16(i, ...)                                                                     \
    ENTRIES_4(i, __VA_ARGS__), ENTRIES_4(i + 4, __VA_ARGS__), ENTRIES_4(i + 8, __VA_ARGS__), \
        ENTRIES_4(i + 12, __VA_ARGS__)
#define ENTRIES_64(i, ...)                                                                          \
    ENTRIES_16(i, __VA_ARGS__), ENTRIES_16(i + 16, __VA_ARGS__), ENTRIES_16(i + 32, __VA_ARGS__), \
        ENTRIES_16(i + 48, __VA_ARGS__)
#define TABLE(...)                                                                                    \
    {                                                                                                 \
        ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__),        \
            ENTRIES_64(192, __VA_ARGS__)                                                              \
    }

/* The remainders of the bits 0 to 7, for 0 to 7 zero bytes behind. */
static const uint32_t table[8][256] = {
    TABLE(0x77073096u, 0xEE0E612Cu, 0x076DC419u, 0x0EDB8832u,
          0x1DB71064u, 0x3B6E20C8u, 0x76DC4190u, 0xEDB88320u),
    TABLE(0x191B3141u, 0x32366282u, 0x646CC504u, 0xC8D98A08u,
          0x4AC21251u, 0x958424A2u, 0xF0794F05u, 0x3B83984Bu),
    TABLE(0x01C26A37u, 0x0384D46Eu, 0x0709A8DCu, 0x0E1351B8u,
          0x1C26A370u, 0x384D46E0u, 0x709A8DC0u, 0xE1351B80u),
    TABLE(0xB8BC6765u, 0xAA09C88Bu, 0x8F629757u, 0xC5B428EFu,
          0x5019579Fu, 0xA032AF3Eu, 0x9B14583Du, 0xED59B63Bu),
    TABLE(0x3D6029B0u, 0x7AC05360u, 0xF580A6C0u, 0x30704BC1u,
          0x60E09782u, 0xC1C12F04u, 0x58F35849u, 0xB1E6B092u),
    TABLE(0xCB5CD3A5u, 0x4DC8A10Bu, 0x9B914216u, 0xEC53826Du,
          0x03D6029Bu, 0x07AC0536u, 0x0F580A6Cu, 0x1EB014D8u),
    TABLE(0xA6770BB4u, 0x979F1129u, 0xF44F2413u, 0x33EF4E67u,
          0x67DE9CCEu, 0xCFBD399Cu, 0x440B7579u, 0x8816EAF2u),
    TABLE(0xCCAA009Eu, 0x4225077Du, 0x844A0EFAu, 0xD3E51BB5u,
          0x7CBB312Bu, 0xF9766256u, 0x299DC2EDu, 0x533B85DAu),
};

static uint32_t load_le(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint32_t tn_crc32(uint32_t crc, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    crc = ~crc;
    for (; size >= 8; size -= 8, from += 8) {
        uint32_t low = load_le(from) ^ crc;
        uint32_t high = load_le(from + 4);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
              table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    for (; size > 0; size--, from++)
        crc = table[0][(crc ^ *from) & 255] ^ crc >> 8;
    return ~crc;
}
