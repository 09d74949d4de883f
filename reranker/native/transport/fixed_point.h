/* Inner products of unit vectors in fixed point: rounded to multiples of 1 / 32,767, multiplied and summed as integers.
 *
 * An instruction multiplies pairs of 16-bit integers and adds both products: of AVX-512 with VNNI to the sum too, so
 * that twice the products of floats take the same time; of AVX2 on processors from about 2020 on costs take .77 of the
 * time of floats, on older ones as long. The sum is exact and cannot overflow, since no part of the inner product of
 * two unit vectors is larger than 1 (Cauchy and Schwarz). What is lost is lost by rounding the vectors, and the sum is
 * divided by the norms that they have then: products are off by 1.3e-5 in the mean square, 7e-5 at most of some ten
 * million. Over the words of a long query it averages out: distances are off by some 1e-6, 6e-5 at the most seen (nearly
 * all weight on one word, or vectors whose values are of few sizes).
 *
 * Pairs of dimensions lie together, as int32_t. A processor without AVX2 has none of this. */
#if IS_SINGLE && LEVEL

enum { FIXED_ONE = 32767, PAIR_LINE = LINE / 2 };
/* With rows of a norm below it, and query words of norm 1 to a hundredth, no sum overflows. */
static const float LARGEST_NORM = 1.9f * FIXED_ONE;

/* Rounds a row. Returns 1 / norm of what it is then, 1 of nothing but zeros; NaN of a row that is not finite or too
 * long. */
static float round_row(const float *restrict row, int64_t dim, int16_t *restrict rounded) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t d = 0; d < dim; d++) {
        float value = rintf(row[d] * FIXED_ONE);
        squares += value * value;
        value = value < FIXED_ONE ? value : FIXED_ONE; /* NaN becomes a bound too */
        value = value > -FIXED_ONE ? value : -FIXED_ONE;
        rounded[d] = (int16_t)(int32_t)value;
    }
    if (!(squares < LARGEST_NORM * LARGEST_NORM)) return NAN;
    return squares < 1 ? 1 : 1 / sqrtf(squares);
}

/* sum + x_2k y_2k + x_2k+1 y_2k+1 of all lanes k of 32 bits. There is no operator for it. */
INLINE int32s add_pair_products(int32s sum, int32s x, int32s y) {
#if LEVEL == 2
    return (int32s)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)x, (__m512i)y);
#else
    return sum + (int32s)_mm256_madd_epi16((__m256i)x, (__m256i)y);
#endif
}

/* As `strip_products`, of rounded rows and words. */
INLINE void strip_products_fixed(const int n, const int32_t *const *rows, const float *const *next_rows,
                                 const int32_t *words, int64_t n_pairs, const float *row_factors,
                                 const float *word_factors, float *products, int64_t width) {
    int32s sums[TERMS][STRIP_REGISTERS];
    UNROLL for (int k = 0; k < TERMS; k++)
        UNROLL for (int v = 0; v < n; v++) sums[k][v] = (int32s){0};
    for (int64_t line = 0; line < n_pairs; line += PAIR_LINE) {
        UNROLL for (int k = 0; k < TERMS; k++) __builtin_prefetch(next_rows[k] + 2 * line);
        int64_t end = smaller_of(line + PAIR_LINE, n_pairs);
        for (int64_t d = line; d < end; d++, words += n * LANES) {
            int32s of_words[STRIP_REGISTERS];
            UNROLL for (int v = 0; v < n; v++) of_words[v] = *(const int32s_in_memory *)(words + v * LANES);
            UNROLL for (int k = 0; k < TERMS; k++) {
                int32s x = rows[k][d] - (int32s){0};
                UNROLL for (int v = 0; v < n; v++) sums[k][v] = add_pair_products(sums[k][v], x, of_words[v]);
            }
        }
    }
    UNROLL for (int k = 0; k < TERMS; k++)
        UNROLL for (int v = 0; v < n; v++) {
            floats sum = __builtin_convertvector(sums[k][v], floats);
            store(products + k * width + v * LANES, sum * (row_factors[k] * load(word_factors + v * LANES)));
        }
}

/* As `products_of_terms`.
 *
 *   words: pairs of dimensions, as `lay_out_words` lays them; word_factors (width,): 1 / norm, 0 of zeros
 *   rounded (TERMS, dim rounded up to pairs): to work in
 *
 * A row that is not finite, or far from norm 1, gives NaN. */
static void products_of_terms_fixed(const float *embeddings, int64_t dim, const int32_t *ids, const int32_t *words,
                                    const float *word_factors, int16_t *rounded, int64_t width, float *products) {
    const int64_t n_pairs = (dim + 1) / 2;
    const float *next_rows[TERMS];
    const int32_t *rows[TERMS];
    float row_factors[TERMS];
    for (int k = 0; k < TERMS; k++) {
        int16_t *row = rounded + 2 * k * n_pairs;
        row[2 * n_pairs - 1] = 0;
        row_factors[k] = round_row(embeddings + ids[k] * dim, dim, row);
        rows[k] = (const int32_t *)row;
        next_rows[k] = embeddings + ids[TERMS + k] * dim;
    }
#define PRODUCTS(n, column)                                                                                            \
    strip_products_fixed(n, rows, next_rows, words + (column) * n_pairs, n_pairs, row_factors, word_factors + (column), \
                         products + (column), width)
    FOR_EACH_STRIP(width, PRODUCTS);
#undef PRODUCTS
}
#endif
