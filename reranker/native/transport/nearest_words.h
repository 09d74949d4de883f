/* The relaxed word mover's distance: what transport costs when one side alone keeps its weights. */

/* min_i (C_i - potential_i) of a row of costs (width,); the potential is -infinity beyond the query's words. */
INLINE real least_difference(const real *row, const real *potential, int64_t width) {
    reals least_costs = spread((real)INFINITY);
    for (int64_t i = 0; i < width; i += LANES) least_costs = lower(load(row + i) - load(potential + i), least_costs);
    return least(least_costs);
}

/* Keeps the least C_i - subtracted of each column. */
INLINE void keep_least(const real *row, real subtracted, int64_t width, real *least_of_columns) {
    for (int64_t i = 0; i < width; i += LANES)
        store(least_of_columns + i, lower(load(row + i) - subtracted, load(least_of_columns + i)));
}

/* Writes sum_i a_i min_j C_ij and sum_j b_j min_i C_ij (Kusner et al. 2015, 4).
 *
 *   cost (n_terms, width); index (n_words,): the row of each document word; offsets (n_all + 1,)
 *   documents (n_documents,): those to solve; a (n,), b (n_words,): weights
 *   from_query, to_document (n_documents,): left as they are where a document has no word */
EXPORT int OF_KIND(nearest_words)(const real *cost, int64_t width, const int32_t *index, const int64_t *offsets,
                                  const int64_t *documents, int64_t n_documents, const double *a, int64_t n,
                                  const double *b, double *from_query, double *to_document) {
    struct memory memory = {0};
    real *nearest = take(&memory, width * (int64_t)sizeof(real));
    real *potential = take(&memory, width * (int64_t)sizeof(real));
    if (memory.has_failed) {
        release(&memory);
        return NO_MEMORY;
    }
    for (int64_t i = 0; i < width; i++) potential[i] = i < n ? 0 : (real)-INFINITY;
    for (int64_t k = 0; k < n_documents; k++) {
        int64_t start = offsets[documents[k]], end = offsets[documents[k] + 1];
        double from = 0, to = 0;
        if (start == end) continue;
        for (int64_t i = 0; i < width; i++) nearest[i] = (real)INFINITY;
        for (int64_t word = start; word < end; word++) {
            const real *row = cost + index[word] * width;
            to += b[word] * least_difference(row, potential, width);
            keep_least(row, 0, width, nearest);
        }
        for (int64_t i = 0; i < n; i++) from += a[i] * nearest[i];
        from_query[k] = from;
        to_document[k] = to;
    }
    release(&memory);
    return 0;
}
