/* Letters of a text in UTF-8, as reranker/text/normalization.py makes them: lower case, NFC, and the rules of scripts.
 *
 * Nothing is composed or put in order here. A character that NFC would change, or of a script that these tables leave
 * out, is not covered: Python reads the piece of the text that holds it. */
#ifndef LETTERS_H
#define LETTERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unicode_tables.h"

/* More marks or joiners than these in a row (Unicode's Stream-Safe Text Format) are not covered: each looks back. */
enum { MOST_IN_A_ROW = 30 };
enum { LONGEST_UTF8 = 4, HANGUL_FIRST = 0xac00, HANGUL_LAST = 0xd7a3, KEYCAP = 0x20e3, EMOJI_STYLE = 0xfe0f };
/* Rules of languages: Turkish i without a dot, an apostrophe that is a letter, Catalan l·l. */
enum { UNDOTTED_I = 1, LETTER_APOSTROPHE = 2, JOINED_L = 4 };

struct span { /* bytes of UTF-8; they need not be well-formed */
    const uint8_t *start, *end;
};

struct texts {
    const uint8_t *bytes;
    const int64_t *offsets; /* where each begins, and where the last one ends */
    int64_t n_texts;
};

static inline struct span text_of(const struct texts *texts, int64_t text) {
    return (struct span){texts->bytes + texts->offsets[text], texts->bytes + texts->offsets[text + 1]};
}

/* The character at a place, and the place after it in *next. A byte that begins none is the character U+FFFD. */
static inline uint32_t character_at(const uint8_t *at, const uint8_t *end, const uint8_t **next) {
    const uint8_t first = *at;
    const int n_more = first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 0;
    *next = at + 1;
    if (first < 0x80) return first;
    if (n_more == 0 || end - at <= n_more) return 0xfffd;
    uint32_t code = first & (0x3f >> n_more);
    for (int k = 1; k <= n_more; k++) {
        if ((at[k] & 0xc0) != 0x80) return 0xfffd;
        code = code << 6 | (at[k] & 0x3f);
    }
    *next = at + n_more + 1;
    return code;
}

/* The place of the character before a place; NULL at the start. */
static inline const uint8_t *before(const struct span *text, const uint8_t *at) {
    const uint8_t *place = at;
    if (place == text->start) return NULL;
    do place--;
    while (place > text->start && (*place & 0xc0) == 0x80 && at - place < LONGEST_UTF8);
    return place;
}

static inline int write_character(uint32_t code, uint8_t *to) {
    if (code < 0x80) return to[0] = (uint8_t)code, 1;
    if (code < 0x800) return to[0] = (uint8_t)(0xc0 | code >> 6), to[1] = (uint8_t)(0x80 | (code & 0x3f)), 2;
    to[0] = (uint8_t)(0xe0 | code >> 12);
    to[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    to[2] = (uint8_t)(0x80 | (code & 0x3f));
    return 3;
}

struct letter { /* a character in lower case; digits are those of ASCII */
    uint32_t code;
    uint8_t flags, combining, trailing;
};

static inline struct letter letter_of(uint32_t code) {
    if (code < TABLES_END) {
        const struct record *record = &records[blocks[pages[code / BLOCK]][code % BLOCK]];
        return (struct letter){(code + record->added) & 0xffff, record->flags, record->combining, record->trailing};
    }
    uint8_t flags = UNCOVERED;
    if (code >= HANGUL_FIRST && code <= HANGUL_LAST)
        flags = LETTER | WORDLIKE;
    else if (code >= 0xfe00 && code <= EMOJI_STYLE)
        flags = MARK;
    else if ((code >= 0xd800 && code <= 0xf8ff) || code == 0xfeff || code == 0xfffd ||
             (code >= 0x1f000 && code <= 0x1faff))
        flags = 0; /* half pairs, private characters, the byte order mark, emoji */
    return (struct letter){code, flags, 0, 0};
}

static inline bool is_hangul(uint32_t code) { return code >= HANGUL_FIRST && code <= HANGUL_LAST; }

static inline bool compose(uint32_t letter, uint32_t mark) {
    const uint32_t pair = letter << 16 | mark;
    size_t first = 0, n = sizeof compositions / sizeof *compositions;
    if (letter > 0xffff) return false;
    while (n) {
        const size_t half = n / 2;
        if (compositions[first + half] < pair) first += half + 1, n -= half + 1;
        else n = half;
    }
    return first < sizeof compositions / sizeof *compositions && compositions[first] == pair;
}

/* Whether NFC changes a mark or what stands before it, so that it shows: the mark would be put before the one there, or
 * make one character with a letter. Among marks that are left out the order does not show. The dots of i are taken off,
 * so they are not covered either. */
static inline bool is_changed_by_nfc(const struct span *text, const uint8_t *at, struct letter mark) {
    const uint8_t *place = before(text, at), *next;
    if (place == NULL) return false;
    uint32_t code = character_at(place, text->end, &next);
    struct letter letter = letter_of(code);
    if (code == 0x130 || (mark.code == 0x307 && letter.code == 'i')) return true;
    if ((mark.flags & (REMOVED | COMPOSES)) == REMOVED) return false;
    for (int n = 0;; n++) {
        if (n == MOST_IN_A_ROW || (mark.combining && letter.trailing > mark.combining)) return true;
        if (!letter.combining) break;
        place = before(text, place);
        if (place == NULL) return false;
        letter = letter_of(character_at(place, text->end, &next));
    }
    return mark.flags & COMPOSES && (letter.flags & UNCOVERED || compose(letter.code, mark.code));
}

/* Whether a zero-width joiner stands within an Indic word, where it is left out; after a mark that is left out it is
 * not covered (-1). */
static inline int is_left_out_joiner(const struct span *text, const uint8_t *at) {
    const uint8_t *next;
    const uint8_t *place = before(text, at);
    for (int n = 0; place != NULL && n < MOST_IN_A_ROW; n++, place = before(text, place)) {
        const uint32_t code = character_at(place, text->end, &next);
        if (code == 0x200c || code == 0x200d) continue;
        return letter_of(code).flags & REMOVED ? -1 : code >= 0x900 && code <= 0xdff;
    }
    return place == NULL ? 0 : -1;
}

/* Whether letters or what is like them stand on both sides of a character; -1 where the next one is not covered. */
static inline int is_between_letters(const struct span *text, const uint8_t *at, const uint8_t *after) {
    const uint8_t *place = before(text, at), *next;
    if (place == NULL || after == text->end) return 0;
    const struct letter last = letter_of(character_at(place, text->end, &next));
    const struct letter following = letter_of(character_at(after, text->end, &next));
    if ((last.flags | following.flags) & UNCOVERED) return -1;
    if (following.code >= TABLES_END || last.code >= TABLES_END) return -1;
    return (last.flags & WORDLIKE) && (following.flags & WORDLIKE);
}

static inline bool is_l(const uint8_t *at) { return (*at | 0x20) == 'l'; }

/* Whether a raised dot joins two l; -1 where what stands beside it is not covered. */
static inline int is_joined_l(const struct span *text, const uint8_t *at, const uint8_t *after) {
    const uint8_t *place = before(text, at), *next;
    if (place == NULL || after == text->end) return 0;
    if (letter_of(character_at(place, text->end, &next)).flags & UNCOVERED) return -1;
    if (!is_l(at - 1)) return 0;
    return letter_of(character_at(after, text->end, &next)).flags & UNCOVERED ? -1 : is_l(after);
}
#endif
