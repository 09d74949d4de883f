#include "words.h"

#include <stdbool.h>
#include <string.h>

#include "../exported.h"

static uint64_t hash_secret;

/* What hashes begin with: by a number that nobody knows no text can be made whose words all share a slot. No result
 * depends on it. Set once, before texts are read. */
EXPORT void set_hash_secret(int64_t secret) { hash_secret = (uint64_t)secret; }

static uint64_t mixed(uint64_t number) { /* splitmix64's */
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

/* The first n of eight bytes as a number; what lies behind them may be anything. */
static uint64_t first_bytes(const uint8_t *bytes, int64_t n) {
    uint64_t eight;
    memcpy(&eight, bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return n < 8 ? eight & ~(~(uint64_t)0 >> 8 * n) : eight;
#else
    return n < 8 ? eight & ~(~(uint64_t)0 << 8 * n) : eight;
#endif
}

static uint32_t hash_of(const uint8_t *bytes, int64_t n, int32_t language) {
    uint64_t hash = hash_secret ^ (uint64_t)(language + n) * 0x9e3779b97f4a7c15;
    for (; n > 0; n -= 8, bytes += 8) hash = mixed(hash ^ first_bytes(bytes, n));
    return (uint32_t)hash;
}

static bool are_same(const uint8_t *one, const uint8_t *other, int64_t n) {
    for (; n > 0; n -= 8, one += 8, other += 8)
        if (first_bytes(one, n) != first_bytes(other, n)) return false;
    return true;
}

static void fill_slots(struct words *all) {
    memset(all->slots, 0, (size_t)all->n_slots * sizeof *all->slots);
    for (int64_t k = 0; k < all->n_words; k++) {
        int64_t slot = all->words[k].fingerprint & (all->n_slots - 1);
        while (all->slots[slot]) slot = (slot + 1) & (all->n_slots - 1);
        all->slots[slot] = (uint32_t)k + 1;
    }
}

int64_t find_word(struct words *all, int32_t language, int64_t n_bytes, int *is_new) {
    if (2 * all->n_words >= all->n_slots) { /* few words are spread over little memory */
        all->n_slots = all->n_slots ? 4 * all->n_slots : FIRST_SLOTS;
        fill_slots(all);
    }
    const uint8_t *token = all->letters + all->n_letters;
    const uint32_t hash = hash_of(token, n_bytes, language);
    int64_t slot = hash & (all->n_slots - 1);
    *is_new = 0;
    for (uint32_t entry; (entry = all->slots[slot]) != 0; slot = (slot + 1) & (all->n_slots - 1)) {
        const struct word *word = &all->words[entry - 1];
        if (word->fingerprint == hash && word->language == language && word->n_bytes == n_bytes &&
            are_same(all->letters + word->start, token, n_bytes))
            return entry - 1;
    }
    *is_new = 1;
    all->slots[slot] = (uint32_t)++all->n_words;
    all->words[all->n_words - 1] = (struct word){.start = all->n_letters, .n_bytes = (int32_t)n_bytes,
                                                 .language = language, .fingerprint = hash};
    all->n_letters += n_bytes;
    return all->n_words - 1;
}
