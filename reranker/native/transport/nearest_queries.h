/* How near documents lie to the nearest of a sample of queries (hubness; Dinu et al. 2015). */

/* Writes the mean of the `n_nearest` largest inner products of each row with some words.
 *
 *   rows (n, dim)
 *   words: n_words rows, filled up to `width`, as `lay_out_words` lays them
 *   means (n,) */
EXPORT int OF_KIND(mean_nearest_products)(const float *rows, int64_t n, int64_t dim, const float *words,
                                          int64_t width, int64_t n_words, int64_t n_nearest, double *means) {
    struct memory memory = {0};
    float *products = take(&memory, TERMS * width * (int64_t)sizeof *products);
    double *nearest = take(&memory, n_nearest * (int64_t)sizeof *nearest);
    if (memory.has_failed) {
        release(&memory);
        return NO_MEMORY;
    }
    for (int64_t first = 0; first < n; first += TERMS) {
        int32_t ids[2 * TERMS];
        for (int k = 0; k < 2 * TERMS; k++) ids[k] = (int32_t)smaller_of(first + k, n - 1);
        products_of_terms(rows, dim, ids, words, width, products);
        for (int64_t k = 0; k < smaller_of(TERMS, n - first); k++) {
            double sum = 0;
            for (int64_t i = 0; i < n_nearest; i++) nearest[i] = -INFINITY;
            for (int64_t i = 0; i < n_words; i++) offer(nearest, n_nearest, products[k * width + i]);
            for (int64_t i = 0; i < n_nearest; i++) sum += nearest[i];
            means[first + k] = sum / n_nearest;
        }
    }
    release(&memory);
    return 0;
}
