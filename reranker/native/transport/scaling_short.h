/* Short queries: the words of the document lie side by side in registers, not the query's.
 *
 * The other order fills the query up to whole registers, so that 5 words would cost as much as 16. Here a tile holds
 * blocks of four, two or one registers of document words; a block has its registers for the first query word, then for
 * the second, and so on. Both halves of an iteration read a block while it is in the first-level cache, and nothing is
 * summed across lanes but the query's few sums. */

/* The rows of a document lie scattered over a table: while one is read, the one so many places on is fetched. */
enum { SHORT_AHEAD = 8 };

INLINE int registers_of_block(int64_t words_left) { return words_left > 3 * LANES ? 4 : words_left > LANES ? 2 : 1; }

/* Calls of `block(n_registers, start)` for all m words of a document. */
#define FOR_EACH_BLOCK(m, block)                                                                                       \
    for (int64_t start = 0, n_registers; start < (m); start += n_registers * LANES) {                                  \
        n_registers = registers_of_block((m) - start);                                                                 \
        if (n_registers == 4)                                                                                          \
            block(4, start);                                                                                           \
        else if (n_registers == 2)                                                                                     \
            block(2, start);                                                                                           \
        else                                                                                                           \
            block(1, start);                                                                                           \
    }

/* Writes the costs of the document's words and exp(factor cost) into blocks; copies of the last word, without weight,
 * fill the last block. */
static void fill_short(struct tile *t, const real *cost, real factor, const int32_t *index) {
    const int64_t n = t->n, last = t->m - 1;
    int64_t n_registers, start = 0;
    for (; start < t->m; start += n_registers * LANES) {
        n_registers = registers_of_block(t->m - start);
        real *block = t->costs + start * n;
        for (int64_t k = 0; k < n_registers * LANES; k++) {
            const real *row = cost + index[smaller_of(start + k, last)] * t->stride;
            __builtin_prefetch(cost + index[smaller_of(start + k + SHORT_AHEAD, last)] * t->stride);
            for (int64_t i = 0; i < n; i++) block[i * n_registers * LANES + k] = row[i];
        }
    }
    for (int64_t k = 0; k < start * n; k += LANES) store(t->kernel + k, exponential(load(t->costs + k) * factor));
}

INLINE void sweep_block(const int n_registers, int64_t start, struct tile *t, const struct rule *rule, int further,
                        reals *change, reals *least_sums) {
    const real *kernel = t->kernel + start * t->n;
    reals z[4] = {{0}};
    for (int64_t i = 0; i < t->n; i++) {
        reals w = spread(t->w[i]);
        UNROLL for (int k = 0; k < n_registers; k++) z[k] += w * load(kernel + (i * n_registers + k) * LANES);
    }
    UNROLL for (int k = 0; k < n_registers; k++) {
        int64_t place = start + k * LANES;
        z[k] = rescaled(load(t->b + place), z[k], load(t->z + place), rule, further, change, least_sums);
        store(t->z + place, z[k]);
    }
    for (int64_t i = 0; i < t->n; i++) {
        reals sum = load(t->sums + i * LANES);
        UNROLL for (int k = 0; k < n_registers; k++) sum += z[k] * load(kernel + (i * n_registers + k) * LANES);
        store(t->sums + i * LANES, sum);
    }
}

/* Sets z, and `sums` to <K_i, z>, 1 beyond the query's words. Returns the least <K_j, w>. */
INLINE real sweep_short(struct tile *t, const struct rule *rule, int further, real *change) {
    const int64_t filled = rounded_up(t->n, 4);
    reals off = spread(0), least_sums = spread((real)INFINITY);
    for (int64_t i = 0; i < filled; i++) store(t->sums + i * LANES, spread(0));
#define SWEEP(n_registers, start) sweep_block(n_registers, start, t, rule, further, &off, &least_sums)
    FOR_EACH_BLOCK(t->m, SWEEP)
#undef SWEEP
    for (int64_t i = 0; i < filled; i += 4) {
        const real *sums = t->sums + i * LANES; /* each lies behind what is written here, or is read already */
        four totals =
            totals_of_four(load(sums), load(sums + LANES), load(sums + 2 * LANES), load(sums + 3 * LANES));
        *(four_in_memory *)(t->sums + i) = totals;
    }
    for (int64_t i = t->n; i < larger_of(filled, t->width); i++) t->sums[i] = 1;
    *change = total(off);
    return least(least_sums);
}

INLINE void pay_block(const int n_registers, int64_t start, const struct tile *t, double power, double *distance,
                      reals *error) {
    const real *kernel = t->kernel + start * t->n, *costs = t->costs + start * t->n;
    reals reached[4] = {{0}}, payment[4] = {{0}};
    for (int64_t i = 0; i < t->n; i++) {
        reals w = spread(t->w[i]);
        UNROLL for (int k = 0; k < n_registers; k++) {
            reals mass = w * load(kernel + (i * n_registers + k) * LANES);
            reached[k] += mass;
            payment[k] += mass * load(costs + (i * n_registers + k) * LANES);
        }
    }
    reals paid = spread(0);
    UNROLL for (int k = 0; k < n_registers; k++) {
        reals z = load(t->z + start + k * LANES);
        paid += z * payment[k];
        *error += size(plain_target(load(t->b + start + k * LANES), reached[k], power) - z) * reached[k];
    }
    *distance += total(paid); /* in double: the last digits of many words */
}

/* <plan, cost> and the marginal error of the plan diag(w) K diag(z). */
static void pay_short(const struct tile *t, double power, double *distance, double *error) {
    reals off = spread(0);
    *distance = 0;
#define PAY(n_registers, start) pay_block(n_registers, start, t, power, distance, &off)
    FOR_EACH_BLOCK(t->m, PAY)
#undef PAY
    *error = total(off);
}
