/* Weighted mean embeddings of bags of words, and the cosines between them (`nbow`; WCD in Kusner et al. 2015). */

enum { BAGS_AT_ONCE = 8, ROWS_AT_ONCE = 4 };
/* A mean of unit vectors shorter than this is what rounding leaves of one that cancels out: no direction.
 * (reference.VANISHING_NORM) */
static const double VANISHING_NORM = 1e-6;

/* Adds the weighted rows to `sums` (dim,). */
INLINE void add_rows(const float *const *rows, const double *weights, int64_t dim, double *sums) {
    int64_t i = 0;
    doubles w[ROWS_AT_ONCE];
    UNROLL for (int k = 0; k < ROWS_AT_ONCE; k++) w[k] = spread_double(weights[k]);
    for (; i + DOUBLE_LANES <= dim; i += DOUBLE_LANES) {
        doubles sum = load_doubles(sums + i);
        UNROLL for (int k = 0; k < ROWS_AT_ONCE; k++) sum += w[k] * load_widened(rows[k] + i);
        store_doubles(sums + i, sum);
    }
    for (; i < dim; i++)
        for (int k = 0; k < ROWS_AT_ONCE; k++) sums[i] += weights[k] * rows[k][i];
}

/* The weighted mean of some rows, of length 1, or 0 where it vanishes; whether it is finite. In double, since the words
 * of a long bag cancel most of each other. Four rows at a time, the next four being fetched meanwhile. */
static int fill_mean(const float *embeddings, int64_t dim, const int32_t *term_ids, const double *weights, int64_t n,
                     double *restrict sums, float *restrict mean) {
    memset(sums, 0, dim * sizeof *sums);
    for (int64_t word = 0; word < n; word += ROWS_AT_ONCE) {
        const float *rows[ROWS_AT_ONCE];
        double own_weights[ROWS_AT_ONCE];
        for (int k = 0; k < ROWS_AT_ONCE; k++) { /* past the end: the last word again, without weight */
            rows[k] = embeddings + term_ids[smaller_of(word + k, n - 1)] * dim;
            own_weights[k] = word + k < n ? weights[word + k] : 0;
            if (word + ROWS_AT_ONCE + k < n)
                for (int64_t i = 0; i < dim; i += LINE)
                    __builtin_prefetch(embeddings + term_ids[word + ROWS_AT_ONCE + k] * dim + i);
        }
        add_rows(rows, own_weights, dim, sums);
    }
    double squared = 0;
#pragma omp simd reduction(+ : squared)
    for (int64_t i = 0; i < dim; i++) squared += sums[i] * sums[i];
    double factor = squared > VANISHING_NORM * VANISHING_NORM ? 1 / sqrt(squared) : 0;
    for (int64_t i = 0; i < dim; i++) mean[i] = (float)(sums[i] * factor);
    return isfinite(squared);
}

/* Writes the mean embeddings of bags.
 *
 *   counter (1,): where the next thread is to begin
 *   embeddings (n_rows, dim); term_ids, weights (n_words,): each word's row and weight; offsets (n_bags + 1,)
 *   means (n_bags, dim)
 *   unsound (1,): set to a place among the bags whose mean is not finite */
EXPORT int OF_KIND(fill_bag_means)(int64_t *counter, const float *embeddings, int64_t dim, const int32_t *term_ids,
                                   const double *weights, const int64_t *offsets, int64_t n_bags, float *means,
                                   int64_t *unsound) {
    struct memory memory = {0};
    double *sums = take(&memory, dim * (int64_t)sizeof *sums);
    if (!sums) return NO_MEMORY;
    for (int64_t first; (first = claim(counter, BAGS_AT_ONCE)) < n_bags;)
        for (int64_t k = first; k < smaller_of(first + BAGS_AT_ONCE, n_bags); k++) {
            int64_t start = offsets[k], n = offsets[k + 1] - start;
            if (!fill_mean(embeddings, dim, term_ids + start, weights + start, n, sums, means + k * dim)) *unsound = k;
        }
    release(&memory);
    return 0;
}

/* Writes 1 - <mean, query mean>, 0 or more, of those bags that have words.
 *
 *   embeddings, term_ids, weights (n,): of the query's words
 *   means (n_bags, dim): of the bags; offsets (n_bags + 1,)
 *   values (n_bags,): left as they are where a bag has no word */
EXPORT int OF_KIND(one_less_cosines)(const float *embeddings, int64_t dim, const int32_t *term_ids,
                                     const double *weights, int64_t n, const float *means, const int64_t *offsets,
                                     int64_t n_bags, double *values) {
    struct memory memory = {0};
    double *sums = take(&memory, dim * (int64_t)sizeof *sums);
    float *query_mean = take(&memory, dim * (int64_t)sizeof *query_mean);
    if (memory.has_failed) {
        release(&memory);
        return NO_MEMORY;
    }
    fill_mean(embeddings, dim, term_ids, weights, n, sums, query_mean);
    for (int64_t k = 0; k < n_bags; k++) {
        if (offsets[k] == offsets[k + 1]) continue;
        double product = 0;
#pragma omp simd reduction(+ : product)
        for (int64_t i = 0; i < dim; i++) product += (double)means[k * dim + i] * query_mean[i];
        values[k] = product < 1 ? 1 - product : 0;
    }
    release(&memory);
    return 0;
}
