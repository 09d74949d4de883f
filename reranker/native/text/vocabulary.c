#include "vocabulary.h"

#include <string.h>

enum { GOLDEN = (int)0x9e3779b1, POLYNOMIAL = (int)0xedb88320 };

static uint32_t remainders[256];

__attribute__((constructor)) static void fill_remainders(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (rest & 1 ? (uint32_t)POLYNOMIAL : 0);
        remainders[byte] = rest;
    }
}

uint32_t checksum(const uint8_t *bytes, int64_t n, uint32_t from) {
    uint32_t rest = ~from;
    for (int64_t k = 0; k < n; k++) rest = rest >> 8 ^ remainders[(rest ^ bytes[k]) & 0xff];
    return ~rest;
}

int32_t find_term(const struct vocabulary *terms, int32_t place, uint32_t checksum, const uint8_t *bytes, int64_t n) {
    const int shift = 32 - __builtin_ctzll((uint64_t)terms->n_slots);
    int64_t slot = (uint32_t)(checksum * (uint32_t)GOLDEN) >> shift;
    for (uint32_t entry; (entry = terms->slots[slot]) != 0; slot = (slot + 1) & (terms->n_slots - 1)) {
        if (terms->places[entry - 1] != place) continue; /* the cheapest test that rules out most other terms */
        const int64_t start = terms->offsets[entry - 1];
        if (terms->offsets[entry] - start == n && memcmp(terms->bytes + start, bytes, (size_t)n) == 0)
            return (int32_t)(entry - 1);
    }
    return -1;
}
