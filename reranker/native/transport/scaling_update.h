/* What an iteration sets the document's scalings to; included for registers and for groups. */

/* Where x is NaN, y. */
INLINE NUMBERS OF_NUMBERS(at_least)(NUMBERS x, NUMBERS y) {
    WHOLE_NUMBERS mask = x > y;
    return (NUMBERS)((mask & (WHOLE_NUMBERS)x) | (~mask & (WHOLE_NUMBERS)y));
}

INLINE NUMBERS OF_NUMBERS(at_most)(NUMBERS x, NUMBERS y) {
    WHOLE_NUMBERS mask = x < y;
    return (NUMBERS)((mask & (WHOLE_NUMBERS)x) | (~mask & (WHOLE_NUMBERS)y));
}

INLINE NUMBERS OF_NUMBERS(size)(NUMBERS x) {
    const whole all_but_the_sign = IS_SINGLE ? INT32_MAX : (whole)INT64_MAX;
    return (NUMBERS)((WHOLE_NUMBERS)x & all_but_the_sign);
}

/* There is no operator for it, but compilers make one instruction of this loop. */
INLINE NUMBERS OF_NUMBERS(roots)(NUMBERS x) {
    real numbers[COUNT];
    memcpy(numbers, &x, sizeof x);
    for (int k = 0; k < COUNT; k++) numbers[k] = root(numbers[k]);
    memcpy(&x, numbers, sizeof x);
    return x;
}

/* b (1 / sums)^power; quickly for `sinkhorn` (1), and for `relaxed` at tau = epsilon (1/2) and at tau = 0. */
INLINE NUMBERS OF_NUMBERS(plain_target)(NUMBERS b, NUMBERS sums, double power) {
    if (power == 1) return b / sums;
    if (power == 0.5) return b / OF_NUMBERS(roots)(sums);
    if (power == 0) return b;
    to_inverse_powers((real *)&sums, COUNT, power);
    return b * sums;
}

/* target^1.5 / before^.5: half a step more in logarithms (Thibault et al. 2021). */
INLINE NUMBERS OF_NUMBERS(further_target)(NUMBERS target, NUMBERS before, real smallest) {
    NUMBERS ratio = target / OF_NUMBERS(at_least)(smallest - (NUMBERS){0}, before);
    return target * OF_NUMBERS(roots)(ratio);
}

/* The new z from <K_j, w> and the one before. Adds to `change` how far the column sums of the plan were from where they
 * should be (L1), and keeps the least sum. */
INLINE NUMBERS OF_NUMBERS(rescaled)(NUMBERS b, NUMBERS sums, NUMBERS before, const struct rule *rule, int further,
                                    NUMBERS *change, NUMBERS *least_sums) {
    NUMBERS in_range = OF_NUMBERS(at_least)(rule->smallest - (NUMBERS){0}, sums); /* in this order NaN stays NaN */
    NUMBERS plain = OF_NUMBERS(plain_target)(b, in_range, rule->power);
    *least_sums = OF_NUMBERS(at_most)(sums, *least_sums);
    *change += OF_NUMBERS(size)(plain - before) * sums;
    return further ? OF_NUMBERS(further_target)(plain, before, rule->smallest) : plain;
}

#undef NUMBERS
#undef WHOLE_NUMBERS
#undef COUNT
#undef OF_NUMBERS
