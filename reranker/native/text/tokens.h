/* Tokens of a text, as reranker/text/tokens.py defines them. */
#ifndef TOKENS_H
#define TOKENS_H
#include "letters.h"

struct replaced { /* a letter that a language writes as one other, or as two (`second` is 0 for one) */
    int32_t letter, first, second;
};

struct rules { /* how a language's letters are made one */
    const struct replaced *replaced;
    int64_t n_replaced;
    int64_t flags; /* UNDOTTED_I, LETTER_APOSTROPHE, JOINED_L */
};

enum token { NO_TOKEN, WORD, NUMBER, NOT_COVERED };

struct scanner {
    struct span text;
    const uint8_t *at;
    const uint8_t *start; /* of the token in the text; it ends at `at` */
    const struct rules *rules;
    bool letters_only; /* runs of letters, whether or not a digit stands beside them */
    uint8_t *token;    /* where the next token is written, of at most twice as many bytes as the text */
    int64_t n_bytes;   /* of the token */
};

/* Finds the next token; NOT_COVERED where Python is to read the text. */
enum token next_token(struct scanner *);

/* A word as the rules of a language write it, which was read without any letters replaced. Returns the number of bytes,
 * at most twice n; 0 where nothing is replaced. */
int64_t write_replaced(const struct rules *, const uint8_t *token, int64_t n, uint8_t *to);

/* A token without its Greek accents; returns the number of bytes. */
int64_t write_bare(const uint8_t *token, int64_t n, uint8_t *to);
#endif
