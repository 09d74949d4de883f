/* The terms of which an unknown word consists, as reranker/embeddings/compounds.py says. */
#ifndef COMPOUNDS_H
#define COMPOUNDS_H
#include "spelling.h"
#include "vocabulary.h"

struct pair { /* of texts */
    uint8_t first[4], second[4];
    int32_t n_first, n_second, n_first_letters;
};

struct compounding {
    struct vocabulary terms;
    int64_t place;        /* of the language */
    const int64_t *ids;   /* of its terms, ascending: the most frequent first */
    int64_t n_ids;
    int64_t last_frequent; /* id of the last term that three letters of a word are enough for */
    const struct pair *links; /* what a part takes within a compound, and what its term has instead */
    int64_t n_links;
    const struct pair *respelled; /* how a letter is written where it is missing on the keyboard, and the letter */
    int64_t n_respelled;
    struct spellings spellings;
    uint64_t spelling_offset;
    const uint64_t *stem_keys; /* (n_terms,) of the stem of each term, or 0 where it is not known yet */
    int64_t has_gradation;
    uint32_t seed;
};

/* The term that a word of at most 64 letters with another spelling is, or -1. */
int32_t find_respelled(const struct compounding *, const uint8_t *word, int64_t n_bytes);
#endif
