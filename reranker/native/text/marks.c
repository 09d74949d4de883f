/* Chooses the words of documents that match a query's words. */
#include "../exported.h"

enum { NONE = -1, MOST_NEAR = 3 };

struct choice {
    const float *cosines; /* (n_words, n_query_words), of each word to each query word */
    int64_t n_query_words;
    float least, share_of_nearest;
    /* By word, the query word that it is marked for, and how near it is: NONE and 0 at first, and left so. */
    int32_t *query_words;
    float *likenesses;
    float *bounds; /* (n_query_words,), of the likeness of words that are marked for each */
};

static void note(const struct choice *choice, int32_t word, int64_t query_word, float likeness) {
    if (likeness <= choice->likenesses[word]) return;
    choice->likenesses[word] = likeness;
    choice->query_words[word] = (int32_t)query_word;
}

static float likeness_of(const struct choice *choice, int32_t word, int64_t query_word) {
    const float cosine = choice->cosines[word * choice->n_query_words + query_word];
    return cosine > 1 ? 1 : cosine;
}

static void find_bounds(const struct choice *choice, const int32_t *tokens, int64_t n) {
    float *bounds = choice->bounds;
    for (int64_t q = 0; q < choice->n_query_words; q++) bounds[q] = 0;
    for (int64_t k = 0; k < n; k++) {
        const float *cosines = choice->cosines + tokens[k] * choice->n_query_words;
        for (int64_t q = 0; q < choice->n_query_words; q++)
            if (cosines[q] > bounds[q]) bounds[q] = cosines[q];
    }
    for (int64_t q = 0; q < choice->n_query_words; q++) {
        bounds[q] *= choice->share_of_nearest;
        if (bounds[q] < choice->least) bounds[q] = choice->least;
    }
}

/* Notes the words nearest to a query word; of equal ones those that come first. */
static void note_nearest(const struct choice *choice, int64_t query_word, const int32_t *tokens, int64_t n) {
    int32_t nearest[MOST_NEAR + 1]; /* the nearest first */
    int n_nearest = 0;
    for (int64_t k = 0; k < n; k++) {
        const float likeness = likeness_of(choice, tokens[k], query_word);
        if (likeness < choice->bounds[query_word]) continue;
        int place = 0;
        while (place < n_nearest && nearest[place] != tokens[k] &&
               likeness <= likeness_of(choice, nearest[place], query_word))
            place++;
        if (place < n_nearest && nearest[place] == tokens[k]) continue;
        for (int one = n_nearest; one > place; one--) nearest[one] = nearest[one - 1];
        nearest[place] = tokens[k];
        if (n_nearest < MOST_NEAR) n_nearest++;
    }
    for (int k = 0; k < n_nearest; k++)
        note(choice, nearest[k], query_word, likeness_of(choice, nearest[k], query_word));
}

/* Marks tokens of each document: those that are the same as a query word; and for each query word the MOST_NEAR words
 * of the document that are nearest to it, if their cosine is at least `least`, and `share_of_nearest` times the highest
 * of the document. A word that matches several query words is marked for the nearest of them.
 *
 * offsets (n_documents + 1,), tokens: the words of each document, in reading order.
 * kinds (n_documents,), same (n_kinds, n_words): the query word that a word is the same as in documents of each kind,
 * or NONE.
 * marked, query_words, likenesses (n_tokens,): the marked tokens, the query word of each, and how near it is.
 *
 * Returns the number of marked tokens. */
EXPORT int64_t mark_tokens(const struct choice *choice, int64_t n_documents, const int64_t *offsets,
                           const int32_t *tokens, const uint8_t *kinds, const int32_t *same, int64_t n_words,
                           int64_t *marked, int32_t *query_words, float *likenesses) {
    int64_t n_marked = 0;
    for (int64_t document = 0; document < n_documents; document++) {
        const int64_t first = offsets[document], n = offsets[document + 1] - first;
        const int32_t *own = tokens + first, *same_here = same + kinds[document] * n_words;
        find_bounds(choice, own, n);
        for (int64_t k = 0; k < n; k++)
            if (same_here[own[k]] != NONE) note(choice, own[k], same_here[own[k]], 1);
        for (int64_t q = 0; q < choice->n_query_words; q++) note_nearest(choice, q, own, n);
        for (int64_t k = 0; k < n; k++) {
            if (choice->query_words[own[k]] == NONE) continue;
            marked[n_marked] = first + k;
            query_words[n_marked] = choice->query_words[own[k]];
            likenesses[n_marked++] = choice->likenesses[own[k]];
        }
        for (int64_t k = 0; k < n; k++) choice->query_words[own[k]] = NONE, choice->likenesses[own[k]] = 0;
    }
    return n_marked;
}
