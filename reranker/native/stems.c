/* How often bags of words hold the stems of a query. `stems.py` declares this for ctypes. */
#include "exported.h"

enum { BITS = 64 };

/* The place of a key among ascending ones; -1 where it is none of them. */
static int64_t place_of(uint64_t key, const uint64_t *keys, int64_t n_keys) {
    int64_t first = 0, end = n_keys;
    while (first < end) {
        const int64_t middle = (first + end) / 2;
        if (keys[middle] < key) first = middle + 1;
        else end = middle;
    }
    return first < n_keys && keys[first] == key ? first : -1;
}

/* Counts the words of each stem in each bag: counts[i, k] = sum of the counts of bag i's terms whose key is keys[k].
 *
 *   key_of_term: for each term of the store, 0 where it is not known yet
 *   term_ids, counts (n_words,): of all bags; offsets (n_bags + 1,)
 *   keys (n_keys,): ascending, none of them 0
 *   found (n_bags, n_keys): zeros
 *   held (n_words,): the terms with one of these keys, as they come
 *
 * Returns how many these are. Where the keys of some terms are not known, minus the number of these, which are in
 * `held` then. */
EXPORT int64_t count_stems(const uint64_t *key_of_term, const int32_t *term_ids, const int32_t *counts,
                           const int64_t *offsets, int64_t n_bags, const uint64_t *keys, int64_t n_keys, double *found,
                           int32_t *held) {
    uint64_t seen = 0; /* a bit for the last digits of each key: most terms have none of them */
    int64_t n_held = 0, n_unknown = 0;
    for (int64_t k = 0; k < n_keys; k++) seen |= UINT64_C(1) << keys[k] % BITS;
    for (int64_t bag = 0; bag < n_bags; bag++)
        for (int64_t word = offsets[bag]; word < offsets[bag + 1]; word++) {
            const uint64_t key = key_of_term[term_ids[word]];
            if (key == 0) {
                held[n_unknown++] = term_ids[word];
                continue;
            }
            if (n_unknown || !(seen >> key % BITS & 1)) continue;
            const int64_t place = place_of(key, keys, n_keys);
            if (place < 0) continue;
            found[bag * n_keys + place] += counts[word];
            held[n_held++] = term_ids[word];
        }
    return n_unknown ? -n_unknown : n_held;
}
