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

struct piece { /* the tokens of a piece of a text that Python read; it keeps them until the next piece */
    int64_t n_tokens;
    const uint8_t *bytes; /* end to end */
    const int64_t *offsets; /* (n_tokens + 1,) */
    const int32_t *places; /* (2 * n_tokens,), where each begins and ends in the piece, in bytes; or NULL */
};

/* Reads a piece of a text of a language in Python. */
typedef void read_piece(const uint8_t *start, int64_t n_bytes, int64_t language, struct piece *);

struct scanner {
    struct span text;
    const uint8_t *at;
    struct span place; /* of the token in the text */
    const struct rules *rules;
    bool letters_only; /* runs of letters, whether or not a digit stands beside them */
    uint8_t *token;    /* where the next token is written, of at most twice as many bytes as the text */
    int64_t n_bytes;   /* of the token */
    read_piece *read_piece;
    int64_t language;     /* its number, for `read_piece` */
    struct piece piece;   /* the last one that was read */
    const uint8_t *piece_start;
    int64_t n_read;       /* of its tokens */
    int64_t n_piece_bytes; /* of all pieces */
};

/* Finds the next token. A piece with a character that is not covered, up to the next blank, is read by Python. */
enum token next_token(struct scanner *);

/* A word as the rules of a language write it, which was read without any letters replaced. Returns the number of bytes,
 * at most twice n; 0 where nothing is replaced. */
int64_t write_replaced(const struct rules *, const uint8_t *token, int64_t n, uint8_t *to);

/* A token without its Greek accents; returns the number of bytes. */
int64_t write_bare(const uint8_t *token, int64_t n, uint8_t *to);
#endif
