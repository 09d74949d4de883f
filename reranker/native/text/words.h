/* The distinct tokens of many texts: each is looked up once. */
#ifndef WORDS_H
#define WORDS_H
#include <stdint.h>

struct word {
    int64_t start;    /* of its UTF-8 among the letters */
    int32_t n_bytes;
    int32_t language; /* its number among the reader's */
    int32_t term;     /* what it stands for */
    uint32_t hash;    /* CRC-32 of its UTF-8 */
    uint32_t fingerprint;
};

enum { FIRST_SLOTS = 4096 }; /* the caller has room for FIRST_SLOTS, and for 8 times the most words */

struct words { /* the caller's arrays */
    struct word *words;
    int64_t n_words;
    uint32_t *slots; /* place + 1, or 0 */
    int64_t n_slots; /* in use, a power of two; 0 at first */
    uint8_t *letters; /* with 8 bytes more than are written */
    int64_t n_letters;
};

/* The place of a token, which lies at the end of the letters; a new one is added, and `is_new` set. */
int64_t find_word(struct words *, int32_t language, int64_t n_bytes, int *is_new);
#endif
