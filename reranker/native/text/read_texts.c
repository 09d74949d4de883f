/* Reads texts: which words they have, which language knows most of them, and bags of words. `__init__.py` beside this
 * file declares what is here for ctypes. */
#include "../exported.h"
#include "compounds.h"
#include "spelling.h"
#include "tokens.h"
#include "vocabulary.h"
#include "words.h"

/* What a word stands for, if not for a term. From ASKED on downwards: Python is asked, the first one first. */
enum { NONE = -1, STOP_WORD = -2, ASKED = -3 };

struct language {
    struct rules rules;
    struct vocabulary stop_words;
    int64_t has_unaccented_stop_words; /* they are compared without accents */
    int64_t place;               /* among those of the vocabulary, or -1 */
    int64_t same_rules;          /* the first language with the same flags: its words have the same places in a text */
    /* Its other spelling of a word comes first, and last the word's parts, for which Python is asked; or NULL. */
    const struct compounding *compounding;
    const int32_t *others; /* languages whose term of the same spelling stands for a word, the first of them first */
    int64_t n_others;
    uint64_t spelling_offset;
    const uint32_t *changes; /* (SHORT + 1,) by a word's length: what turns its CRC-32 into that from `seed` */
    uint32_t seed;           /* of the checksums of its terms and stop words */
};

enum { SHORT = 64 }; /* bytes of a word */

struct reader {
    struct vocabulary terms;
    struct spellings spellings;
    const struct language *languages; /* those of the vocabulary come first */
    int64_t n_places;
    read_piece *read_piece; /* by the number of a language */
};

static struct scanner scanner_of(const struct reader *reader, const struct texts *texts, int64_t text,
                                 int32_t language, const struct rules *rules) {
    const struct span span = text_of(texts, text);
    return (struct scanner){
        .text = span, .at = span.start, .rules = rules, .read_piece = reader->read_piece, .language = language};
}

static struct key key_of(const struct language *language, const uint8_t *token, int64_t n) {
    return (struct key){token, n, checksum(token, n, language->seed), (int32_t)language->place};
}

/* The key of a word whose CRC-32 is known. */
static struct key key_of_word(const struct language *language, const uint8_t *token, int64_t n, uint32_t hash) {
    if (n > SHORT) return key_of(language, token, n);
    return (struct key){token, n, hash ^ language->changes[n], (int32_t)language->place};
}

static bool is_ascii(const uint8_t *bytes, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (bytes[k] >= 0x80) return false;
    return true;
}

/* Whether the key of a word of a language is that of a stop word. bare: room for as many bytes as the word has. */
static bool is_stop_word(const struct language *language, const struct key *key, uint8_t *bare) {
    struct key stop = *key;
    if (language->has_unaccented_stop_words && !is_ascii(key->bytes, key->n))
        stop = key_of(language, bare, write_bare(key->bytes, key->n, bare));
    stop.place = 0;
    return find_term(&language->stop_words, &stop) >= 0;
}

enum { TOGETHER = 64 }; /* look-ups */

struct look_ups {
    int64_t n;
    int64_t words[TOGETHER]; /* for which the terms are looked up */
    struct key keys[TOGETHER];
};

/* What stands for a word that is no term itself, but those for which Python is asked. */
static int32_t find_own_stand_in(const struct reader *reader, const struct language *language, const struct key *key) {
    if (language->compounding) {
        const int32_t found = find_respelled(language->compounding, key->bytes, key->n);
        if (found != NONE) return found;
    }
    for (int64_t k = 0; k < language->n_others; k++) {
        const struct key other = key_of(&reader->languages[language->others[k]], key->bytes, key->n);
        const int32_t found = find_term(&reader->terms, &other);
        if (found != NONE) return found;
    }
    return nearest_term(&reader->spellings, &reader->terms, key->place, language->spelling_offset, key->bytes, key->n,
                        NULL, NULL);
}

static int32_t find_stand_in(const struct reader *reader, const struct language *language, const struct key *key,
                             int64_t *n_asked) {
    const int32_t found = find_own_stand_in(reader, language, key);
    if (found == NONE && language->compounding) return ASKED - (int32_t)(*n_asked)++;
    return found;
}

/* The term that stands for all of a word of a language of the vocabulary that is no term itself; or NONE. */
EXPORT int64_t stand_in(const struct reader *reader, int64_t place, const uint8_t *word, int64_t n) {
    const struct language *language = &reader->languages[place];
    const struct key key = key_of(language, word, n);
    return find_own_stand_in(reader, language, &key);
}

static void look_up_terms(const struct reader *reader, struct words *words, struct look_ups *waiting,
                          int64_t *n_asked) {
    int32_t found[TOGETHER];
    find_terms(&reader->terms, waiting->keys, waiting->n, found);
    for (int64_t k = 0; k < waiting->n; k++) {
        struct word *word = &words->words[waiting->words[k]];
        word->term = found[k];
        if (found[k] == NONE)
            word->term = find_stand_in(reader, &reader->languages[word->language], &waiting->keys[k], n_asked);
    }
    waiting->n = 0;
}

/* Finds the tokens of texts without stop words: of each its first `most` words, and as many numbers among them.
 *
 * languages (n_texts,): the number of each text's language.
 * words: none yet; its letters have room for four times the bytes of the texts, and 16.
 * token_offsets (n_texts + 1,): where the tokens of each text begin among `tokens`: places of words, in reading order.
 * ends (2 * n_tokens,): where each token begins and ends in its text, in bytes; NULL where nobody asks.
 *
 * Returns the number of words that Python is asked for. */
EXPORT int64_t read_texts(const struct reader *reader, const struct texts *texts, const int32_t *languages,
                          int64_t most, struct words *words, int64_t *token_offsets, int32_t *tokens, int32_t *ends) {
    int64_t n_tokens = 0, n_asked = 0;
    struct look_ups waiting = {.n = 0};
    for (int64_t text = 0; text < texts->n_texts; text++) {
        const struct language *language = &reader->languages[languages[text]];
        struct scanner scanner = scanner_of(reader, texts, text, languages[text], &language->rules);
        int64_t n_words = 0, n_numbers = 0;
        token_offsets[text] = n_tokens;
        while (n_words < most) {
            scanner.token = words->letters + words->n_letters;
            const enum token kind = next_token(&scanner);
            if (kind == NO_TOKEN) break;
            if (kind == NUMBER && n_numbers == most) continue;
            int is_new;
            const int64_t place = find_word(words, languages[text], scanner.n_bytes, &is_new);
            struct word *word = &words->words[place];
            if (is_new) {
                const uint8_t *token = words->letters + word->start;
                word->hash = checksum(token, word->n_bytes, 0);
                word->term = NONE;
                const struct key key = key_of_word(language, token, word->n_bytes, word->hash);
                if (is_stop_word(language, &key, words->letters + words->n_letters)) word->term = STOP_WORD;
                else if (kind == WORD && language->place >= 0) {
                    waiting.words[waiting.n] = place;
                    waiting.keys[waiting.n++] = key;
                    if (waiting.n == TOGETHER) look_up_terms(reader, words, &waiting, &n_asked);
                }
            }
            if (word->term == STOP_WORD) continue;
            if (ends != NULL) {
                ends[2 * n_tokens] = (int32_t)(scanner.place.start - scanner.text.start);
                ends[2 * n_tokens + 1] = (int32_t)(scanner.place.end - scanner.text.start);
            }
            tokens[n_tokens++] = (int32_t)place;
            n_words += kind == WORD;
            n_numbers += kind == NUMBER;
        }
    }
    look_up_terms(reader, words, &waiting, &n_asked);
    token_offsets[texts->n_texts] = n_tokens;
    return n_asked;
}

/* Lists the terms whose embeddings words take: those of word i are term_ids[offsets[i]] to term_ids[offsets[i + 1] - 1].
 * Returns their number.
 *
 * group_offsets, group: as of `count_bags`.
 * offsets (n_words + 1,); term_ids: room for as many as there are words, and as `group` has. */
EXPORT int64_t list_terms(const struct word *words, int64_t n_words, const int64_t *group_offsets, const int32_t *group,
                          int32_t *offsets, int32_t *term_ids) {
    int32_t n = 0;
    for (int64_t k = 0; k < n_words; k++) {
        offsets[k] = n;
        if (words[k].term >= 0) term_ids[n++] = words[k].term;
        else if (words[k].term <= ASKED)
            for (int64_t g = group_offsets[ASKED - words[k].term]; g < group_offsets[ASKED - words[k].term + 1]; g++)
                term_ids[n++] = group[g];
    }
    offsets[n_words] = n;
    return n;
}

/* Finds what words of texts, from `first` on, are in each language with the same flags. */
static void find_in_languages(const struct reader *reader, struct words *words, int64_t first, int32_t rules,
                              int32_t *terms) {
    struct key keys[TOGETHER];
    int32_t found[TOGETHER];
    int64_t places[TOGETHER];
    for (int64_t k = rules; k < reader->n_places; k++) {
        const struct language *language = &reader->languages[k];
        if (language->same_rules != rules) continue;
        int64_t n = 0;
        for (int64_t place = first; place < words->n_words; place++) {
            const struct word *word = &words->words[place];
            const uint8_t *token = words->letters + word->start;
            uint8_t *room = words->letters + words->n_letters;
            int32_t *term = &terms[reader->n_places * place + k];
            const int64_t n_replaced =
                language->rules.n_replaced ? write_replaced(&language->rules, token, word->n_bytes, room) : 0;
            const struct key key = n_replaced ? key_of(language, room, n_replaced)
                                              : key_of_word(language, token, word->n_bytes, word->hash);
            if (is_stop_word(language, &key, room + n_replaced)) *term = STOP_WORD;
            else if (n_replaced) *term = find_term(&reader->terms, &key);
            else {
                keys[n] = key;
                places[n++] = place;
            }
            if (n < TOGETHER && place + 1 < words->n_words) continue;
            find_terms(&reader->terms, keys, n, found);
            for (int64_t one = 0; one < n; one++) terms[reader->n_places * places[one] + k] = found[one];
            n = 0;
        }
    }
}

/* Finds the first `most` runs of letters of each text in each language, and counts those that it knows.
 *
 * words: as of `read_texts`.
 * terms (most words, n_places): what each word is in each language: a term, STOP_WORD or NONE. Of a word's place only
 * the languages with its flags are set.
 * tokens (n_rules, n_texts, most): the words of the texts by each kind of flags, in the order of their first languages;
 * n_tokens (n_rules, n_texts): how many.
 * n_known (n_texts, n_places): 0 at first. */
EXPORT void find_first_words(const struct reader *reader, const struct texts *texts, int64_t most, struct words *words,
                             int32_t *terms, int32_t *tokens, int32_t *n_tokens, int32_t *n_known) {
    for (int32_t rules = 0; rules < reader->n_places; rules++) {
        if (reader->languages[rules].same_rules != rules) continue;
        const struct rules plain = {.flags = reader->languages[rules].rules.flags};
        const int64_t first_new = words->n_words;
        for (int64_t text = 0; text < texts->n_texts; text++) {
            struct scanner scanner = scanner_of(reader, texts, text, rules, &plain);
            scanner.letters_only = true;
            n_tokens[text] = 0;
            while (n_tokens[text] < most) {
                scanner.token = words->letters + words->n_letters;
                if (next_token(&scanner) == NO_TOKEN) break;
                int is_new;
                const int64_t place = find_word(words, rules, scanner.n_bytes, &is_new);
                struct word *word = &words->words[place];
                if (is_new) word->hash = checksum(words->letters + word->start, word->n_bytes, 0);
                tokens[most * text + n_tokens[text]++] = (int32_t)place;
            }
        }
        find_in_languages(reader, words, first_new, rules, terms);
        for (int64_t text = 0; text < texts->n_texts; text++)
            for (int64_t k = 0; k < n_tokens[text]; k++) {
                const int32_t *found = terms + reader->n_places * tokens[most * text + k];
                for (int64_t one = rules; one < reader->n_places; one++)
                    if (reader->languages[one].same_rules == rules)
                        n_known[reader->n_places * text + one] += found[one] != NONE;
            }
        tokens += most * texts->n_texts;
        n_tokens += texts->n_texts;
    }
}

enum { FEW = 24, DIGITS = 256 };

static void sort_few(uint64_t *numbers, int64_t n) {
    for (int64_t k = 1; k < n; k++) {
        const uint64_t number = numbers[k];
        int64_t place = k;
        for (; place > 0 && numbers[place - 1] > number; place--) numbers[place] = numbers[place - 1];
        numbers[place] = number;
    }
}

/* Sorts by the bits from `first_bit` on, byte by byte. room (n,) */
static void sort(uint64_t *numbers, int64_t n, int first_bit, uint64_t *room) {
    uint64_t *from = numbers, *to = room, different = 0;
    if (n <= FEW) {
        sort_few(numbers, n);
        return;
    }
    for (int64_t k = 1; k < n; k++) different |= numbers[k] ^ numbers[0];
    for (int bit = first_bit; bit < 64; bit += 8) {
        if ((different >> bit) % DIGITS == 0) continue;
        int64_t ends[DIGITS] = {0}, end = 0;
        for (int64_t k = 0; k < n; k++) ends[(from[k] >> bit) % DIGITS]++;
        for (int digit = 0; digit < DIGITS; digit++) {
            const int64_t count = ends[digit];
            ends[digit] = end;
            end += count;
        }
        for (int64_t k = 0; k < n; k++) to[ends[(from[k] >> bit) % DIGITS]++] = from[k];
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != numbers) memcpy(numbers, from, (size_t)n * sizeof *numbers);
}

struct bags { /* end to end */
    int64_t *offsets; /* (n + 1,) */
    int32_t *term_ids, *counts;
    int64_t *n_unknown; /* (n,) */
    int64_t *hash_offsets;
    uint32_t *hashes;
    uint32_t *parts, *hash_parts; /* of each term and hash */
};

enum { PART = 64, LAST_PART = 31 };

/* Counts the tokens of each text: its terms ascending with their counts, the tokens that stand for none, and the
 * `most_hashes` smallest of their hashes, distinct and ascending. Of each term and hash, the parts of the text that have
 * it: bit k for the k-th PART tokens; the last one for all that follow.
 *
 * token_offsets, tokens: as of `read_texts`.
 * group_offsets, group: the terms for which each word stands that Python was asked for.
 * seen, seen_in (n_words,): 0 at first.
 * numbers: room for as many as a text has tokens, and twice as many as these have terms. */
EXPORT void count_bags(const struct word *words, int64_t n_texts, const int64_t *token_offsets, const int32_t *tokens,
                       const int64_t *group_offsets, const int32_t *group, int64_t most_hashes, int32_t *seen,
                       uint32_t *seen_in, uint64_t *numbers, struct bags *bags) {
    int64_t n_terms = 0, n_hashes = 0;
    for (int64_t text = 0; text < n_texts; text++) {
        int64_t n_distinct = 0, n_found = 0;
        bags->offsets[text] = n_terms;
        bags->hash_offsets[text] = n_hashes;
        bags->n_unknown[text] = 0;
        int32_t *distinct = (int32_t *)numbers; /* they come before what is found of them */
        for (int64_t k = token_offsets[text]; k < token_offsets[text + 1]; k++) {
            if (seen[tokens[k]]++ == 0) distinct[n_distinct++] = tokens[k];
            const int64_t part = (k - token_offsets[text]) / PART;
            seen_in[tokens[k]] |= UINT32_C(1) << (part < LAST_PART ? part : LAST_PART);
        }
        uint64_t *found = numbers + (n_distinct + 1) / 2, *hashes;
        for (int64_t k = 0; k < n_distinct; k++) {
            const struct word *word = &words[distinct[k]];
            const uint64_t place = (uint64_t)distinct[k];
            if (word->term >= 0) found[n_found++] = (uint64_t)word->term << 32 | place;
            else if (word->term <= ASKED)
                for (int64_t g = group_offsets[ASKED - word->term]; g < group_offsets[ASKED - word->term + 1]; g++)
                    found[n_found++] = (uint64_t)group[g] << 32 | place;
        }
        sort(found, n_found, 32, found + n_found);
        for (int64_t k = 0; k < n_found; k++) {
            const int32_t term = (int32_t)(found[k] >> 32);
            const uint32_t place = (uint32_t)found[k];
            if (n_terms > bags->offsets[text] && bags->term_ids[n_terms - 1] == term) {
                bags->counts[n_terms - 1] += seen[place];
                bags->parts[n_terms - 1] |= seen_in[place];
                continue;
            }
            bags->term_ids[n_terms] = term;
            bags->parts[n_terms] = seen_in[place];
            bags->counts[n_terms++] = seen[place];
        }
        hashes = found;
        n_found = 0;
        for (int64_t k = 0; k < n_distinct; k++) {
            const struct word *word = &words[distinct[k]];
            const bool is_known = word->term >= 0 || (word->term <= ASKED && group_offsets[ASKED - word->term] <
                                                                                group_offsets[ASKED - word->term + 1]);
            if (!is_known) {
                bags->n_unknown[text] += seen[distinct[k]];
                hashes[n_found++] = (uint64_t)word->hash << 32 | seen_in[distinct[k]];
            }
            seen[distinct[k]] = 0;
            seen_in[distinct[k]] = 0;
        }
        sort(hashes, n_found, 32, hashes + n_found);
        for (int64_t k = 0; k < n_found; k++) {
            const uint32_t hash = (uint32_t)(hashes[k] >> 32), parts = (uint32_t)hashes[k];
            const bool is_new = n_hashes == bags->hash_offsets[text] || bags->hashes[n_hashes - 1] != hash;
            if (is_new && n_hashes - bags->hash_offsets[text] == most_hashes) break;
            if (is_new) {
                bags->hashes[n_hashes] = hash;
                bags->hash_parts[n_hashes++] = parts;
            } else bags->hash_parts[n_hashes - 1] |= parts;
        }
    }
    bags->offsets[n_texts] = n_terms;
    bags->hash_offsets[n_texts] = n_hashes;
}
