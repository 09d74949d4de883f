/* Scores of the documents that each document resembles by the words that they share (Diaz 2005; see
 * ranking/neighbours.py). */
#include <string.h>

#include "../exported.h"
#include "shared.h"

/* The words of the best documents, term by term: those of term t lie from starts[t] to ends[t]. */
struct postings {
    int64_t *starts, *ends;
    int32_t *documents; /* which of the best */
    double *roots;
};

/* Adds the likeness of a document and those of the postings, one in each column. */
static void add_likeness(double *row, const struct postings *postings, const int32_t *terms, const double *roots,
                         int64_t start, int64_t end) {
    for (int64_t word = start; word < end; word++)
        for (int64_t place = postings->starts[terms[word]]; place < postings->ends[terms[word]]; place++)
            row[postings->documents[place]] += roots[word] * postings->roots[place];
}

/* The mean score of the documents that one is most like, by the fourth power of the likeness; its own where it is like
 * none. `nearest` (n_nearest,) is to work in. */
static double mean_of_nearest(const double *likeness, int64_t n, const double *scores, double *nearest,
                              int64_t n_nearest, double own) {
    double total = 0, weighed = 0;
    for (int64_t k = 0; k < n_nearest; k++) nearest[k] = 0;
    for (int64_t k = 0; k < n; k++) offer(nearest, n_nearest, likeness[k]);
    for (int64_t k = 0; k < n; k++) {
        double counted = likeness[k] >= nearest[0] ? likeness[k] : 0;
        double weight = counted * counted * counted * counted;
        total += weight;
        weighed += weight * scores[k];
    }
    return total > 0 ? weighed / total : own;
}

/* The mean score of each document's nearest neighbours. The likeness of two documents is the sum of the products of the
 * roots of each term that both have; 0 of a document and itself. Equally near neighbours all count.
 *
 *   terms (n_words,): 0 to n_terms - 1; offsets (n + 1,); roots (n_words,): of the weights, above 0
 *   best (n_best,): documents among which neighbours are looked for, more than n_nearest
 *   scores (n,); means (n,): what is found */
EXPORT int neighbour_means(const int32_t *terms, const int64_t *offsets, const double *roots, int64_t n_terms,
                           const int64_t *best, int64_t n_best, const double *scores, int64_t n, int64_t n_nearest,
                           double *means) {
    struct memory memory = {0};
    struct postings postings;
    int64_t n_kept = 0;
    for (int64_t k = 0; k < n_best; k++) n_kept += offsets[best[k] + 1] - offsets[best[k]];
    postings.starts = take(&memory, (n_terms + 1) * (int64_t)sizeof(int64_t));
    postings.ends = take(&memory, (n_terms + 1) * (int64_t)sizeof(int64_t));
    postings.documents = take(&memory, n_kept * (int64_t)sizeof(int32_t));
    postings.roots = take(&memory, n_kept * (int64_t)sizeof(double));
    double *likeness = take(&memory, n_best * n_best * (int64_t)sizeof(double)); /* of the best among themselves */
    double *row = take(&memory, n_best * (int64_t)sizeof(double));
    double *best_scores = take(&memory, n_best * (int64_t)sizeof(double));
    double *nearest = take(&memory, n_nearest * (int64_t)sizeof(double));
    char *is_best = take(&memory, n);
    if (memory.has_failed) {
        release(&memory);
        return NO_MEMORY;
    }
    memset(postings.starts, 0, (n_terms + 1) * sizeof(int64_t));
    memset(likeness, 0, n_best * n_best * sizeof(double));
    memset(is_best, 0, n);

    for (int64_t k = 0; k < n_best; k++)
        for (int64_t word = offsets[best[k]]; word < offsets[best[k] + 1]; word++) postings.starts[terms[word] + 1]++;
    for (int64_t term = 0; term < n_terms; term++) {
        postings.starts[term + 1] += postings.starts[term];
        postings.ends[term] = postings.starts[term]; /* nothing is in them yet */
    }
    for (int64_t k = 0; k < n_best; k++) {
        double *own = likeness + k * n_best;
        add_likeness(own, &postings, terms, roots, offsets[best[k]], offsets[best[k] + 1]);
        for (int64_t word = offsets[best[k]]; word < offsets[best[k] + 1]; word++) {
            int64_t place = postings.ends[terms[word]]++;
            postings.documents[place] = (int32_t)k;
            postings.roots[place] = roots[word];
        }
        for (int64_t other = 0; other < k; other++) likeness[other * n_best + k] = own[other];
        is_best[best[k]] = 1;
        best_scores[k] = scores[best[k]];
    }
    for (int64_t k = 0; k < n_best; k++)
        means[best[k]] =
            mean_of_nearest(likeness + k * n_best, n_best, best_scores, nearest, n_nearest, best_scores[k]);
    for (int64_t document = 0; document < n; document++) {
        if (is_best[document]) continue;
        memset(row, 0, n_best * sizeof *row);
        add_likeness(row, &postings, terms, roots, offsets[document], offsets[document + 1]);
        means[document] = mean_of_nearest(row, n_best, best_scores, nearest, n_nearest, scores[document]);
    }
    release(&memory);
    return 0;
}
