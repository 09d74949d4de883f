/* The distinct terms of many documents. */
#include "../exported.h"
#include "shared.h"

enum { TERMS_OF_A_BLOCK = 64 };

static int64_t block_of(int32_t term) { return term / TERMS_OF_A_BLOCK; }
static uint64_t bit_of(int32_t term) { return UINT64_C(1) << (term % TERMS_OF_A_BLOCK); }

/* The distinct terms of some words, and each word's place among them.
 *
 * Which terms were met is kept in a bit each, and a term's place is the number of bits before its own: that is little
 * enough for the caches, where a number for each term is not.
 *
 *   terms (n_words,): 0 to n_terms - 1
 *   met (n_terms / 64 + 1,): zeros; before: as many, to work in
 *   distinct: the distinct terms, ascending; room for the smaller of n_words and n_terms
 *   places (n_words,): of each word's term among these
 *
 * Returns how many distinct terms there are. */
EXPORT int64_t distinct_terms(const int32_t *terms, int64_t n_words, int64_t n_terms, uint64_t *met, int32_t *before,
                              int32_t *distinct, int32_t *places) {
    int32_t n = 0;
    for (int64_t word = 0; word < n_words; word++) met[block_of(terms[word])] |= bit_of(terms[word]);
    for (int64_t block = 0; block <= n_terms / TERMS_OF_A_BLOCK; block++) {
        before[block] = n;
        for (uint64_t left = met[block]; left; left &= left - 1)
            distinct[n++] = (int32_t)(TERMS_OF_A_BLOCK * block + __builtin_ctzll(left));
    }
    for (int64_t word = 0; word < n_words; word++) {
        uint64_t smaller = met[block_of(terms[word])] & (bit_of(terms[word]) - 1);
        places[word] = before[block_of(terms[word])] + __builtin_popcountll(smaller);
    }
    return n;
}
