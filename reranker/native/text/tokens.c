#include "tokens.h"

enum { SEPARATOR = 1 };
/* A to Z and a to z in lower case; of other ASCII what no rule reads otherwise than as the end of a word. */
static const uint8_t plain[256] = {
    [0 ... '&'] = SEPARATOR, ['(' ... '/'] = SEPARATOR, [':' ... '@'] = SEPARATOR, ['[' ... '`'] = SEPARATOR,
    ['{' ... 127] = SEPARATOR,
    ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i',
    ['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r',
    ['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z',
    ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i',
    ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r',
    ['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z',
};

/* Writes the letters of ASCII that a text begins with, in lower case, eight bytes at a time; returns their number.
 * Up to eight bytes more are written. */
static inline int64_t write_plain_letters(const uint8_t *at, const uint8_t *end, uint8_t *to) {
    const uint8_t *start = at;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t ones = 0x0101010101010101, highest = 0x80 * ones;
    while (end - at >= 8) {
        uint64_t bytes;
        memcpy(&bytes, at, 8);
        const uint64_t lower = bytes | 0x20 * ones, low = lower & ~highest;
        /* The highest bit of each sum: whether the byte is at least `a`, and whether it is behind `z`. */
        const uint64_t is_letter = (low + (0x80 - 'a') * ones) & ~(low + (0x7f - 'z') * ones) & ~bytes & highest;
        memcpy(to + (at - start), &lower, 8);
        if (is_letter != highest) return at - start + (__builtin_ctzll(is_letter ^ highest) >> 3);
        at += 8;
    }
#endif
    for (; at < end && plain[*at] > SEPARATOR; at++) to[at - start] = plain[*at];
    return at - start;
}

static inline void append(struct scanner *s, uint32_t code) {
    s->n_bytes += write_character(code, s->token + s->n_bytes);
}

/* Whether a digit follows a point or comma; -1 where that is not covered. */
static int is_before_digit(const struct scanner *s, const uint8_t *after) {
    const uint8_t *next;
    if (after == s->text.end) return 0;
    const struct letter letter = letter_of(character_at(after, s->text.end, &next));
    return letter.flags & (UNCOVERED | REMOVED) ? -1 : (letter.flags & DIGIT) != 0;
}

/* What a letter is replaced by; NULL where it stays. */
static const struct replaced *replacement_of(const struct rules *rules, uint32_t code) {
    for (int64_t k = 0; k < rules->n_replaced; k++)
        if (rules->replaced[k].letter == (int32_t)code) return &rules->replaced[k];
    return NULL;
}

static uint16_t two_byte_letters[0x800]; /* in lower case; 0 where a rule of a script reads a character otherwise */

__attribute__((constructor)) static void fill_two_byte_letters(void) {
    for (uint32_t code = 0x80; code < 0x800; code++) {
        const struct letter letter = letter_of(code);
        if (letter.flags == (LETTER | WORDLIKE)) two_byte_letters[code] = (uint16_t)letter.code;
    }
}

/* Appends the letters of two bytes that come next, up to one that a rule of its script or language reads otherwise. */
static inline void append_letters(struct scanner *s) {
    while (s->text.end - s->at >= 2) {
        const uint8_t first = s->at[0], second = s->at[1];
        if (first < 0xc2 || first >= 0xe0 || (second & 0xc0) != 0x80) return;
        const uint32_t letter = two_byte_letters[(first & 0x1f) << 6 | (second & 0x3f)];
        if (letter == 0 || replacement_of(s->rules, letter) != NULL) return;
        append(s, letter);
        s->at += 2;
    }
}

static const char *const ligatures[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"}; /* U+FB00 to U+FB06 */

enum folded { FOLDED, LEFT_OUT, UNREADABLE };

/* A character by the rules of its script and language. */
static enum folded fold(struct scanner *s, const uint8_t *after, uint32_t code, struct letter *letter,
                        uint32_t *second) {
    const int64_t rules = s->rules->flags;
    *letter = letter_of(rules & UNDOTTED_I && code == 'I' ? 0x131 : code);
    *second = 0;
    if (code >= 0xfb00 && code <= 0xfb06) {
        const char *letters = ligatures[code - 0xfb00];
        for (; letters[1]; letters++) append(s, (uint8_t)*letters);
        *letter = letter_of((uint8_t)*letters);
    }
    if (letter->flags & UNCOVERED) return UNREADABLE;
    const bool is_mark = letter->combining || letter->flags & COMPOSES;
    if (is_mark && is_changed_by_nfc(&s->text, s->at, *letter)) return UNREADABLE;
    if (letter->flags & REMOVED) return LEFT_OUT;
    if (code == 0x200c || code == 0x200d) {
        const int found = is_left_out_joiner(&s->text, s->at);
        return found < 0 ? UNREADABLE : found ? LEFT_OUT : FOLDED;
    }
    if (rules & LETTER_APOSTROPHE && (code == '\'' || code == 0x2019)) {
        const int found = is_between_letters(&s->text, s->at, after);
        if (found < 0) return UNREADABLE;
        if (found) *letter = letter_of(0x2bc);
    }
    if (rules & JOINED_L && code == 0xb7) {
        const int found = is_joined_l(&s->text, s->at, after);
        if (found < 0) return UNREADABLE;
        if (found) {
            s->n_bytes--; /* the l before it */
            append(s, 0x140);
            return LEFT_OUT;
        }
    }
    const struct replaced *other = replacement_of(s->rules, letter->code);
    if (other != NULL) letter->code = (uint32_t)other->first, *second = (uint32_t)other->second;
    return FOLDED;
}

/* The next token; NOT_COVERED with `at` at a character that Python is to read. */
static enum token next_covered_token(struct scanner *s) {
    enum token kind = NO_TOKEN;
    bool has_keycap = false, after_digit = false;
    const uint8_t *hangul_end = NULL; /* of the last Hangul with its marks; and of the token up to it */
    int64_t n_hangul_bytes = 0;
    s->n_bytes = 0;
    while (s->at < s->text.end) {
        if (kind != NUMBER) {
            if (!(s->rules->flags & UNDOTTED_I)) {
                const int64_t n = write_plain_letters(s->at, s->text.end, s->token + s->n_bytes);
                if (n > 0 && kind == NO_TOKEN) s->place.start = s->at;
                if (n > 0) kind = WORD;
                s->at += n;
                s->n_bytes += n;
                if (s->at == s->text.end) break;
            }
            if (plain[*s->at] == SEPARATOR) {
                if (kind == WORD) return WORD;
                s->at++;
                continue;
            }
            const uint8_t *start = s->at;
            append_letters(s);
            if (s->at > start) {
                if (kind == NO_TOKEN) s->place.start = start;
                kind = WORD;
                continue;
            }
        }
        const uint8_t *after;
        const uint32_t code = character_at(s->at, s->text.end, &after);
        struct letter letter;
        uint32_t second;
        const enum folded found = fold(s, after, code, &letter, &second);
        if (found == UNREADABLE) return NOT_COVERED;
        if (found == LEFT_OUT) {
            if (s->at == hangul_end) hangul_end = after;
            s->at = after;
            continue;
        }
        const bool is_keycap = code == KEYCAP || code == EMOJI_STYLE;
        if (kind == NO_TOKEN) s->place.start = s->at;
        if (letter.flags & LETTER) {
            if (kind == NUMBER && is_hangul(code)) return NUMBER;
            if (kind == NO_TOKEN) kind = WORD;
            append(s, letter.code);
            if (second) append(s, second);
            if (is_hangul(code)) hangul_end = after, n_hangul_bytes = s->n_bytes;
            after_digit = false;
        } else if (letter.flags & MARK) {
            if (kind != NO_TOKEN && !(kind == NUMBER && is_keycap)) append(s, letter.code);
            if (s->at == hangul_end) hangul_end = after, n_hangul_bytes = s->n_bytes;
            has_keycap |= is_keycap && kind == WORD;
            after_digit = false;
        } else if (letter.flags & DIGIT && !s->letters_only) {
            if (hangul_end != NULL) { /* the number begins behind it */
                s->at = hangul_end;
                s->n_bytes = n_hangul_bytes;
                return WORD;
            }
            if (kind == WORD && has_keycap) return NOT_COVERED; /* the number's keycaps are taken out of the word too */
            kind = NUMBER;
            append(s, letter.code);
            after_digit = true;
        } else if (kind == NUMBER && after_digit && (code == '.' || code == ',')) {
            const int is_joined = is_before_digit(s, after);
            if (is_joined < 0) return NOT_COVERED;
            if (!is_joined) return NUMBER;
            append(s, code);
            after_digit = false;
        } else if (kind != NO_TOKEN) {
            return kind;
        }
        s->at = after;
    }
    return kind;
}

/* Python reads from the last token on to the first blank behind a character: no token, and nothing that NFC changes,
 * goes over it. Where it reads a good part of a text, a piece is as long as those before it: few calls read the rest. */
enum { A_GOOD_PART = 8 };

static void read_other_piece(struct scanner *s, const uint8_t *start) {
    const uint8_t *end = s->at;
    const int64_t least = s->n_piece_bytes * A_GOOD_PART > start - s->text.start ? s->n_piece_bytes : 0;
    while (end < s->text.end && ((*end != ' ' && *end != '\n') || end - start < least)) end++;
    s->n_piece_bytes += end - start;
    s->piece_start = start;
    s->at = end;
    s->n_read = s->piece.n_tokens = 0;
    s->read_piece(start, end - start, s->language, &s->piece);
}

static enum token next_of_piece(struct scanner *s) {
    const struct piece *piece = &s->piece;
    const int64_t number = s->n_read++, first = piece->offsets[number];
    if (piece->places != NULL) {
        s->place.start = s->piece_start + piece->places[2 * number];
        s->place.end = s->piece_start + piece->places[2 * number + 1];
    }
    s->n_bytes = piece->offsets[number + 1] - first;
    memcpy(s->token, piece->bytes + first, (size_t)s->n_bytes);
    for (int64_t k = 0; k < s->n_bytes; k++)
        if (s->token[k] >= '0' && s->token[k] <= '9') return NUMBER;
    return WORD;
}

enum token next_token(struct scanner *s) {
    while (s->n_read == s->piece.n_tokens) {
        const uint8_t *start = s->at;
        const enum token kind = next_covered_token(s);
        s->place.end = s->at;
        if (kind != NOT_COVERED) return kind;
        read_other_piece(s, start);
    }
    return next_of_piece(s);
}

int64_t write_replaced(const struct rules *rules, const uint8_t *token, int64_t n, uint8_t *to) {
    const uint8_t *at = token, *end = token + n, *after;
    uint8_t *written = to;
    bool is_changed = false;
    for (; at < end; at = after) {
        const uint32_t code = character_at(at, end, &after);
        const struct replaced *other = code < 0x80 ? NULL : replacement_of(rules, code); /* no letter of ASCII is */
        written += write_character(other ? (uint32_t)other->first : code, written);
        if (other && other->second) written += write_character((uint32_t)other->second, written);
        is_changed |= other != NULL;
    }
    return is_changed ? written - to : 0;
}

int64_t write_bare(const uint8_t *token, int64_t n, uint8_t *to) {
    const uint8_t *at = token, *end = token + n, *after;
    uint8_t *written = to;
    for (; at < end; at = after) {
        const uint32_t code = character_at(at, end, &after);
        const uint32_t page = code & ~(uint32_t)0xff;
        const uint32_t bare = page == 0x300 ? bare_300[code & 0xff] : page == 0x1f00 ? bare_1f00[code & 0xff] : code;
        if (bare) written += write_character(bare, written);
    }
    return written - to;
}
