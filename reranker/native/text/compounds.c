#include "compounds.h"

#include <stdbool.h>
#include <string.h>

#include "../exported.h"
#include "letters.h"

enum {
    NONE = -1,
    LEAST_LETTERS = 3,      /* of a part */
    LEAST_OF_STEM = 4,      /* in a shorter stem one edit changes too much */
    LEAST_OF_GRADATION = 6, /* and two letters at its end */
    MOST_LETTERS = 64,
    ENDS = MOST_LETTERS + 1,
    MOST_BEFORE = 3,
    MOST_PARTS = MOST_BEFORE + 1
};

struct form { /* letters of a word, or of its stem */
    const uint8_t *bytes;
    int64_t n, n_letters;
    uint32_t checksum; /* from the seed of the language */
    bool has_signs;    /* whether a letter of it may have another spelling */
};

struct split { /* the beginning of a word up to some letter */
    bool is_there;
    unsigned __int128 product; /* of the ranks of its parts */
    int32_t parts[MOST_PARTS];
};

/* Terms whose stems are not known yet. */
struct asked {
    int32_t *terms;
    int64_t n, most;
};

static int64_t n_letters(const uint8_t *bytes, int64_t n) {
    int64_t found = 0;
    for (int64_t k = 0; k < n; k++) found += (bytes[k] & 0xc0) != 0x80;
    return found;
}

/* The first n bytes of a form. */
static struct form beginning(const struct compounding *rules, const struct form *form, int64_t n) {
    return (struct form){form->bytes, n, n_letters(form->bytes, n), checksum(form->bytes, n, rules->seed),
                         form->has_signs};
}

static bool is_same(const uint8_t *bytes, const uint8_t *text, int64_t n) {
    while (n > 0 && bytes[n - 1] == text[n - 1]) n--;
    return n == 0;
}

/* Where the first letter of bytes ends that may have another spelling; behind them all if there is none. */
static const uint8_t *first_sign_end(const struct compounding *rules, const uint8_t *at, const uint8_t *end) {
    for (; at < end; at++)
        for (int64_t k = 0; k < rules->n_respelled; k++) {
            const struct pair *pair = &rules->respelled[k];
            const int64_t n = pair->n_first; /* of both */
            if (end - at >= n && (is_same(at, pair->first, n) || is_same(at, pair->second, n))) return at + n;
        }
    return end + 1;
}

static bool has_signs(const struct compounding *rules, const uint8_t *bytes, int64_t n) {
    return first_sign_end(rules, bytes, bytes + n) <= bytes + n;
}

static int32_t find(const struct compounding *rules, const struct form *form) {
    const struct key key = {form->bytes, form->n, form->checksum, (int32_t)rules->place};
    return find_term(&rules->terms, &key);
}

/* Replaces a text by another one of as many bytes, in place; returns whether it is there. */
static bool replace(uint8_t *bytes, int64_t n, const uint8_t *text, const uint8_t *other, int64_t n_text) {
    bool is_there = false;
    for (int64_t k = 0; k + n_text <= n;) {
        if (!is_same(bytes + k, text, n_text)) {
            k++;
            continue;
        }
        memcpy(bytes + k, other, (size_t)n_text);
        is_there = true;
        k += n_text;
    }
    return is_there;
}

int32_t find_respelled(const struct compounding *rules, const uint8_t *word, int64_t n) {
    if (n > LONGEST_UTF8 * MOST_LETTERS || n_letters(word, n) > MOST_LETTERS) return NONE;
    for (int is_back = 0; is_back < 2; is_back++) {
        uint8_t other[LONGEST_UTF8 * MOST_LETTERS];
        bool is_other = false;
        memcpy(other, word, (size_t)n);
        for (int64_t k = 0; k < rules->n_respelled; k++) {
            const struct pair *pair = &rules->respelled[k];
            is_other |= is_back ? replace(other, n, pair->second, pair->first, pair->n_first)
                                : replace(other, n, pair->first, pair->second, pair->n_first);
        }
        if (!is_other) continue;
        const struct form form = {.bytes = other, .n = n, .checksum = checksum(other, n, rules->seed)};
        const int32_t found = find(rules, &form);
        if (found != NONE) return found;
    }
    return NONE;
}

/* A term, where the letters that the word has of it are enough. */
static int32_t find_part(const struct compounding *rules, const struct form *form, int64_t letters) {
    int32_t found = find(rules, form);
    if (found == NONE && form->has_signs) found = find_respelled(rules, form->bytes, form->n);
    return letters > LEAST_LETTERS || found <= rules->last_frequent ? found : NONE;
}

static bool ends_with(const struct form *form, const uint8_t *cut, int64_t n_cut) {
    return form->n >= n_cut && is_same(form->bytes + form->n - n_cut, cut, n_cut);
}

/* The term of a part, behind which the word goes on up to its end.
 *
 * checksums: of the part's first k bytes, by k. */
static int32_t find_before(const struct compounding *rules, const struct form *form, const uint32_t *checksums,
                           const uint8_t *end) {
    int32_t found = find_part(rules, form, form->n_letters);
    if (found != NONE) return found;
    for (int64_t k = 0; k < rules->n_links; k++) {
        const struct pair *link = &rules->links[k];
        const int64_t left = form->n - link->n_first, letters_left = form->n_letters - link->n_first_letters;
        if (letters_left < LEAST_LETTERS || !ends_with(form, link->first, link->n_first)) continue;
        /* The same letters as follow are an ending of the word, not of its part: `gelt|enden` is not `gelten|enden`. */
        if (link->n_second && end - form->bytes - form->n >= link->n_second &&
            is_same(form->bytes + form->n, link->second, link->n_second))
            continue;
        uint8_t bytes[LONGEST_UTF8 * ENDS];
        memcpy(bytes, form->bytes, (size_t)left);
        memcpy(bytes + left, link->second, (size_t)link->n_second);
        const struct form other = {.bytes = bytes, .n = left + link->n_second,
                                   .checksum = checksum(link->second, link->n_second, checksums[left]),
                                   .has_signs = form->has_signs ||
                                                has_signs(rules, bytes + left - 1, link->n_second + 1)};
        const int32_t term = find_part(rules, &other, letters_left);
        if (term != NONE && (found == NONE || term < found)) found = term;
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

/* A number for a stem, never 0, by which stems are compared (FNV-1a). */
EXPORT int64_t stem_key(const uint8_t *stem, int64_t n) {
    uint64_t key = 0xcbf29ce484222325;
    for (int64_t k = 0; k < n; k++) key = (key ^ stem[k]) * 0x100000001b3;
    return key ? (int64_t)key : 1;
}

struct wanted {
    const struct compounding *rules;
    uint64_t key;         /* of the stem */
    const uint8_t *start; /* what the term begins with */
    int64_t n;
    struct asked *asked;
};

static bool has_stem(void *context, int32_t term) {
    const struct wanted *wanted = context;
    const uint64_t key = wanted->rules->stem_keys[term];
    struct asked *asked = wanted->asked;
    if (!key && asked->n++ < asked->most) asked->terms[asked->n - 1] = term;
    return key == wanted->key;
}

static bool begins(void *context, int32_t term) {
    const struct wanted *wanted = context;
    const int64_t *offsets = wanted->rules->terms.offsets;
    return offsets[term + 1] - offsets[term] >= wanted->n &&
           memcmp(wanted->rules->terms.bytes + offsets[term], wanted->start, (size_t)wanted->n) == 0;
}

static int32_t find_near(const struct form *stem, accepts *accepts, struct wanted *wanted) {
    const struct compounding *rules = wanted->rules;
    return nearest_term(&rules->spellings, &rules->terms, (int32_t)rules->place, rules->spelling_offset, stem->bytes,
                        stem->n, accepts, wanted);
}

/* The first bytes of a form that are so many letters. */
static int64_t n_first(const struct form *form, int64_t letters) {
    int64_t n = 0;
    for (; n < form->n; n++)
        if ((form->bytes[n] & 0xc0) != 0x80 && letters-- == 0) break;
    return n;
}

/* The term that a form without an ending of the links is (`helligkeit|en`), or its stem with the letters of the form or
 * of the stemmer (`kanäl` and `kanal`); or else the most frequent one at Levenshtein distance 1 from the stem that has
 * this stem. */
static int32_t find_by_stem(const struct compounding *rules, const struct form *form, const struct form *stem,
                            struct asked *asked) {
    if (stem->n_letters < LEAST_OF_STEM) return NONE;
    for (int64_t k = 0; k < rules->n_links; k++) {
        const struct pair *link = &rules->links[k];
        const int64_t letters_left = form->n_letters - link->n_first_letters;
        if (!link->n_first || letters_left < stem->n_letters || !ends_with(form, link->first, link->n_first)) continue;
        const struct form base = beginning(rules, form, form->n - link->n_first);
        const int32_t found = find_part(rules, &base, letters_left);
        if (found != NONE) return found;
    }
    const struct form base = beginning(rules, form, n_first(form, stem->n_letters));
    int32_t found = find_part(rules, &base, base.n_letters);
    if (found == NONE) found = find_part(rules, stem, stem->n_letters);
    if (found != NONE) return found;
    struct wanted wanted = {.rules = rules, .key = (uint64_t)stem_key(stem->bytes, stem->n), .asked = asked};
    return find_near(stem, has_stem, &wanted);
}

/* The most frequent term at Levenshtein distance 1 from the stem that differs in its last two letters. */
static int32_t find_by_gradation(const struct compounding *rules, const struct form *stem) {
    if (!rules->has_gradation || stem->n_letters < LEAST_OF_GRADATION) return NONE;
    struct wanted wanted = {.rules = rules, .start = stem->bytes, .n = n_first(stem, stem->n_letters - 2)};
    return find_near(stem, begins, &wanted);
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

/* Where each letter begins, and where the last one ends. */
static int64_t letters_of(const struct span *word, const uint8_t **letters) {
    int64_t n = 0;
    for (const uint8_t *at = word->start; at < word->end && n <= MOST_LETTERS; at++)
        if ((*at & 0xc0) != 0x80) letters[n++] = at;
    letters[n] = word->end;
    return n;
}

static struct form form_from(const struct compounding *rules, const uint8_t *const *letters, int64_t n, int64_t start) {
    const int64_t n_bytes = letters[n] - letters[start];
    return (struct form){letters[start], n_bytes, n - start, checksum(letters[start], n_bytes, rules->seed),
                         true};
}

/* Splits a word into two to four parts; returns their number, or 0. */
static int64_t split(const struct compounding *rules, const uint8_t *const *letters, int64_t n,
                     const uint8_t *const *stem, int64_t n_stem, struct asked *asked, int32_t *parts) {
    struct split begun[ENDS] = {[0] = {.is_there = true, .product = 1}};
    for (int round = 0; round < MOST_BEFORE; round++) {
        struct split longer[ENDS] = {0}, best = {0};
        for (int64_t start = 0; start + 2 * LEAST_LETTERS <= n; start++) {
            if (!begun[start].is_there) continue;
            uint32_t checksums[LONGEST_UTF8 * MOST_LETTERS + 1] = {rules->seed};
            const uint8_t *sign_end = first_sign_end(rules, letters[start], letters[n]);
            for (int64_t k = 0; k < letters[n] - letters[start]; k++) {
                checksums[k + 1] = checksum(letters[start] + k, 1, checksums[k]);
                fetch_term(&rules->terms, checksums[k + 1]);
            }
            for (int64_t end = start + LEAST_LETTERS; end <= n - LEAST_LETTERS; end++) {
                const int64_t n_bytes = letters[end] - letters[start];
                const struct form form = {letters[start], n_bytes, end - start, checksums[n_bytes],
                                          letters[end] >= sign_end};
                const int32_t found = find_before(rules, &form, checksums, letters[n]);
                if (found != NONE) take_better(rules, &begun[start], round, found, &longer[end]);
            }
        }
        memcpy(begun, longer, sizeof begun);
        /* The last part is a term, or else a form of one. What the stemmer cuts is an ending and no part. */
        for (int is_form = 0; is_form < 2 && !best.is_there; is_form++)
            for (int64_t start = 0; start <= n_stem - LEAST_LETTERS && start <= n - LEAST_LETTERS; start++) {
                if (!begun[start].is_there) continue;
                const struct form last = form_from(rules, letters, n, start);
                const struct form stemmed = form_from(rules, stem, n_stem, start);
                int32_t found = is_form ? find_by_stem(rules, &last, &stemmed, asked)
                                        : find_part(rules, &last, last.n_letters);
                if (is_form && found == NONE) found = find_by_gradation(rules, &stemmed);
                if (found != NONE) take_better(rules, &begun[start], round + 1, found, &best);
            }
        if (best.is_there) {
            memcpy(parts, best.parts, sizeof best.parts);
            return round + 2;
        }
    }
    return 0;
}

/* As `split_words` says of one word. */
static int64_t parts_of(const struct compounding *rules, const struct span *word, const struct span *stem,
                        struct asked *asked, int32_t *parts) {
    const uint8_t *letters[ENDS + 1], *stem_letters[ENDS + 1];
    const int64_t n = letters_of(word, letters), n_stem = letters_of(stem, stem_letters);
    if (n > MOST_LETTERS || n_stem > MOST_LETTERS) return 0;
    const struct form whole = form_from(rules, letters, n, 0), stemmed = form_from(rules, stem_letters, n_stem, 0);
    parts[0] = find_by_stem(rules, &whole, &stemmed, asked);
    if (parts[0] != NONE) return 1;
    const int64_t n_parts = split(rules, letters, n, stem_letters, n_stem, asked, parts);
    if (n_parts != 0) return n_parts;
    parts[0] = find_by_gradation(rules, &stemmed);
    return parts[0] != NONE;
}

/* The terms of which each word consists, or the one of which it is a form; none of a word of more than 64 letters.
 *
 * stems: of the words.
 * n_parts (n_words,): how many; -1 where the stems of terms must be known first
 * parts (n_words, 4)
 * asked (most_asked,): these terms
 *
 * Returns how many these are: if more than `most_asked`, the first of them are there. */
EXPORT int64_t split_words(const struct compounding *rules, const struct texts *words, const struct texts *stems,
                           int32_t *n_parts, int32_t *parts, int32_t *asked_terms, int64_t most_asked) {
    struct asked asked = {.terms = asked_terms, .most = most_asked};
    for (int64_t k = 0; k < words->n_texts; k++) {
        const struct span word = text_of(words, k), stem = text_of(stems, k);
        const int64_t n_before = asked.n;
        n_parts[k] = (int32_t)parts_of(rules, &word, &stem, &asked, parts + MOST_PARTS * k);
        if (asked.n > n_before) n_parts[k] = -1;
    }
    return asked.n;
}
