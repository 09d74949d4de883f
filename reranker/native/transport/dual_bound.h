/* Lower bounds of exact transport by weak duality: for any f and g with f_i + g_j <= C_ij no plan with the weights a and
 * b pays less than <f, a> + <g, b> (Peyré and Cuturi 2019, 2.5). */

/* Sinkhorn's scalings w of the query, times a, over-relaxed between the second iteration and the last. In float, and
 * nothing is checked: see `dual_value`.
 *
 *   kernel (m, n); z (m,), sums (n,): to work in */
static void dual_scalings(const float *kernel, int64_t m, const float *a, int64_t n, const float *b, int64_t n_most,
                          float *w, float *z, float *sums) {
    memcpy(w, a, n * sizeof *w);
    for (int64_t iteration = 0; iteration < n_most; iteration++) {
        int further = 2 <= iteration && iteration < n_most - 1;
        memset(sums, 0, n * sizeof *sums);
        for (int64_t j = 0; j < m; j++) {
            const float *row = kernel + j * n;
            float reached = 0;
#pragma omp simd reduction(+ : reached)
            for (int64_t i = 0; i < n; i++) reached += row[i] * w[i];
            float scaled = b[j] / reached;
            z[j] = further ? scaled * sqrtf(scaled / z[j]) : scaled;
            for (int64_t i = 0; i < n; i++) sums[i] += row[i] * z[j];
        }
        for (int64_t i = 0; i < n; i++) {
            float scaled = a[i] / sums[i];
            w[i] = further ? scaled * sqrtf(scaled / w[i]) : scaled;
        }
    }
}

/* <f, a> + <g, b> with g_j = min_i (C_ij - potential_i) and f_i = min_j (C_ij - g_j) (c-transforms; ibid., 5.1): by the
 * second minimum they meet the condition, whatever the potential was. Where the first is not finite, the value is not.
 *
 *   index (m,): rows of the table of costs; potential (width,): -infinity beyond n; f (width,): to work in */
static double dual_value(const double *cost, int64_t width, const int32_t *index, int64_t m, const double *a, int64_t n,
                         const double *b, const double *potential, double *f) {
    double value = 0;
    for (int64_t i = 0; i < width; i++) f[i] = INFINITY;
    for (int64_t j = 0; j < m; j++) {
        const double *row = cost + index[j] * width;
        double g = least_difference(row, potential, width);
        value += b[j] * g;
        keep_least(row, g, width, f);
    }
    for (int64_t i = 0; i < n; i++) value += a[i] * f[i];
    return value;
}

/* Writes a lower bound of `emd` of some documents.
 *
 *   cost (n_terms, width); index (n_words,): the row of each document word; offsets (n_all + 1,)
 *   documents (n_documents,): those to solve; a (n,), b (n_words,): weights
 *   bounds (n_documents,): left as they are where a document has no word or no bound is found */
EXPORT int OF_KIND(dual_bounds)(const double *cost, int64_t width, const int32_t *index, const int64_t *offsets,
                                const int64_t *documents, int64_t n_documents, const double *a, int64_t n,
                                const double *b, double epsilon, int64_t n_most, double *bounds) {
    struct memory memory = {0};
    const int64_t of_float = sizeof(float), of_double = sizeof(double);
    int64_t longest = 0;
    for (int64_t k = 0; k < n_documents; k++)
        longest = larger_of(longest, offsets[documents[k] + 1] - offsets[documents[k]]);
    float *kernel = take(&memory, longest * n * of_float), *float_b = take(&memory, longest * of_float);
    float *float_a = take(&memory, n * of_float), *w = take(&memory, n * of_float);
    float *z = take(&memory, longest * of_float), *sums = take(&memory, n * of_float);
    double *row = take(&memory, width * of_double), *potential = take(&memory, width * of_double);
    double *f = take(&memory, width * of_double);
    if (memory.has_failed) {
        release(&memory);
        return NO_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) float_a[i] = (float)a[i];
    for (int64_t k = 0; k < n_documents; k++) {
        int64_t start = offsets[documents[k]], m = offsets[documents[k] + 1] - start;
        if (m == 0) continue;
        for (int64_t j = 0; j < m; j++) {
            const double *costs = cost + index[start + j] * width;
            for (int64_t i = 0; i < width; i += LANES)
                store(row + i, exponential(load(costs + i) * (-1 / epsilon)));
            for (int64_t i = 0; i < n; i++) kernel[j * n + i] = (float)row[i];
            float_b[j] = (float)b[start + j];
        }
        dual_scalings(kernel, m, float_a, n, float_b, n_most, w, z, sums);
        for (int64_t i = 0; i < width; i++) potential[i] = i < n ? epsilon * log(w[i]) : -INFINITY;
        double value = dual_value(cost, width, index + start, m, a, n, b + start, potential, f);
        if (isfinite(value)) bounds[k] = value;
    }
    release(&memory);
    return 0;
}
