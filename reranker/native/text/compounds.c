/* Splits an unknown word into terms, as reranker/embeddings/compounds.py says. */
#include "../exported.h"

#include <stdbool.h>
#include <string.h>

#include "letters.h"
#include "vocabulary.h"

enum { NONE = -1, LEAST_LETTERS = 3, MOST_LETTERS = 64, ENDS = MOST_LETTERS + 1, MOST_BEFORE = 3, ROOM = 1024 };

struct pairs { /* texts, each with a 0 behind it: the two of the first pair, of the second and so on */
    const char *texts;
    int64_t n_bytes;
};

struct compounding {
    struct vocabulary terms;
    int64_t place;        /* of the language */
    const int64_t *ids;   /* of its terms, ascending: the most frequent first */
    int64_t n_ids;
    int64_t last_frequent; /* id of the last term that three letters of a word are enough for */
    struct pairs links;     /* what a part takes within a compound, and what its term has instead */
    struct pairs spellings; /* how a letter is written where it is missing on the keyboard, and the letter */
    uint32_t seed;
};

struct split { /* the beginning of a word up to some letter */
    bool is_there;
    unsigned __int128 product; /* of the ranks of its parts */
    int32_t parts[MOST_BEFORE + 1];
};

static int64_t n_letters(const uint8_t *bytes, int64_t n) {
    int64_t found = 0;
    for (int64_t k = 0; k < n; k++) found += (bytes[k] & 0xc0) != 0x80;
    return found;
}

static int32_t find(const struct compounding *rules, const uint8_t *form, int64_t n) {
    const struct key key = {form, n, checksum(form, n, rules->seed), (int32_t)rules->place};
    return find_term(&rules->terms, &key);
}

/* Replaces a text by another one, in place; returns the new length, or -1 where there is no room. */
static int64_t replace(uint8_t *form, int64_t n, const char *text, const char *other) {
    const int64_t n_text = (int64_t)strlen(text), n_other = (int64_t)strlen(other);
    for (int64_t k = 0; k + n_text <= n;) {
        if (memcmp(form + k, text, (size_t)n_text) != 0) {
            k++;
            continue;
        }
        if (n - n_text + n_other > ROOM) return -1;
        memmove(form + k + n_other, form + k + n_text, (size_t)(n - k - n_text));
        memcpy(form + k, other, (size_t)n_other);
        n += n_other - n_text;
        k += n_other;
    }
    return n;
}

/* The term that a form with another spelling is. */
static int32_t find_respelled(const struct compounding *rules, const uint8_t *form, int64_t n) {
    const char *end = rules->spellings.texts + rules->spellings.n_bytes;
    if (!has_any(rules->spellings.texts, rules->spellings.n_bytes, form, n)) return NONE;
    for (int is_back = 0; is_back < 2; is_back++) {
        uint8_t other[ROOM];
        int64_t n_other = n;
        memcpy(other, form, (size_t)n);
        for (const char *plain = rules->spellings.texts; plain < end && n_other >= 0;) {
            const char *letter = plain + strlen(plain) + 1;
            n_other = is_back ? replace(other, n_other, letter, plain) : replace(other, n_other, plain, letter);
            plain = letter + strlen(letter) + 1;
        }
        if (n_other < 0 || (n_other == n && memcmp(other, form, (size_t)n) == 0)) continue;
        const int32_t found = find(rules, other, n_other);
        if (found != NONE) return found;
    }
    return NONE;
}

/* A term, where the letters that the word has of it are enough. */
static int32_t find_part(const struct compounding *rules, const uint8_t *form, int64_t n, int64_t letters) {
    int32_t found = find(rules, form, n);
    if (found == NONE && rules->spellings.n_bytes) found = find_respelled(rules, form, n);
    return letters > LEAST_LETTERS || found <= rules->last_frequent ? found : NONE;
}

/* The term of a part of n bytes, behind which the word goes on up to its end. */
static int32_t find_before(const struct compounding *rules, const uint8_t *form, int64_t n, const uint8_t *end) {
    const int64_t letters = n_letters(form, n);
    int32_t found = find_part(rules, form, n, letters);
    const char *cut = rules->links.texts, *links_end = cut + rules->links.n_bytes;
    if (found != NONE) return found;
    while (cut < links_end) {
        const char *restored = cut + strlen(cut) + 1;
        const int64_t n_cut = (int64_t)strlen(cut), n_restored = (int64_t)strlen(restored), left = n - n_cut;
        const int64_t letters_left = letters - n_letters((const uint8_t *)cut, n_cut);
        const char *next = restored + n_restored + 1;
        /* The same letters as follow are an ending of the word, not of its part: `gelt|enden` is not `gelten|enden`. */
        const bool follows = n_restored && end - form - n >= n_restored &&
                             memcmp(form + n, restored, (size_t)n_restored) == 0;
        if (letters_left >= LEAST_LETTERS && memcmp(form + left, cut, (size_t)n_cut) == 0 && !follows) {
            uint8_t other[ROOM];
            memcpy(other, form, (size_t)left);
            memcpy(other + left, restored, (size_t)n_restored);
            const int32_t term = find_part(rules, other, left + n_restored, letters_left);
            if (term != NONE && (found == NONE || term < found)) found = term;
        }
        cut = next;
    }
    return found;
}

/* The place of a term among those of its language, 1 for the most frequent. */
static int64_t rank_of(const struct compounding *rules, int32_t term) {
    int64_t first = 0, n = rules->n_ids;
    while (n > 0) {
        const int64_t half = n / 2;
        if (rules->ids[first + half] < term) first += half + 1, n -= half + 1;
        else n = half;
    }
    return first + 1;
}

/* Makes a split of one with n parts and one more, if it is better than the one that is there. */
static void take_better(const struct compounding *rules, const struct split *begun, int n, int32_t term,
                        struct split *best) {
    struct split longer = *begun;
    longer.product *= (unsigned __int128)rank_of(rules, term);
    longer.parts[n] = term;
    bool is_better = !best->is_there || longer.product < best->product;
    if (best->is_there && longer.product == best->product)
        for (int k = 0; k <= n; k++)
            if (longer.parts[k] != best->parts[k]) {
                is_better = longer.parts[k] < best->parts[k];
                break;
            }
    if (is_better) *best = longer;
}

/* Splits the beginnings of a word of at most 64 letters into one, two and three terms, until what is left is a term.
 *
 * n_stemmed: letters of the word's stem.
 * n_begun (3,): by the number of terms less one, how many letters there are up to which so many terms reach;
 * ends (3, 65): these, and parts (3, 65, 3): the best terms.
 * whole (4,): all parts of the whole word
 *
 * Returns the number of parts of the whole word, or 0; of more terms than these less one nothing is written. */
EXPORT int64_t split_word(const struct compounding *rules, const uint8_t *word, int64_t n_bytes, int64_t n_stemmed,
                          int64_t *n_begun, int32_t *ends, int32_t *parts, int32_t *whole) {
    const uint8_t *letters[ENDS + 1];
    struct split begun[ENDS] = {[0] = {.is_there = true, .product = 1}};
    int64_t n = 0;
    for (int64_t k = 0; k < n_bytes && n <= MOST_LETTERS; k++)
        if ((word[k] & 0xc0) != 0x80) letters[n++] = word + k;
    memset(n_begun, 0, MOST_BEFORE * sizeof *n_begun);
    if (n == 0 || n > MOST_LETTERS) return 0;
    letters[n] = word + n_bytes;
    for (int round = 0; round < MOST_BEFORE; round++) {
        struct split longer[ENDS] = {0}, best = {0};
        for (int64_t start = 0; start + 2 * LEAST_LETTERS <= n; start++) {
            if (!begun[start].is_there) continue;
            for (int64_t end = start + LEAST_LETTERS; end <= n - LEAST_LETTERS; end++) {
                const int32_t found = find_before(rules, letters[start], letters[end] - letters[start], letters[n]);
                if (found != NONE) take_better(rules, &begun[start], round, found, &longer[end]);
            }
        }
        memcpy(begun, longer, sizeof begun);
        for (int64_t start = 0; start <= n; start++) {
            if (!begun[start].is_there) continue;
            const int64_t state = (int64_t)round * ENDS + n_begun[round]++;
            ends[state] = (int32_t)start;
            memcpy(parts + state * MOST_BEFORE, begun[start].parts, MOST_BEFORE * sizeof *parts);
            if (n_stemmed - start < LEAST_LETTERS) continue; /* what the stemmer cuts is an ending and no part */
            const int32_t found = find_part(rules, letters[start], letters[n] - letters[start], n - start);
            if (found != NONE) take_better(rules, &begun[start], round + 1, found, &best);
        }
        if (best.is_there) {
            memcpy(whole, best.parts, sizeof best.parts);
            return round + 2;
        }
        if (n_begun[round] == 0) return 0;
    }
    return 0;
}
