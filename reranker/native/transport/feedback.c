/* Moves a query towards the words of its best candidates (Rocchio 1971; see ranking/feedback.py). */
#include "../exported.h"
#include "shared.h"

/* The words of a query and the heaviest of its best candidates, ascending, and their weights, which sum to 1.
 *
 *   term_ids (n_terms,): distinct terms of all candidates, ascending
 *   terms (n_words,): each word's place among these; offsets (n_candidates + 1,); weights (n_words,)
 *   best (n_best,): candidates; counts (n_best,): by how much the weights of each count
 *   query_ids (n_query,): ascending; query_weights (n_query,)
 *   n_moved: words of the best candidates that are taken, at most; of equally heavy ones the first
 *   share: of the weights of these; the query's own have the rest
 *   summed (n_terms,), heaviest (n_moved,): zeros, to work in
 *   found, moved (n_moved + n_query,): the words and weights
 *
 * Returns how many words these are; 0 where the best candidates have none. */
EXPORT int64_t moved_words(const int32_t *term_ids, int64_t n_terms, const int32_t *terms, const int64_t *offsets,
                           const double *weights, const int64_t *best, const double *counts, int64_t n_best,
                           const int32_t *query_ids, const double *query_weights, int64_t n_query, int64_t n_moved,
                           double share, double *summed, double *heaviest, int32_t *found, double *moved) {
    for (int64_t k = 0; k < n_best; k++)
        for (int64_t word = offsets[best[k]]; word < offsets[best[k] + 1]; word++)
            summed[terms[word]] += counts[k] * weights[word];
    for (int64_t term = 0; term < n_terms; term++) offer(heaviest, n_moved, summed[term]);

    const double least = heaviest[0];
    double total = 0, sum = 0;
    int64_t n_equal = 0, n = 0; /* n_equal: of the words as heavy as the least taken, those that are still to be taken */
    for (int64_t k = 0; k < n_moved; k++) {
        total += heaviest[k];
        n_equal += heaviest[k] == least;
    }
    if (!(total > 0)) return 0;

    int64_t term = 0, word = 0;
    while (term < n_terms || word < n_query) { /* both ascend, and are merged */
        int64_t term_id = term < n_terms ? term_ids[term] : INT64_MAX;
        int64_t query_id = word < n_query ? query_ids[word] : INT64_MAX;
        int is_taken = 0;
        double weight = 0;
        if (term_id <= query_id) {
            int is_equal = summed[term] == least;
            if (summed[term] > least || (is_equal && n_equal > 0 && summed[term] > 0)) {
                n_equal -= is_equal;
                weight = summed[term] * (share / total);
                is_taken = 1;
            }
            term++;
        }
        if (query_id <= term_id) {
            weight += (1 - share) * query_weights[word++];
            is_taken = 1;
        }
        if (is_taken) {
            found[n] = (int32_t)smaller_of(term_id, query_id);
            moved[n++] = weight;
            sum += weight;
        }
    }
    for (int64_t k = 0; k < n; k++) moved[k] /= sum;
    return n;
}
