/* Exponentials, logarithms and powers of whole registers. */

/* exp(x) = 2^k exp(r), x = k log 2 + r, |r| <= log 2 / 2 (Cody and Waite 1980: log 2 in two parts, of which k times the
 * first is exact). The sum of x / log 2 with ROUNDING has no digits behind the point, and its last bits are k, which is
 * added to the exponent's bits. */

/* To 1e-7 of the result, for x up to 87; exp(-87) for what is below. The series leaves out less than 5e-9. */
INLINE floats exponential_of_floats(floats x) {
    const float log_2 = 0.693359375f, log_2_rest = -2.12194440e-4f, lowest = -87, rounding = 0x1.8p23f;
    const float terms[] = {1, 1, 1 / 2.f, 1 / 6.f, 1 / 24.f, 1 / 120.f, 1 / 720.f, 1 / 5040.f};
    x = choose_float(x > lowest, x, spread_float(lowest));
    floats shifted = x * 1.44269504f + rounding, k = shifted - rounding;
    floats r = x - k * log_2;
    r -= k * log_2_rest;
    floats series = spread_float(terms[7]);
    UNROLL for (int power = 6; power >= 0; power--) series = series * r + terms[power];
    return (floats)((int32s)series + ((int32s)shifted << 23));
}

/* To 4e-16 of the result, for x up to 708; exp(-708) for what is below. The series leaves out less than 2e-16. */
INLINE doubles exponential_of_doubles(doubles x) {
    const double log_2 = 0.693147182464599609375, log_2_rest = -1.9046542999577678785e-09, lowest = -708;
    const double rounding = 0x1.8p52;
    const double terms[] = {1,          1,           1 / 2.,       1 / 6.,        1 / 24.,       1 / 120.,      1 / 720.,
                            1 / 5040., 1 / 40320., 1 / 362880., 1 / 3628800., 1 / 39916800., 1 / 479001600.};
    x = choose_double(x > lowest, x, spread_double(lowest));
    doubles shifted = x * 1.4426950408889634 + rounding, k = shifted - rounding;
    doubles r = x - k * log_2;
    r -= k * log_2_rest;
    doubles series = spread_double(terms[12]);
    for (int power = 11; power >= 0; power--) series = series * r + terms[power];
    return (doubles)((int64s)series + ((int64s)shifted << 52));
}

#if IS_SINGLE
INLINE reals exponential(reals x) { return exponential_of_floats(x); }
#else
INLINE reals exponential(reals x) { return exponential_of_doubles(x); }
#endif

/* log(2^k m), m from sqrt(1/2) to sqrt(2), of normal positive numbers; to 2e-16 of the result or of 1.
 * log m = 2 (s + s^3 / 3 + s^5 / 5 + ...), s = (m - 1) / (m + 1); for |s| <= .172 what 11 terms leave out is below
 * 1e-17. */
INLINE doubles logarithm(doubles x) {
    const double root_half = 0.70710678118654752440, one = 1, log_2 = 0.69314718055994530942, whole_from = 0x1p52;
    int64_t root_half_bits, one_bits, whole_bits;
    memcpy(&root_half_bits, &root_half, sizeof root_half);
    memcpy(&one_bits, &one, sizeof one);
    memcpy(&whole_bits, &whole_from, sizeof whole_from);
    uint64s divided = (uint64s)((int64s)x + (one_bits - root_half_bits)); /* the bits of x / sqrt(1/2) */
    uint64s exponent = divided >> 52;
    doubles k = (doubles)(exponent + (uint64_t)whole_bits) - (whole_from + 1023);
    doubles m = (doubles)((divided & ((UINT64_C(1) << 52) - 1)) + (uint64_t)root_half_bits);
    doubles s = (m - 1) / (m + 1), square = s * s, series = spread_double(2 / 21.);
    for (int term = 9; term >= 0; term--) series = series * square + 2.0 / (2 * term + 1);
    return k * log_2 + series * s;
}

/* x^-power of n normal positive numbers, in place; 0 where x is infinite and NaN where it is NaN. In double: to 2e-13 of
 * the result, or to the last bit of a float. A call of its own: no method takes it unless a caller gives a tau. */
static void __attribute__((noinline)) to_inverse_powers(real *numbers, int n, double power) {
    double x[DOUBLE_LANES];
    for (int start = 0; start < n; start += DOUBLE_LANES) {
        for (int k = 0; k < DOUBLE_LANES; k++) x[k] = numbers[start + k];
        store_doubles(x, exponential_of_doubles(logarithm(load_doubles(x)) * -power));
        for (int k = 0; k < DOUBLE_LANES; k++) {
            real number = numbers[start + k];
            numbers[start + k] = number < (real)INFINITY ? (real)x[k] : 1 / number;
        }
    }
}
