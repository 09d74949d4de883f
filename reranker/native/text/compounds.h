/* The terms of which an unknown word consists, as reranker/embeddings/compounds.py says. */
#ifndef COMPOUNDS_H
#define COMPOUNDS_H
#include "spelling.h"
#include "vocabulary.h"

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
    struct pairs respelled; /* how a letter is written where it is missing on the keyboard, and the letter */
    struct spellings spellings;
    uint64_t spelling_offset;
    const int64_t *stems; /* (n_ids,) stem_key of the stem of each term, or 0 where it is not known yet */
    int64_t has_gradation;
    uint32_t seed;
};

/* The term that a word of at most 64 letters with another spelling is, or -1. */
int32_t find_respelled(const struct compounding *, const uint8_t *word, int64_t n_bytes);
#endif
