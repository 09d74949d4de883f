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
    ROOM = 1024,
    MOST_ASKED = 64
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
    int32_t parts[MOST_BEFORE + 1];
};

/* Stems that are not known yet: the ranks of their terms, less one. */
struct asked {
    int32_t *places;
    int64_t n;
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

static bool has_signs(const struct compounding *rules, const uint8_t *bytes, int64_t n) {
    return has_any(rules->respelled.texts, rules->respelled.n_bytes, bytes, n);
}

static int32_t find(const struct compounding *rules, const struct form *form) {
    const struct key key = {form->bytes, form->n, form->checksum, (int32_t)rules->place};
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

int32_t find_respelled(const struct compounding *rules, const uint8_t *word, int64_t n) {
    const char *end = rules->respelled.texts + rules->respelled.n_bytes;
    if (n > LONGEST_UTF8 * MOST_LETTERS || !has_signs(rules, word, n) || n_letters(word, n) > MOST_LETTERS) return NONE;
    for (int is_back = 0; is_back < 2; is_back++) {
        uint8_t other[ROOM];
        int64_t n_other = n;
        memcpy(other, word, (size_t)n);
        for (const char *plain = rules->respelled.texts; plain < end && n_other >= 0;) {
            const char *letter = plain + strlen(plain) + 1;
            n_other = is_back ? replace(other, n_other, letter, plain) : replace(other, n_other, plain, letter);
            plain = letter + strlen(letter) + 1;
        }
        if (n_other < 0 || (n_other == n && memcmp(other, word, (size_t)n) == 0)) continue;
        const struct form form = {.bytes = other, .n = n_other, .checksum = checksum(other, n_other, rules->seed)};
        const int32_t found = find(rules, &form);
        if (found != NONE) return found;
    }
    return NONE;
}

EXPORT int64_t respelled_term(const struct compounding *rules, const uint8_t *word, int64_t n_bytes) {
    return find_respelled(rules, word, n_bytes);
}

/* A term, where the letters that the word has of it are enough. */
static int32_t find_part(const struct compounding *rules, const struct form *form, int64_t letters) {
    int32_t found = find(rules, form);
    if (found == NONE && form->has_signs) found = find_respelled(rules, form->bytes, form->n);
    return letters > LEAST_LETTERS || found <= rules->last_frequent ? found : NONE;
}

static bool ends_with(const struct form *form, const char *cut, int64_t n_cut) {
    return form->n >= n_cut && memcmp(form->bytes + form->n - n_cut, cut, (size_t)n_cut) == 0;
}

/* The term of a part, behind which the word goes on up to its end.
 *
 * checksums: of the part's first k bytes, by k. */
static int32_t find_before(const struct compounding *rules, const struct form *form, const uint32_t *checksums,
                           const uint8_t *end) {
    int32_t found = find_part(rules, form, form->n_letters);
    const char *cut = rules->links.texts, *links_end = cut + rules->links.n_bytes;
    if (found != NONE) return found;
    while (cut < links_end) {
        const char *restored = cut + strlen(cut) + 1;
        const int64_t n_cut = (int64_t)strlen(cut), n_restored = (int64_t)strlen(restored), left = form->n - n_cut;
        const int64_t letters_left = form->n_letters - n_letters((const uint8_t *)cut, n_cut);
        const char *next = restored + n_restored + 1;
        /* The same letters as follow are an ending of the word, not of its part: `gelt|enden` is not `gelten|enden`. */
        const bool follows = n_restored && end - form->bytes - form->n >= n_restored &&
                             memcmp(form->bytes + form->n, restored, (size_t)n_restored) == 0;
        if (letters_left >= LEAST_LETTERS && ends_with(form, cut, n_cut) && !follows) {
            uint8_t bytes[ROOM];
            memcpy(bytes, form->bytes, (size_t)left);
            memcpy(bytes + left, restored, (size_t)n_restored);
            const struct form other = {.bytes = bytes, .n = left + n_restored,
                                       .checksum = checksum((const uint8_t *)restored, n_restored, checksums[left]),
                                       .has_signs = form->has_signs || n_restored};
            const int32_t term = find_part(rules, &other, letters_left);
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

/* A number for a stem, never 0, by which stems are compared (FNV-1a). */
EXPORT int64_t stem_key(const uint8_t *stem, int64_t n) {
    uint64_t key = 0xcbf29ce484222325;
    for (int64_t k = 0; k < n; k++) key = (key ^ stem[k]) * 0x100000001b3;
    return key ? (int64_t)key : 1;
}

struct wanted {
    const struct compounding *rules;
    int64_t key;          /* of the stem */
    const uint8_t *start; /* what the term begins with */
    int64_t n;
    struct asked *asked;
};

static bool has_stem(void *context, int32_t term) {
    const struct wanted *wanted = context;
    const int64_t place = rank_of(wanted->rules, term) - 1;
    const int64_t key = wanted->rules->stems[place];
    if (!key && wanted->asked->n < MOST_ASKED) wanted->asked->places[wanted->asked->n++] = (int32_t)place;
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
    const char *cut = rules->links.texts, *links_end = cut + rules->links.n_bytes;
    while (cut < links_end) {
        const int64_t n_cut = (int64_t)strlen(cut);
        const int64_t letters_left = form->n_letters - n_letters((const uint8_t *)cut, n_cut);
        if (n_cut && letters_left >= stem->n_letters && ends_with(form, cut, n_cut)) {
            const struct form base = beginning(rules, form, form->n - n_cut);
            const int32_t found = find_part(rules, &base, letters_left);
            if (found != NONE) return found;
        }
        cut += n_cut + 1;
        cut += strlen(cut) + 1;
    }
    const struct form base = beginning(rules, form, n_first(form, stem->n_letters));
    int32_t found = find_part(rules, &base, base.n_letters);
    if (found == NONE) found = find_part(rules, stem, stem->n_letters);
    if (found != NONE) return found;
    struct wanted wanted = {.rules = rules, .key = stem_key(stem->bytes, stem->n), .asked = asked};
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
static int64_t letters_of(const uint8_t *word, int64_t n_bytes, const uint8_t **letters) {
    int64_t n = 0;
    for (int64_t k = 0; k < n_bytes && n <= MOST_LETTERS; k++)
        if ((word[k] & 0xc0) != 0x80) letters[n++] = word + k;
    letters[n] = word + n_bytes;
    return n;
}

static struct form form_from(const struct compounding *rules, const uint8_t *const *letters, int64_t n, int64_t start) {
    const int64_t n_bytes = letters[n] - letters[start];
    return (struct form){letters[start], n_bytes, n - start, checksum(letters[start], n_bytes, rules->seed),
                         has_signs(rules, letters[start], n_bytes)};
}

/* Splits a word into two to four parts; returns their number, or 0. */
static int64_t split(const struct compounding *rules, const uint8_t *const *letters, int64_t n,
                     const uint8_t *const *stem, int64_t n_stem, struct asked *asked, int32_t *parts) {
    struct split begun[ENDS] = {[0] = {.is_there = true, .product = 1}};
    const bool has_sign = has_signs(rules, letters[0], letters[n] - letters[0]);
    for (int round = 0; round < MOST_BEFORE; round++) {
        struct split longer[ENDS] = {0}, best = {0};
        for (int64_t start = 0; start + 2 * LEAST_LETTERS <= n; start++) {
            if (!begun[start].is_there) continue;
            uint32_t checksums[LONGEST_UTF8 * MOST_LETTERS + 1] = {rules->seed};
            struct form form = {.bytes = letters[start], .has_signs = has_sign};
            for (int64_t end = start + 1; end <= n - LEAST_LETTERS; end++) {
                for (; letters[start] + form.n < letters[end]; form.n++)
                    checksums[form.n + 1] = checksum(letters[start] + form.n, 1, checksums[form.n]);
                form.n_letters = end - start;
                form.checksum = checksums[form.n];
                if (form.n_letters < LEAST_LETTERS) continue;
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

/* The terms of which a word of at most 64 letters consists, or the one of which it is a form.
 *
 * stem: of the word; at most 64 letters too.
 * parts (4,)
 * asked (64,): the ranks less one of terms whose stem must be known first
 *
 * Returns the number of parts; or less than 0, by how many terms are asked for. */
EXPORT int64_t split_word(const struct compounding *rules, const uint8_t *word, int64_t n_bytes, const uint8_t *stem,
                          int64_t n_stem_bytes, int32_t *parts, int32_t *places) {
    const uint8_t *letters[ENDS + 1], *stem_letters[ENDS + 1];
    const int64_t n = letters_of(word, n_bytes, letters), n_stem = letters_of(stem, n_stem_bytes, stem_letters);
    if (n > MOST_LETTERS || n_stem > MOST_LETTERS) return 0;
    const struct form whole = form_from(rules, letters, n, 0), stemmed = form_from(rules, stem_letters, n_stem, 0);
    struct asked asked = {.places = places};
    int64_t n_parts = 1;
    parts[0] = find_by_stem(rules, &whole, &stemmed, &asked);
    if (parts[0] == NONE) n_parts = split(rules, letters, n, stem_letters, n_stem, &asked, parts);
    if (n_parts == 0) {
        parts[0] = find_by_gradation(rules, &stemmed);
        n_parts = parts[0] != NONE;
    }
    return asked.n ? -asked.n : n_parts;
}
