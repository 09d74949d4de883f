#include "spelling.h"

#include "../exported.h"

#include <stdbool.h>
#include <string.h>

#include "letters.h"

/* In shorter words one edit changes too much: in the LibreOffice embeddings the mean cosine between a frequent word and
 * its nearest spelling is 0.22 to 0.34 at three letters and 0.32 to 0.63 at four (papers/results/embeddings.md). */
enum { LEAST_LETTERS = 4, MOST_LETTERS = 64, LETTERS = MOST_LETTERS + 2, TRAILING_BITS = 48 };
static const uint64_t BASE = 0xd6e8feb86659fd93, GOLDEN = 0x9e3779b97f4a7c15, HASH_BITS = ~(uint64_t)0xffffffff;

/* The letters of UTF-8; of a word that is too long LETTERS of them. */
static int letters_of(const uint8_t *bytes, int64_t n, uint32_t *letters) {
    const uint8_t *at = bytes, *end = bytes + n;
    int n_letters = 0;
    while (at < end && n_letters < LETTERS) letters[n_letters++] = character_at(at, end, &at);
    return n_letters;
}

/* Whether one letter more, fewer or another one makes one word the other. */
static bool differ_by_one(const uint32_t *one, int n_one, const uint32_t *other, int n_other) {
    const int shorter = n_one < n_other ? n_one : n_other, longer = n_one < n_other ? n_other : n_one;
    if (longer - shorter > 1) return false;
    int start = 0, end = 0;
    while (start < shorter && one[start] == other[start]) start++;
    if (start == longer) return false; /* the same */
    while (end < shorter - start && one[n_one - 1 - end] == other[n_other - 1 - end]) end++;
    return start + end + 1 >= longer;
}

struct search {
    const struct spellings *spellings;
    const struct vocabulary *terms;
    int32_t place, nearest;
    const uint32_t *word;
    int n_letters;
    accepts *accepts;
    void *context;
};

/* Where the entries of a hash begin, or would. */
static int64_t first_entry(const struct spellings *spellings, uint64_t key) {
    const int64_t *start = &spellings->starts[key >> TRAILING_BITS];
    int64_t first = start[0], n = start[1] - start[0];
    for (; n > 1; n -= n / 2) first += spellings->entries[first + n / 2 - 1] < key ? n / 2 : 0;
    return n ? first + (spellings->entries[first] < key) : first;
}

static void look_up(struct search *search, uint64_t key) {
    const uint64_t *entries = search->spellings->entries;
    int64_t first = first_entry(search->spellings, key);
    for (; first < search->spellings->n_entries && (entries[first] & HASH_BITS) == key; first++) {
        const uint32_t term = (uint32_t)entries[first];
        /* A damaged file may hold any number, and two spellings may have one hash. */
        if (term >= search->terms->n_terms) continue;
        if (search->nearest >= 0 && (int32_t)term >= search->nearest) continue;
        if (search->terms->places[term] != search->place) continue;
        uint32_t letters[LETTERS];
        const int64_t start = search->terms->offsets[term];
        const int64_t n_bytes = search->terms->offsets[term + 1] - start;
        const int n_letters = letters_of(search->terms->bytes + start, n_bytes, letters);
        if (!differ_by_one(search->word, search->n_letters, letters, n_letters)) continue;
        if (search->accepts == NULL || search->accepts(search->context, (int32_t)term)) search->nearest = (int32_t)term;
    }
}

/* The sum of letter_p · GOLDEN · BASE^(p + 1), modulo 2^64, is the hash of a word. Writes those of the word without each
 * of its n letters, and behind them that of the whole word. */
static void write_hashes(const uint32_t *letters, int n, uint64_t offset, uint64_t *hashes) {
    uint64_t powers[LETTERS + 1], before = offset, after = 0; /* letters after the one left out move up by one place */
    powers[0] = GOLDEN;
    for (int k = 0; k < n; k++) powers[k + 1] = powers[k] * BASE;
    for (int k = 1; k < n; k++) after += letters[k] * powers[k];
    for (int k = 0; k < n; k++) {
        hashes[k] = (before + after) & HASH_BITS;
        before += letters[k] * powers[k + 1];
        if (k + 1 < n) after -= letters[k + 1] * powers[k + 1];
    }
    hashes[n] = before & HASH_BITS;
}

static void look_up_all(struct search *search, uint64_t offset, const uint8_t *word, int64_t n_bytes) {
    const struct spellings *spellings = search->spellings;
    uint32_t letters[LETTERS];
    uint64_t keys[2 * LETTERS];
    const int n = letters_of(word, n_bytes, letters);
    if (n < LEAST_LETTERS || n > MOST_LETTERS) return;
    search->word = letters;
    search->n_letters = n;
    write_hashes(letters, n, offset, keys);                     /* of terms with another letter, or one more */
    write_hashes(letters + 1, n - 1, offset, keys + n + 1);     /* with one fewer: without their first */
    const int n_keys = 2 * n;
    /* The memory is fetched for all at once. */
    for (int k = 0; k < n_keys; k++) __builtin_prefetch(&spellings->starts[keys[k] >> TRAILING_BITS]);
    for (int k = 0; k < n_keys; k++) {
        const int64_t *start = &spellings->starts[keys[k] >> TRAILING_BITS];
        __builtin_prefetch(&spellings->entries[(start[0] + start[1]) / 2]);
    }
    for (int k = 0; k < n_keys; k++) look_up(search, keys[k]);
}

int32_t nearest_term(const struct spellings *spellings, const struct vocabulary *terms, int32_t place, uint64_t offset,
                     const uint8_t *word, int64_t n_bytes, accepts *accepts, void *context) {
    struct search search = {.spellings = spellings, .terms = terms, .place = place, .nearest = -1,
                            .accepts = accepts, .context = context};
    look_up_all(&search, offset, word, n_bytes);
    return search.nearest;
}

EXPORT int64_t nearest_spelling(const struct spellings *spellings, const struct vocabulary *terms, int64_t place,
                                int64_t offset, const uint8_t *word, int64_t n_bytes) {
    return nearest_term(spellings, terms, (int32_t)place, (uint64_t)offset, word, n_bytes, NULL, NULL);
}
