#include "vocabulary.h"

#include <string.h>

enum { GOLDEN = (int)0x9e3779b1, POLYNOMIAL = (int)0xedb88320 };

static uint32_t remainders[4][256]; /* of a byte with 0 to 3 zeros behind it */

__attribute__((constructor)) static void fill_remainders(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 32; bit++) {
            rest = rest >> 1 ^ (rest & 1 ? (uint32_t)POLYNOMIAL : 0);
            if (bit % 8 == 7) remainders[bit / 8][byte] = rest;
        }
    }
}

uint32_t checksum(const uint8_t *bytes, int64_t n, uint32_t from) {
    uint32_t rest = ~from;
    for (; n >= 4; n -= 4, bytes += 4) {
        rest ^= bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        rest = remainders[3][rest & 0xff] ^ remainders[2][rest >> 8 & 0xff] ^ remainders[1][rest >> 16 & 0xff] ^
               remainders[0][rest >> 24];
    }
    for (int64_t k = 0; k < n; k++) rest = rest >> 8 ^ remainders[0][(rest ^ bytes[k]) & 0xff];
    return ~rest;
}

static int64_t first_slot(const struct vocabulary *terms, uint32_t checksum) {
    const int shift = 32 - __builtin_ctzll((uint64_t)terms->n_slots);
    return (uint32_t)(checksum * (uint32_t)GOLDEN) >> shift;
}

int32_t find_term(const struct vocabulary *terms, const struct key *key) {
    int64_t slot = first_slot(terms, key->checksum);
    for (uint32_t entry; (entry = terms->slots[slot]) != 0; slot = (slot + 1) & (terms->n_slots - 1)) {
        if (terms->places[entry - 1] != key->place) continue; /* the cheapest test that rules out most other terms */
        const int64_t start = terms->offsets[entry - 1];
        if (terms->offsets[entry] - start == key->n && memcmp(terms->bytes + start, key->bytes, (size_t)key->n) == 0)
            return (int32_t)(entry - 1);
    }
    return -1;
}

void fetch_term(const struct vocabulary *terms, uint32_t checksum) {
    __builtin_prefetch(&terms->slots[first_slot(terms, checksum)]);
}

void find_terms(const struct vocabulary *terms, const struct key *keys, int64_t n, int32_t *found) {
    for (int64_t k = 0; k < n; k++) fetch_term(terms, keys[k].checksum);
    for (int64_t k = 0; k < n; k++) {
        const uint32_t entry = terms->slots[first_slot(terms, keys[k].checksum)];
        if (!entry) continue;
        __builtin_prefetch(&terms->places[entry - 1]);
        __builtin_prefetch(&terms->offsets[entry - 1]);
    }
    for (int64_t k = 0; k < n; k++) {
        const uint32_t entry = terms->slots[first_slot(terms, keys[k].checksum)];
        if (entry && terms->places[entry - 1] == keys[k].place)
            __builtin_prefetch(&terms->bytes[terms->offsets[entry - 1]]);
    }
    for (int64_t k = 0; k < n; k++) found[k] = find_term(terms, &keys[k]);
}
