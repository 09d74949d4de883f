/* Finds the words of documents that match a query's words, and where they stand. */
#include "../exported.h"
#include "letters.h"
#include "words.h"

enum { NONE = -1, MOST_NEAR = 3 };

struct query_word {
    uint32_t hash;  /* CRC-32 of its UTF-8 */
    int32_t column; /* in the costs; NONE without an embedding */
    uint64_t stem_key;
};

struct query {
    const struct query_word *words;
    int64_t n;
    float least, share_of_nearest;
};

struct read_words { /* of all documents */
    const struct word *words;
    int64_t n;
    const int32_t *rows; /* (n + 1,), where those of each word begin in the costs: it is as near as its nearest row */
    const float *costs;  /* (rows, width), cosine costs */
    int64_t width;
    const uint64_t *stem_keys; /* (n,), for documents in the query's language; or 0 */
    /* Room for what is found. */
    float *cosines;         /* (n, n query words) */
    struct choice *choices; /* (n,): zeros */
    int32_t *near;          /* (n,) */
};

struct choice { /* of a word, in the document that was looked at last */
    int32_t document;   /* its number from 1 */
    int32_t query_word; /* that it is marked for, or NONE */
    float likeness;
    int32_t may_be_near; /* whether any of its cosines is enough for a mark */
};

struct mark {
    int32_t text, start, end; /* in characters */
    int32_t word, query_word;
    float likeness;
};

static void fill_cosines(const struct query *query, const struct read_words *read) {
    float *cosines = read->cosines;
    for (int64_t word = 0; word < read->n; word++)
        for (int64_t q = 0; q < query->n; q++) {
            const int32_t column = query->words[q].column;
            float nearest = 0;
            for (int64_t row = read->rows[word]; column != NONE && row < read->rows[word + 1]; row++) {
                const float cosine = 1 - read->costs[row * read->width + column];
                if (cosine > nearest) nearest = cosine;
            }
            read->choices[word].may_be_near |= nearest >= query->least;
            *cosines++ = nearest;
        }
}

/* The first query word that a word is the same as, or else that has its stem; or NONE. */
static int32_t same_as(const struct query *query, uint32_t hash, uint64_t stem_key) {
    for (int64_t q = 0; q < query->n; q++)
        if (query->words[q].hash == hash) return (int32_t)q;
    for (int64_t q = 0; stem_key && q < query->n; q++)
        if (query->words[q].stem_key == stem_key) return (int32_t)q;
    return NONE;
}

/* The distinct words of a document that may be near to a query word, in the order in which they come first; returns
 * their number. Words that are the same as a query word are chosen for it. */
static int64_t find_near(const struct query *query, const struct read_words *read, int32_t document, bool is_own,
                             const int32_t *tokens, int64_t n_tokens) {
    int64_t n = 0;
    for (int64_t k = 0; k < n_tokens; k++) {
        const int32_t word = tokens[k];
        struct choice *choice = &read->choices[word];
        if (choice->document == document) continue;
        choice->document = document;
        choice->query_word = same_as(query, read->words[word].hash, is_own ? read->stem_keys[word] : 0);
        choice->likeness = choice->query_word == NONE ? 0 : 1;
        if (choice->may_be_near) read->near[n++] = word;
    }
    return n;
}

/* Chooses the words nearest to a query word; of equal ones those that come first. */
static void choose_nearest(const struct query *query, const struct read_words *read, int64_t query_word,
                           int64_t n_near) {
    float highest = 0;
    struct near {
        int32_t word;
        float likeness;
    } nearest[MOST_NEAR + 1]; /* the nearest first */
    int n_nearest = 0;
    for (int64_t k = 0; k < n_near; k++) {
        const float cosine = read->cosines[read->near[k] * query->n + query_word];
        if (cosine > highest) highest = cosine;
    }
    const float share = query->share_of_nearest * highest, bound = share > query->least ? share : query->least;
    for (int64_t k = 0; k < n_near; k++) {
        const float cosine = read->cosines[read->near[k] * query->n + query_word];
        const float likeness = cosine > 1 ? 1 : cosine;
        if (likeness < bound) continue;
        int place = 0;
        while (place < n_nearest && likeness <= nearest[place].likeness) place++;
        for (int one = n_nearest; one > place; one--) nearest[one] = nearest[one - 1];
        nearest[place] = (struct near){read->near[k], likeness};
        if (n_nearest < MOST_NEAR) n_nearest++;
    }
    for (int k = 0; k < n_nearest; k++) {
        struct choice *choice = &read->choices[nearest[k].word];
        if (nearest[k].likeness <= choice->likeness) continue;
        choice->likeness = nearest[k].likeness;
        choice->query_word = (int32_t)query_word;
    }
}

static int32_t count_characters(const uint8_t *from, const uint8_t *to) {
    int32_t n = 0;
    for (; from < to; from++) n += (*from & 0xc0) != 0x80;
    return n;
}

/* Marks tokens of each document: those that are the same as a query word; and for each query word the MOST_NEAR words
 * of the document that are nearest to it, if their cosine is at least `least`, and `share_of_nearest` times the highest
 * of the document. A word that matches several query words is marked for the nearest of them.
 *
 * text_offsets (n_documents + 1,): where the texts of each document begin.
 * is_own (n_documents,): whether it is in the query's language: then its words may also have the stem of a query word.
 * token_offsets, tokens, ends: as of `read_texts`.
 * marks (n_tokens,): in reading order.
 *
 * Returns the number of marks. */
EXPORT int64_t mark_tokens(const struct query *query, const struct read_words *read, const struct texts *texts,
                           int64_t n_documents, const int64_t *text_offsets, const uint8_t *is_own,
                           const int64_t *token_offsets, const int32_t *tokens, const int32_t *ends,
                           struct mark *marks) {
    struct mark *mark = marks;
    fill_cosines(query, read);
    for (int64_t document = 0; document < n_documents; document++) {
        const int64_t first_text = text_offsets[document], end_text = text_offsets[document + 1];
        const int64_t first = token_offsets[first_text], n_tokens = token_offsets[end_text] - first;
        const int64_t n_near =
            find_near(query, read, (int32_t)document + 1, is_own[document], tokens + first, n_tokens);
        for (int64_t q = 0; q < query->n; q++) choose_nearest(query, read, q, n_near);
        for (int64_t text = first_text; text < end_text; text++) {
            const uint8_t *start = text_of(texts, text).start, *at = start;
            int32_t n_characters = 0;
            for (int64_t k = token_offsets[text]; k < token_offsets[text + 1]; k++) {
                const struct choice *choice = &read->choices[tokens[k]];
                if (choice->query_word == NONE) continue;
                mark->text = (int32_t)text;
                mark->start = n_characters + count_characters(at, start + ends[2 * k]);
                mark->end = mark->start + count_characters(start + ends[2 * k], start + ends[2 * k + 1]);
                mark->word = tokens[k];
                mark->query_word = choice->query_word;
                mark->likeness = choice->likeness;
                at = start + ends[2 * k + 1];
                n_characters = mark++->end;
            }
        }
    }
    return mark - marks;
}
