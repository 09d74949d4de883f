/* Sums and extremes over the lanes of registers, by trees: half as many numbers at each level. */

#define SHUFFLE __builtin_shufflevector
/* Four neighbouring lanes, which are a quarter of a register of 64 bytes. */
#define FOUR_FROM(lane) lane, (lane) + 1, (lane) + 2, (lane) + 3

typedef real four __attribute__((vector_size(4 * sizeof(real))));
typedef whole four_wholes __attribute__((vector_size(4 * sizeof(real))));
typedef real four_in_memory __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));

INLINE four lower_four(four x, four y) {
    four_wholes mask = x < y;
    return (four)((mask & (four_wholes)x) | (~mask & (four_wholes)y));
}
INLINE real sum_of_four(four x) { return (x[0] + x[1]) + (x[2] + x[3]); }
INLINE real least_real(real x, real y) { return x < y ? x : y; }
INLINE real least_of_four(four x) { return least_real(least_real(x[0], x[1]), least_real(x[2], x[3])); }

#if IS_SINGLE && LEVEL == 2
INLINE four quarter_sums(floats x) {
    return (SHUFFLE(x, x, FOUR_FROM(0)) + SHUFFLE(x, x, FOUR_FROM(4))) +
           (SHUFFLE(x, x, FOUR_FROM(8)) + SHUFFLE(x, x, FOUR_FROM(12)));
}
INLINE four quarter_leasts(floats x) {
    return lower_four(lower_four(SHUFFLE(x, x, FOUR_FROM(0)), SHUFFLE(x, x, FOUR_FROM(4))),
                      lower_four(SHUFFLE(x, x, FOUR_FROM(8)), SHUFFLE(x, x, FOUR_FROM(12))));
}
#elif (IS_SINGLE && LEVEL == 1) || (!IS_SINGLE && LEVEL == 2)
INLINE four quarter_sums(reals x) { return SHUFFLE(x, x, FOUR_FROM(0)) + SHUFFLE(x, x, FOUR_FROM(4)); }
INLINE four quarter_leasts(reals x) {
    return lower_four(SHUFFLE(x, x, FOUR_FROM(0)), SHUFFLE(x, x, FOUR_FROM(4)));
}
#elif IS_SINGLE || LEVEL == 1
INLINE four quarter_sums(reals x) { return x; }
INLINE four quarter_leasts(reals x) { return x; }
#else /* two doubles */
INLINE four quarter_sums(doubles x) { return (four){x[0], x[1], 0, 0}; }
INLINE four quarter_leasts(doubles x) { return (four){x[0], x[1], x[0], x[1]}; }
#endif

/* The sum over the lanes, and the least of them. */
INLINE real total(reals x) { return sum_of_four(quarter_sums(x)); }
INLINE real least(reals x) { return least_of_four(quarter_leasts(x)); }

#if IS_SINGLE
/* In every quarter of the result: the sums of the four lanes of that quarter of a, of b, of c and of d. */
#define LOWER_HALF(lane) lane, LANES + (lane), (lane) + 1, LANES + (lane) + 1
#define UPPER_HALF(lane) (lane) + 2, LANES + (lane) + 2, (lane) + 3, LANES + (lane) + 3
#define LEFT_PAIR(lane) lane, (lane) + 1, LANES + (lane), LANES + (lane) + 1
#define RIGHT_PAIR(lane) (lane) + 2, (lane) + 3, LANES + (lane) + 2, LANES + (lane) + 3
#if LEVEL == 2
#define EVERY_QUARTER(lanes_of) lanes_of(0), lanes_of(4), lanes_of(8), lanes_of(12)
#elif LEVEL == 1
#define EVERY_QUARTER(lanes_of) lanes_of(0), lanes_of(4)
#else
#define EVERY_QUARTER(lanes_of) lanes_of(0)
#endif
INLINE floats sums_in_quarters(floats a, floats b, floats c, floats d) {
    floats ab = SHUFFLE(a, b, EVERY_QUARTER(LOWER_HALF)) + SHUFFLE(a, b, EVERY_QUARTER(UPPER_HALF));
    floats cd = SHUFFLE(c, d, EVERY_QUARTER(LOWER_HALF)) + SHUFFLE(c, d, EVERY_QUARTER(UPPER_HALF));
    return SHUFFLE(ab, cd, EVERY_QUARTER(LEFT_PAIR)) + SHUFFLE(ab, cd, EVERY_QUARTER(RIGHT_PAIR));
}
INLINE four totals_of_four(floats a, floats b, floats c, floats d) {
    return quarter_sums(sums_in_quarters(a, b, c, d));
}
#else
INLINE four totals_of_four(doubles a, doubles b, doubles c, doubles d) {
    return (four){total(a), total(b), total(c), total(d)};
}
#endif

/* A group: rows that are worked on together, one number for each. Their sums take 8 of the 32 registers of AVX-512, or
 * 4 of 16. */
#define GROUP (LEVEL == 2 ? 8 : 4)
typedef real of_group __attribute__((vector_size(GROUP * sizeof(real))));
typedef whole wholes_of_group __attribute__((vector_size(GROUP * sizeof(real))));
typedef real of_group_in_memory __attribute__((vector_size(GROUP * sizeof(real)), aligned(sizeof(real)), may_alias));

#if LEVEL == 2
INLINE four lower_four_of(of_group x) { return SHUFFLE(x, x, FOUR_FROM(0)); }
INLINE four upper_four_of(of_group x) { return SHUFFLE(x, x, FOUR_FROM(4)); }
INLINE real total_of_group(of_group x) { return sum_of_four(lower_four_of(x) + upper_four_of(x)); }
INLINE real least_of_group(of_group x) { return least_of_four(lower_four(lower_four_of(x), upper_four_of(x))); }
/* The total of each row's register. */
INLINE of_group totals_of_group(const reals *x) {
#if IS_SINGLE
    floats first = sums_in_quarters(x[0], x[1], x[2], x[3]), second = sums_in_quarters(x[4], x[5], x[6], x[7]);
    floats halves = SHUFFLE(first, second, FOUR_FROM(0), FOUR_FROM(4), FOUR_FROM(16), FOUR_FROM(20)) +
                    SHUFFLE(first, second, FOUR_FROM(8), FOUR_FROM(12), FOUR_FROM(24), FOUR_FROM(28));
    return SHUFFLE(halves, halves, FOUR_FROM(0), FOUR_FROM(8)) + SHUFFLE(halves, halves, FOUR_FROM(4), FOUR_FROM(12));
#else
    four first = totals_of_four(x[0], x[1], x[2], x[3]), second = totals_of_four(x[4], x[5], x[6], x[7]);
    return SHUFFLE(first, second, FOUR_FROM(0), FOUR_FROM(4));
#endif
}
#else
INLINE real total_of_group(of_group x) { return sum_of_four(x); }
INLINE real least_of_group(of_group x) { return least_of_four(x); }
INLINE of_group totals_of_group(const reals *x) { return totals_of_four(x[0], x[1], x[2], x[3]); }
#endif
