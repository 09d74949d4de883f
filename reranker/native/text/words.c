#include "words.h"

#include <string.h>

static uint64_t mixed(uint64_t number) { /* splitmix64's */
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

static uint64_t hash_of(const uint8_t *bytes, int64_t n, uint64_t seed) {
    uint64_t hash = mixed(seed + (uint64_t)n * 0x9e3779b97f4a7c15), eight;
    for (; n >= 8; n -= 8, bytes += 8) {
        memcpy(&eight, bytes, 8);
        hash = mixed(hash ^ eight);
    }
    eight = 0;
    memcpy(&eight, bytes, (size_t)n);
    return mixed(hash ^ eight);
}

int64_t find_word(struct words *all, int32_t language, int64_t n_bytes, int *is_new) {
    const uint8_t *token = all->letters + all->n_letters;
    const uint64_t hash = hash_of(token, n_bytes, (uint64_t)(uint32_t)language);
    const uint32_t fingerprint = (uint32_t)(hash >> 32);
    int64_t slot = (int64_t)(hash & (uint64_t)(all->n_slots - 1));
    *is_new = 0;
    for (uint32_t entry; (entry = all->slots[slot]) != 0; slot = (slot + 1) & (all->n_slots - 1)) {
        const struct word *word = &all->words[entry - 1];
        if (word->fingerprint == fingerprint && word->language == language && word->n_bytes == n_bytes &&
            memcmp(all->letters + word->start, token, (size_t)n_bytes) == 0)
            return entry - 1;
    }
    *is_new = 1;
    all->slots[slot] = (uint32_t)++all->n_words;
    all->words[all->n_words - 1] =
        (struct word){all->n_letters, (int32_t)n_bytes, language, 0, 0, 0, fingerprint};
    all->n_letters += n_bytes;
    return all->n_words - 1;
}
