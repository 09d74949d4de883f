/* Look-ups in the arrays of reranker/embeddings/vocabulary.py: open addressing by CRC-32. */
#ifndef VOCABULARY_H
#define VOCABULARY_H
#include <stdint.h>

struct vocabulary {
    const uint8_t *bytes;    /* the terms, end to end */
    const int64_t *offsets;  /* where each begins, and where the last one ends */
    const uint8_t *places;   /* the language of each */
    const uint32_t *slots;   /* term id + 1, 0 for none */
    int64_t n_slots;         /* a power of two */
    int64_t n_terms;
};

/* CRC-32 of bytes, as zlib continues it from another one. */
uint32_t checksum(const uint8_t *bytes, int64_t n, uint32_t from);

struct key { /* a term of a language */
    const uint8_t *bytes;
    int64_t n;
    uint32_t checksum; /* from the seed of the language */
    int32_t place;
};

/* The id of a term, or -1. */
int32_t find_term(const struct vocabulary *, const struct key *);

/* Begins to fetch the memory for a term of this checksum. */
void fetch_term(const struct vocabulary *, uint32_t checksum);

/* The ids of n terms. The memory that they need is fetched for all at once, which takes a third of the time. */
void find_terms(const struct vocabulary *, const struct key *, int64_t n, int32_t *found);
#endif
