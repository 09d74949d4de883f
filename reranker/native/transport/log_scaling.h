/* Sinkhorn's iterations on the logarithms of the scalings (Peyré and Cuturi 2019, 4.4): for any epsilon. */

/* In the place of log 0, which would make NaN of its difference with itself. */
static const double LOG_OF_NOTHING = -1e300;

/* One document: its m words' rows of -cost / epsilon, and log b. */
struct log_tile {
    int64_t m, n, width;
    double *kernel, *w, *z, *largest, *sums;
    const double *a, *b;
};

/* Sets log z_j = log b_j - power log (K'w)_j. Returns how far the column sums were from it (L1). */
static double rescale_columns_log(struct log_tile *t, double power, int further) {
    double change = 0;
    for (int64_t j = 0; j < t->m; j++) {
        const double *row = t->kernel + j * t->width;
        double largest = LOG_OF_NOTHING;
        doubles most = spread(LOG_OF_NOTHING), sum = spread(0);
        for (int64_t i = 0; i < t->width; i += LANES) most = higher(load(row + i) + load(t->w + i), most);
        for (int k = 0; k < LANES; k++) largest = most[k] > largest ? most[k] : largest;
        for (int64_t i = 0; i < t->width; i += LANES) sum += exponential(load(row + i) + load(t->w + i) - largest);
        double reached = largest + log(total(sum));
        double before = t->z[j], plain = t->b[j] - power * reached;
        t->z[j] = further ? plain + 0.5 * (plain - before) : plain;
        change += fabs(exp(plain + reached) - exp(before + reached));
    }
    return change;
}

/* Sets log w_i = log a_i - log (K z)_i; row by row, so that the tile is read as it lies. */
static void rescale_rows_log(struct log_tile *t, int further) {
    for (int64_t i = 0; i < t->width; i++) {
        t->largest[i] = LOG_OF_NOTHING;
        t->sums[i] = 0;
    }
    for (int64_t j = 0; j < t->m; j++)
        for (int64_t i = 0; i < t->width; i += LANES)
            store(t->largest + i, higher(load(t->kernel + j * t->width + i) + t->z[j], load(t->largest + i)));
    for (int64_t j = 0; j < t->m; j++)
        for (int64_t i = 0; i < t->width; i += LANES) {
            doubles term = load(t->kernel + j * t->width + i) + t->z[j] - load(t->largest + i);
            store(t->sums + i, load(t->sums + i) + exponential(term));
        }
    for (int64_t i = 0; i < t->n; i++) {
        double plain = t->a[i] - t->largest[i] - log(t->sums[i]);
        t->w[i] = further ? plain + 0.5 * (plain - t->w[i]) : plain;
    }
}

static int iterate_log(struct log_tile *t, const struct rule *rule) {
    double change = INFINITY, before = change;
    int is_exact = 1;
    for (int64_t j = 0; j < t->m; j++) t->z[j] = LOG_OF_NOTHING;
    for (int k = 0; k < rule->n_most; k++) {
        int further = goes_further(rule, k, change, before);
        before = change;
        change = rescale_columns_log(t, rule->power, further);
        int has_settled = k > 0 && change < rule->stop_below;
        int is_last = has_settled && is_exact && !further;
        is_exact = has_settled || !further;
        rescale_rows_log(t, !is_exact);
        if (is_last) return k + 1;
    }
    return rule->n_most;
}

/* `scale_documents` with the logarithms of w and z.
 *
 *   log_a (n,), log_b (n_words,), log_start (n,): logarithms of the weights and of the first scalings */
EXPORT int OF_KIND(scale_documents_log)(const double *cost, int64_t width, const int32_t *index,
                                        const int64_t *offsets, const int64_t *documents, int64_t n_documents,
                                        const double *log_a, int64_t n, const double *log_b, const double *log_start,
                                        double epsilon, double power, int64_t n_most, int over_relaxed,
                                        double stop_below, double *values, double *errors, int32_t *iterations) {
    struct memory memory = {0};
    const struct rule rule = {power, stop_below, over_relaxed, (int)n_most, 0};
    const int64_t row_bytes = width * (int64_t)sizeof(double);
    int64_t longest = 0;
    for (int64_t k = 0; k < n_documents; k++)
        longest = larger_of(longest, offsets[documents[k] + 1] - offsets[documents[k]]);
    struct log_tile t = {.n = n, .width = width, .a = log_a};
    t.kernel = take(&memory, longest * row_bytes);
    t.w = take(&memory, row_bytes);
    t.largest = take(&memory, row_bytes);
    t.sums = take(&memory, row_bytes);
    t.z = take(&memory, longest * (int64_t)sizeof(double));
    if (memory.has_failed) {
        release(&memory);
        return NO_MEMORY;
    }
    for (int64_t k = 0; k < n_documents; k++) {
        int64_t start = offsets[documents[k]];
        double distance = 0;
        t.m = offsets[documents[k] + 1] - start;
        t.b = log_b + start;
        if (t.m == 0) continue;
        for (int64_t j = 0; j < t.m; j++)
            for (int64_t i = 0; i < width; i++)
                t.kernel[j * width + i] = i < n ? -cost[index[start + j] * width + i] / epsilon : LOG_OF_NOTHING;
        for (int64_t i = 0; i < width; i++) t.w[i] = i < n ? log_start[i] : 0;
        iterations[k] = iterate_log(&t, &rule);
        for (int64_t j = 0; j < t.m; j++)
            for (int64_t i = 0; i < n; i++) {
                double scaled_cost = t.kernel[j * width + i];
                distance -= exp(scaled_cost + t.w[i] + t.z[j]) * scaled_cost * epsilon;
            }
        values[k] = distance;
        errors[k] = rescale_columns_log(&t, power, 0);
    }
    release(&memory);
    return 0;
}
