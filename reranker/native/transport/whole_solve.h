/* A whole solve in one call, on one thread: the query's embeddings in, the distances of all candidates out. A short
 * solve takes less time than its steps take to call one by one. */

/* What `solve_whole` returns, apart from NO_MEMORY and the place of a term that is not sound. */
enum { SOLVED = -2, OUT_OF_RANGE = -3 };

/* Writes the distances of all candidates, by a sum of methods, and the marginal errors and iterations of the last.
 *
 *   embeddings (n_rows, dim); word_ids, word_weights (n,): of the query; width: columns of its table of costs
 *   terms (n_terms,), 1 at least: the distinct terms of the candidates; index: each word's place among them
 *   offsets (n_bags + 1,), weights: of the candidates' words
 *   means (n_bags, dim): for `nbow`; NULL without it
 *   solves (n_solves, 3): power, most iterations, and whether the solve starts with equal scalings
 *   shares (n_shares,): of each solve in the sum, or with one number more, the first, that of `nbow`
 *   is_euclidean, close: as of `fill_cost_table`; factor and what follows: as of `scale_documents`
 *   values, errors, iterations (n_bags,)
 *
 * Returns the place of a term whose embedding is not sound; SOLVED where all are; OUT_OF_RANGE where float does not
 * suffice, or rounding left less than 0. */
EXPORT int OF_KIND(solve_whole)(const float *embeddings, int64_t dim, const int32_t *word_ids,
                                const double *word_weights, int64_t n, int64_t width, const int32_t *terms,
                                int64_t n_terms, const int32_t *index, const int64_t *offsets, int64_t n_bags,
                                const double *weights, const float *means, const double *solves, int64_t n_solves,
                                const double *shares, int64_t n_shares, int is_euclidean, double close, int is_short,
                                double factor, int over_relaxed, double stop_below, double smallest, double *values,
                                double *errors, int32_t *iterations) {
    const int64_t n_words = offsets[n_bags], n_rows = n_terms + 2 * TERMS, n_values = n_shares * n_bags;
    const int64_t n_before = n_shares - n_solves; /* 1 with `nbow` */
    const int64_t of_float = sizeof(float), of_double = sizeof(double), of_int = sizeof(int32_t);
    struct memory memory = {0};
    float *word_rows = take(&memory, width * dim * of_float), *words = take(&memory, width * dim * of_float);
    float *norms = take(&memory, width * of_float), *cost = take(&memory, n_rows * width * of_float);
    int32_t *term_ids = take(&memory, n_rows * of_int), *all_iterations = take(&memory, n_values * of_int);
    float *a = take(&memory, n * of_float), *b = take(&memory, n_words * of_float);
    float *starts = take(&memory, n_solves * n * of_float);
    double *all_values = take(&memory, n_values * of_double), *all_errors = take(&memory, n_values * of_double);
    int64_t *bags = take(&memory, n_bags * (int64_t)sizeof *bags);
    int64_t counter = 0, status = SOLVED, n_most[MOST_SOLVES];
    double powers[MOST_SOLVES];
    if (memory.has_failed || n_solves > MOST_SOLVES) {
        release(&memory);
        return NO_MEMORY;
    }

    for (int64_t i = 0; i < width; i++) {
        norms[i] = 1;
        if (i < n)
            memcpy(word_rows + i * dim, embeddings + word_ids[i] * dim, dim * of_float);
        else
            memset(word_rows + i * dim, 0, dim * of_float);
    }
    for (int64_t k = 0; k < n_rows; k++) term_ids[k] = terms[smaller_of(k, n_terms - 1)];
    OF_KIND(lay_out_words)(word_rows, width, dim, words);
    OF_KIND(fill_cost_table)(&counter, embeddings, dim, term_ids, n_terms, words, word_rows, word_ids, n, norms, NULL,
                             width, close, is_euclidean, cost, &status);
    if (status >= 0) { /* a term is not sound */
        release(&memory);
        return (int)status;
    }

    for (int64_t k = 0; k < n_bags; k++) bags[k] = k;
    for (int64_t k = 0; k < n_values; k++) {
        all_values[k] = INFINITY;
        all_errors[k] = 0;
        all_iterations[k] = 0;
    }
    for (int64_t i = 0; i < n; i++) a[i] = (float)word_weights[i];
    for (int64_t word = 0; word < n_words; word++) b[word] = (float)weights[word];
    for (int64_t solve = 0; solve < n_solves; solve++) {
        powers[solve] = solves[3 * solve];
        n_most[solve] = (int64_t)solves[3 * solve + 1];
        for (int64_t i = 0; i < n; i++) starts[solve * n + i] = solves[3 * solve + 2] != 0 ? 1 / (float)n : a[i];
    }
    counter = 0;
    int has_failed = 0;
    if (n_before)
        has_failed |= OF_KIND(one_less_cosines)(embeddings, dim, word_ids, word_weights, n, means, offsets, n_bags,
                                                all_values);
    has_failed |= OF_KIND(scale_documents)(&counter, bags, is_short, cost, width, factor, index, offsets, bags, n_bags,
                                           a, n, b, starts, powers, n_most, n_solves, over_relaxed, stop_below,
                                           smallest, all_values + n_before * n_bags, all_errors + n_before * n_bags,
                                           all_iterations + n_before * n_bags);
    if (has_failed) {
        release(&memory);
        return NO_MEMORY;
    }

    for (int64_t k = 0; k < n_bags; k++) {
        errors[k] = all_errors[n_values - n_bags + k];
        iterations[k] = all_iterations[n_values - n_bags + k];
        values[k] = 0;
        for (int64_t part = 0; part < n_shares; part++) {
            double value = all_values[part * n_bags + k];
            if (!(value >= 0)) status = OUT_OF_RANGE;
            if (shares[part] > 0) { /* else a candidate without a word would be at 0 * infinity */
                volatile double product = shares[part] * value; /* rounded as where the steps are taken one by one */
                values[k] += product;
            }
        }
    }
    release(&memory);
    return (int)status;
}
