/* Sinkhorn's iterations on the scalings themselves (Cuturi 2013; with a soft document marginal Chizat et al. 2018).
 *
 * With K = exp(-cost / epsilon) and the plan diag(w) K diag(z), in turn
 *     z = b (1 / K'w)^power,  w = a / (K z)
 * where the power is 1 for `sinkhorn` and tau / (tau + epsilon) for `relaxed` (reference.scaled_plan). One sweep over
 * the kernel of a document does both. The kernel lies in memory in the order in which it is read, which differs between
 * short queries and long ones. */

/* An over-relaxed solve goes further after a change less than this part of the one before. Where mass can hardly move
 * changes stay the same but for the last digit, which must not choose: it differs from machine to machine.
 * (reference.SHRUNK) */
static const double SHRUNK = 0.999;

enum { MOST_SOLVES = 8 };

/* How one solve is done. */
struct rule {
    double power, stop_below;
    int over_relaxed, n_most; /* iterations */
    real smallest;            /* a sum under it has lost digits to denormal numbers */
};

/* What is iterated over for one document.
 *
 *   n query words, m document words; width: n filled up to whole registers; stride: columns of the table of costs
 *   kernel (and costs, of a short query): m words in blocks or groups
 *   w, a (width,): scalings and weights of the query's words, 0 beyond them; sums: <K_i, z>, to work in
 *   empty (width,): 0, and 1 beyond the query's words, where no sum is to be 0
 *   z, b (m,): of the document's words, filled up with words of weight 0 */
struct tile {
    int64_t m, n, width, stride;
    real *kernel, *costs, *w, *z, *sums, *a, *b, *empty;
};

#define NUMBERS reals
#define WHOLE_NUMBERS wholes
#define COUNT LANES
#define OF_NUMBERS(name) name
#include "scaling_update.h"
#define NUMBERS of_group
#define WHOLE_NUMBERS wholes_of_group
#define COUNT GROUP
#define OF_NUMBERS(name) name##_of_group
#include "scaling_update.h"

#include "scaling_short.h"
#include "scaling_long.h"

/* `reference.over_relaxes`: not at first, not at the end, not after a change that hardly shrank, and not where it was
 * small enough to stop. */
INLINE int goes_further(const struct rule *rule, int iteration, real change, real before) {
    int is_in_the_middle = 1 < iteration && iteration < rule->n_most - 1;
    return rule->over_relaxed && is_in_the_middle && rule->stop_below <= change && change < SHRUNK * before;
}

/* Iterates in place. Returns how often; 0 where a sum has lost digits, or left the range altogether (NaN). */
INLINE int iterate(struct tile *t, const struct rule *rule, const int is_short) {
    real change = (real)INFINITY, before = change;
    int is_exact = 1; /* whether the rows of the plan sum to a, so that a change is its marginal error */
    memset(t->z, 0, rounded_up(t->m, 4 * LANES) * sizeof(real));
    for (int k = 0; k < rule->n_most; k++) {
        int further = goes_further(rule, k, change, before);
        before = change;
        real smallest = is_short ? sweep_short(t, rule, further, &change) : sweep_long(t, rule, further, k % 2, &change);
        int has_settled = k > 0 && change < rule->stop_below;
        int is_last = k == rule->n_most - 1 || (has_settled && is_exact && !further);
        is_exact = has_settled || !further;
        reals least_sums = spread(smallest);
        for (int64_t i = 0; i < t->width; i += LANES) {
            reals sums = load(t->sums + i), target = load(t->a + i) / sums;
            least_sums = lower(sums, least_sums);
            if (!is_exact) target = further_target(target, load(t->w + i), rule->smallest);
            store(t->w + i, target);
        }
        if (!(least(least_sums) > rule->smallest)) return 0;
        if (is_last) return k + 1;
    }
    return rule->n_most;
}

/* Writes the distances, marginal errors and iterations of some documents; NaN where the range did not suffice. Several
 * solves share the kernel of a document, which is computed once.
 *
 *   counter (1,): how many documents threads have taken; order (n_documents,): in which they are taken
 *   is_short: whether the document's words lie side by side in the registers, and not the query's
 *   cost (n_terms, width), finite also beyond column n; factor: -1 / epsilon
 *   index (n_words,): the row of each document word; offsets: where each document begins, and the last ends
 *   documents (n_documents,): those to solve
 *   a (n,), b (n_words,): weights of the query's and the documents' words
 *   starts (n_solves, n): the first scalings; powers, n_most (n_solves,)
 *   values, errors, iterations (n_solves, n_documents): left as they are where a document has no word */
EXPORT int OF_KIND(scale_documents)(int64_t *counter, const int64_t *order, int is_short, const real *cost,
                                    int64_t width, double factor, const int32_t *index, const int64_t *offsets,
                                    const int64_t *documents, int64_t n_documents, const real *a, int64_t n,
                                    const real *b, const real *starts, const double *powers, const int64_t *n_most,
                                    int64_t n_solves, int over_relaxed, double stop_below, double smallest,
                                    double *values, double *errors, int32_t *iterations) {
    struct memory memory = {0};
    int64_t longest = 0;
    for (int64_t k = 0; k < n_documents; k++)
        longest = larger_of(longest, offsets[documents[k] + 1] - offsets[documents[k]]);
    longest = rounded_up(longest, 4 * LANES);
    struct tile t = {.n = n, .width = rounded_up(n, LANES), .stride = width};
    const int64_t tile_bytes = longest * (is_short ? n : t.width) * (int64_t)sizeof(real);
    const int64_t row_bytes = rounded_up(t.width, 4) * (int64_t)sizeof(real);
    t.kernel = take(&memory, tile_bytes);
    t.costs = is_short ? take(&memory, tile_bytes) : NULL;
    t.w = take(&memory, row_bytes);
    t.a = take(&memory, row_bytes);
    t.empty = take(&memory, row_bytes);
    t.sums = take(&memory, is_short ? LANES * row_bytes : row_bytes);
    t.z = take(&memory, longest * (int64_t)sizeof(real));
    t.b = take(&memory, longest * (int64_t)sizeof(real));
    if (memory.has_failed) {
        release(&memory);
        return NO_MEMORY;
    }
    for (int64_t i = 0; i < t.width; i++) {
        t.w[i] = 0;
        t.a[i] = i < n ? a[i] : 0;
        t.empty[i] = i >= n;
    }
    for (int64_t claimed; (claimed = claim(counter, 1)) < n_documents;) {
        int64_t k = order[claimed], start = offsets[documents[k]];
        t.m = offsets[documents[k] + 1] - start;
        if (t.m == 0) continue;
        memcpy(t.b, b + start, t.m * sizeof(real));
        memset(t.b + t.m, 0, (longest - t.m) * sizeof(real));
        if (is_short)
            fill_short(&t, cost, (real)factor, index + start);
        else
            fill_long(&t, cost, (real)factor, index + start);
        for (int64_t solve = 0; solve < n_solves; solve++) {
            const int64_t place = solve * n_documents + k;
            const struct rule rule = {powers[solve], stop_below, over_relaxed, (int)n_most[solve], (real)smallest};
            memcpy(t.w, starts + solve * n, n * sizeof(real));
            if (is_short) {
                iterations[place] = iterate(&t, &rule, 1);
                pay_short(&t, rule.power, values + place, errors + place);
            } else {
                iterations[place] = iterate(&t, &rule, 0);
                pay_long(&t, cost, index + start, rule.power, values + place, errors + place);
            }
            if (iterations[place] == 0) values[place] = errors[place] = NAN;
        }
    }
    release(&memory);
    return 0;
}
