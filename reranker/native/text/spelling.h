/* The nearest spelling of an unknown word, in the index of reranker/embeddings/spelling.py. */
#ifndef SPELLING_H
#define SPELLING_H
#include <stdbool.h>
#include <stdint.h>

#include "vocabulary.h"

struct spellings {
    const uint64_t *entries; /* hash of a term without one letter << 32 | term id, ascending */
    const int64_t *starts;   /* where the entries begin of each value of the leading 16 bits, and the last ones end */
    int64_t n_entries;
};

typedef bool accepts(void *context, int32_t term);

/* The term of a language with the lowest id at Levenshtein distance 1 from a word, of those that are accepted; -1 if
 * there is none, and for words of fewer than 4 or more than 64 letters.
 * offset: of the language's hashes.
 * accepts: NULL accepts all; it may be asked for a term twice. */
int32_t nearest_term(const struct spellings *, const struct vocabulary *, int32_t place, uint64_t offset,
                     const uint8_t *word, int64_t n_bytes, accepts *, void *context);
#endif
