/* Tables of ground costs: one row a distinct document term, one column a query word. */

enum { TERMS_AT_ONCE = 16 * TERMS };

/* The squared distance of two rows, summed in double. */
static double squared_distance(const real *x, const float *y, int64_t dim) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t d = 0; d < dim; d++) sum += ((double)x[d] - y[d]) * ((double)x[d] - y[d]);
    return sum;
}

static double squared_norm(const float *x, int64_t dim) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t d = 0; d < dim; d++) sum += (double)x[d] * x[d];
    return sum;
}

/* Turns inner products with a term into squared distances, in place; whether any is below the limit. */
static int products_to_squares(real *row, int64_t width, real norm, const real *word_norms, real limit) {
    whole any_near = 0;
#pragma omp simd reduction(| : any_near)
    for (int64_t i = 0; i < width; i++) {
        real squared = norm + word_norms[i] - 2 * row[i];
        row[i] = squared > 0 ? squared : 0;
        any_near |= row[i] < limit;
    }
    return any_near != 0;
}

/* Writes ground costs, each row while it is in the first-level cache. With s = max(0, |x|^2 + |y|^2 - 2 <x, y>) the
 * Euclidean cost is sqrt(s), the cosine cost s / 2.
 *
 *   counter (1,): where the next thread is to begin
 *   embeddings (n_rows, dim), term_ids (n_terms + 2 TERMS,): which of them to read, and what to fetch beyond the last
 *   words: the query's embeddings as `lay_out_words` lays them; word_rows (n, dim): as they are; word_ids (n,)
 *   word_norms (width,): squared norms; of floats all rows, the terms' too, are taken to have 1
 *   word_factors (width,): NULL, or of `products_of_terms_fixed`, and then the words are pairs of dimensions
 *   close: a pair whose Euclidean cost is under it is computed again from the difference
 *   cost (n_terms + TERMS, width)
 *   unsound (1,): set to the place of a term whose products are not finite */
EXPORT int OF_KIND(fill_cost_table)(int64_t *counter, const float *embeddings, int64_t dim, const int32_t *term_ids,
                                    int64_t n_terms, const void *words, const real *word_rows, const int32_t *word_ids,
                                    int64_t n, const real *word_norms, const float *word_factors, int64_t width,
                                    double close, int is_euclidean, real *cost, int64_t *unsound) {
    struct memory memory = {0};
    int16_t *rounded = word_factors ? take(&memory, TERMS * (dim + 1) * (int64_t)sizeof *rounded) : NULL;
    if (memory.has_failed) return NO_MEMORY;
    const real limit = (real)(close * close);
    for (int64_t first; (first = claim(counter, TERMS_AT_ONCE)) < n_terms;)
        for (int64_t start = first; start < smaller_of(first + TERMS_AT_ONCE, n_terms); start += TERMS) {
            real *rows = cost + start * width;
#if IS_SINGLE && LEVEL
            if (word_factors)
                products_of_terms_fixed(embeddings, dim, term_ids + start, words, word_factors, rounded, width, rows);
            else
#endif
                products_of_terms(embeddings, dim, term_ids + start, words, width, rows);
            for (int64_t term = start; term < smaller_of(start + TERMS, n_terms); term++) {
                real *row = cost + term * width;
                const float *embedding = embeddings + term_ids[term] * dim;
                if (!isfinite(row[0])) *unsound = term; /* NaN and infinity in an embedding show in each product */
                real norm = IS_SINGLE ? 1 : (real)squared_norm(embedding, dim);
                if (products_to_squares(row, width, norm, word_norms, limit))
                    for (int64_t i = 0; i < n; i++)
                        if (row[i] < limit) {
                            int is_same = word_ids[i] == term_ids[term];
                            row[i] = is_same ? 0 : (real)squared_distance(word_rows + i * dim, embedding, dim);
                        }
                if (is_euclidean)
                    for (int64_t i = 0; i < width; i++) row[i] = root(row[i]);
                else
                    for (int64_t i = 0; i < width; i++) row[i] *= (real)0.5;
            }
        }
    release(&memory);
    return 0;
}
