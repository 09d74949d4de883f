/* The distinct terms of many documents. */
#include "../exported.h"
#include "shared.h"

enum { TERMS_OF_A_BLOCK = 64 };

static int64_t block_of(int32_t term) { return term / TERMS_OF_A_BLOCK; }
static uint64_t bit_of(int32_t term) { return UINT64_C(1) << (term % TERMS_OF_A_BLOCK); }

/* Takes documents from `first` on while they have at most `max_terms` distinct terms together, and one at least.
 *
 * Which terms were met is kept in a bit each, and a term's place is the number of bits before its own: that is little
 * enough for the caches, where a number for each term is not.
 *
 *   terms (n_words,): of all documents, 0 to n_terms - 1; offsets (n_documents + 1,)
 *   met (n_terms / 64 + 1,): zeros; before: as many, to work in
 *   distinct: the distinct terms, ascending; n_distinct (1,): how many
 *   places: for each word of the documents that were taken, its term's place among these; room for n_words
 *
 * Returns the document after the last one taken. */
EXPORT int64_t distinct_terms(const int32_t *terms, const int64_t *offsets, int64_t n_documents, int64_t first,
                              int64_t max_terms, int64_t n_terms, uint64_t *met, int32_t *before, int32_t *distinct,
                              int32_t *places, int64_t *n_distinct) {
    int64_t n = 0, last = first;
    for (; last < n_documents; last++) {
        int64_t n_added = 0;
        int32_t *added = places; /* not needed yet, and no document is longer than all together */
        for (int64_t word = offsets[last]; word < offsets[last + 1]; word++) {
            uint64_t *block = &met[block_of(terms[word])], bit = bit_of(terms[word]);
            added[n_added] = terms[word];
            n_added += !(*block & bit); /* without a branch, which would go either way as often */
            *block |= bit;
        }
        if (n + n_added > max_terms && last > first) {
            for (int64_t k = 0; k < n_added; k++) met[block_of(added[k])] ^= bit_of(added[k]);
            break;
        }
        n += n_added;
    }
    int32_t k = 0;
    for (int64_t block = 0; block <= n_terms / TERMS_OF_A_BLOCK; block++) {
        before[block] = k;
        for (uint64_t left = met[block]; left; left &= left - 1)
            distinct[k++] = (int32_t)(TERMS_OF_A_BLOCK * block + __builtin_ctzll(left));
    }
    for (int64_t word = offsets[first]; word < offsets[last]; word++) {
        uint64_t smaller = met[block_of(terms[word])] & (bit_of(terms[word]) - 1);
        places[word - offsets[first]] = before[block_of(terms[word])] + __builtin_popcountll(smaller);
    }
    *n_distinct = n;
    return last;
}
