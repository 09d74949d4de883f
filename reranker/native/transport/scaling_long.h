/* Longer queries: the words of the query lie side by side in registers.
 *
 * Rows, one a document word, go together by groups, and a group lies in memory in the order in which it is read: the
 * first register of each of its rows, the second of each, and so on. Both halves of an iteration walk through it from
 * end to end with as many sums in registers as the machine has room for. (Rows that lie one after the other are eight
 * streams, which the caches fetch half as fast.) */

/* The rows of a document lie scattered over a table: while one is read, the one so many places on is fetched. */
enum { LONG_AHEAD = 4 };

/* Writes exp(factor cost) into groups; copies of the first word, without weight, fill the last group. */
static void fill_long(struct tile *t, const real *cost, real factor, const int32_t *index) {
    for (int64_t j = 0; j < rounded_up(t->m, GROUP); j++) {
        const real *row = cost + index[j < t->m ? j : 0] * t->stride;
        const real *ahead = cost + index[smaller_of(j + LONG_AHEAD, t->m - 1)] * t->stride;
        real *place = t->kernel + j / GROUP * GROUP * t->width + j % GROUP * LANES;
        for (int64_t i = 0; i < t->width; i += LANES) {
            if (i % (CACHE_LINE / sizeof(real)) == 0) __builtin_prefetch(ahead + i);
            store(place + i * GROUP, exponential(load(row + i) * factor));
        }
    }
}

/* <K_j, w> of the rows of a group. */
INLINE of_group reached(const real *kernel, const real *w, int64_t width) {
    reals sums[GROUP];
    UNROLL for (int k = 0; k < GROUP; k++) sums[k] = spread(0);
    for (int64_t i = 0; i < width; i += LANES, kernel += GROUP * LANES) {
        reals x = load(w + i);
        UNROLL for (int k = 0; k < GROUP; k++) sums[k] += x * load(kernel + k * LANES);
    }
    return totals_of_group(sums);
}

/* Adds z_j K_j of the rows of a group to `sums` (width,). */
INLINE void add_group(const real *kernel, const real *z, int64_t width, real *sums) {
    reals scalings[GROUP];
    UNROLL for (int k = 0; k < GROUP; k++) scalings[k] = spread(z[k]);
    for (int64_t i = 0; i < width; i += LANES, kernel += GROUP * LANES) {
        reals one = load(sums + i), other = spread(0); /* two sums in turn: each waits for the one before it */
        UNROLL for (int k = 0; k < GROUP; k += 2) {
            one += scalings[k] * load(kernel + k * LANES);
            other += scalings[k + 1] * load(kernel + (k + 1) * LANES);
        }
        store(sums + i, one + other);
    }
}

/* Sets z, and `sums` to <K_i, z>, 1 beyond the query's words. Returns the least <K_j, w>.
 *
 * Group by group: what is added is the group that was reached before, so that it is still in the first-level cache and
 * its scalings, which take a while, are there. Forwards and backwards in turn: the last groups of one sweep are still
 * near when the next begins with them. */
INLINE real sweep_long(struct tile *t, const struct rule *rule, int further, int is_backwards, real *change) {
    const int64_t n_groups = rounded_up(t->m, GROUP) / GROUP;
    of_group off = {0}, least_sums = (real)INFINITY - (of_group){0};
    int64_t before = -1;
    for (int64_t i = 0; i < t->width; i += LANES) store(t->sums + i, load(t->empty + i));
    for (int64_t k = 0; k <= n_groups; k++) {
        int64_t group = is_backwards ? n_groups - 1 - k : k;
        if (k < n_groups) {
            of_group_in_memory *z = (of_group_in_memory *)(t->z + group * GROUP);
            of_group b = *(const of_group_in_memory *)(t->b + group * GROUP);
            of_group sums = reached(t->kernel + group * GROUP * t->width, t->w, t->width);
            *z = rescaled_of_group(b, sums, *z, rule, further, &off, &least_sums);
        }
        if (k > 0) add_group(t->kernel + before * GROUP * t->width, t->z + before * GROUP, t->width, t->sums);
        before = group;
    }
    *change = total_of_group(off);
    return least_of_group(least_sums);
}

/* <plan, cost> and the marginal error of the plan diag(w) K diag(z). */
static void pay_long(const struct tile *t, const real *cost, const int32_t *index, double power, double *distance,
                     double *error) {
    of_group off = {0};
    *distance = 0;
    for (int64_t j = 0; j < t->m; j += GROUP) {
        const real *kernel = t->kernel + j * t->width, *rows[GROUP], *ahead[GROUP];
        reals masses[GROUP], payments[GROUP];
        UNROLL for (int k = 0; k < GROUP; k++) {
            rows[k] = cost + index[j + k < t->m ? j + k : 0] * t->stride;
            ahead[k] = cost + index[smaller_of(j + k + GROUP, t->m - 1)] * t->stride;
            masses[k] = payments[k] = spread(0);
        }
        for (int64_t i = 0; i < t->width; i += LANES) {
            reals w = load(t->w + i);
            UNROLL for (int k = 0; k < GROUP; k++) {
                __builtin_prefetch(ahead[k] + i);
                reals mass = w * load(kernel + i * GROUP + k * LANES);
                masses[k] += mass;
                payments[k] += mass * load(rows[k] + i);
            }
        }
        of_group sums = totals_of_group(masses), z = *(const of_group_in_memory *)(t->z + j);
        of_group target = plain_target_of_group(*(const of_group_in_memory *)(t->b + j), sums, power);
        *distance += total_of_group(z * totals_of_group(payments)); /* in double: the last digits of many words */
        off += size_of_group(target - z) * sums;
    }
    *error = total_of_group(off);
}
