/* Functions of the transport's loops that the library keeps to itself, for tests. Compiled with KIND, IS_SINGLE and
 * LEVEL as the C files of reranker/native/transport define them. */
#include "../../reranker/native/transport/loops.h"

EXPORT void exponentials(const real *x, int64_t n, real *found) {
    for (int64_t i = 0; i < n; i += LANES) store(found + i, exponential(load(x + i)));
}

EXPORT void inverse_powers(real *x, int64_t n, double power) { to_inverse_powers(x, (int)n, power); }

/* The total of each register, one by one, by fours and by groups; and the least of each. */
EXPORT void register_totals(const real *x, int64_t n, real *one_by_one, real *by_fours, real *by_groups, real *leasts) {
    reals group[GROUP];
    for (int64_t i = 0; i < n; i++) {
        reals own = load(x + i * LANES);
        one_by_one[i] = total(own);
        leasts[i] = least(own);
        group[i % GROUP] = own;
        if (i % 4 == 3) {
            const real *first = x + (i - 3) * LANES;
            four found = totals_of_four(load(first), load(first + LANES), load(first + 2 * LANES), own);
            *(four_in_memory *)(by_fours + i - 3) = found;
        }
        if (i % GROUP == GROUP - 1) *(of_group_in_memory *)(by_groups + i + 1 - GROUP) = totals_of_group(group);
    }
}

#if !IS_SINGLE
EXPORT double dual_value_of(const double *cost, int64_t width, const int32_t *index, int64_t m, const double *a,
                            int64_t n, const double *b, const double *potential, double *f) {
    return dual_value(cost, width, index, m, a, n, b, potential, f);
}
#endif
