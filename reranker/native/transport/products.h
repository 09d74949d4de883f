/* Inner products of term embeddings with query words: a matrix product that gathers its rows.
 *
 * A library's matrix product wants the rows of the terms copied together, and copies them once more into an order of
 * its own. Here they are read where they lie in the vocabulary, while the next ones are fetched, and the query's words
 * are laid out once: four times as fast for 30 words, twice for 300. */

/* Terms of which products are computed together, and the most registers of query words beside each other: 24 sums in
 * the 32 registers of AVX-512, 12 in the 16 of AVX2. More terms would leave no room for the addresses of their rows. */
#define TERMS 6
#if LEVEL == 2 || defined(__aarch64__)
#define STRIP_REGISTERS 4
#else
#define STRIP_REGISTERS 2
#endif
enum { LINE = CACHE_LINE / sizeof(float) };

/* Calls of `strip(n, column)` from column to column, n registers each, the widest strips first. */
#define FOR_EACH_STRIP(width, strip)                                                                                   \
    do {                                                                                                               \
        int64_t column = 0;                                                                                            \
        if (STRIP_REGISTERS == 4) {                                                                                    \
            for (; column + 4 * LANES <= (width); column += 4 * LANES) strip(4, column);                               \
            for (; column + 3 * LANES <= (width); column += 3 * LANES) strip(3, column);                               \
        }                                                                                                              \
        for (; column + 2 * LANES <= (width); column += 2 * LANES) strip(2, column);                                   \
        for (; column + LANES <= (width); column += LANES) strip(1, column);                                           \
    } while (0)

/* Writes the query's embeddings in the order in which `products` reads them: strip by strip, and in each strip the
 * words' first dimension, their second, and so on.
 *
 *   words (width, dim), width in whole registers; laid_out (width * dim,) */
EXPORT void OF_KIND(lay_out_words)(const real *words, int64_t width, int64_t dim, real *laid_out) {
#define LAY_OUT(n, column)                                                                                             \
    for (int64_t d = 0; d < dim; d++)                                                                                  \
        for (int64_t word = 0; word < (n) * LANES; word++) *laid_out++ = words[((column) + word) * dim + d]
    FOR_EACH_STRIP(width, LAY_OUT);
#undef LAY_OUT
}

/* Products of TERMS rows with a strip of n registers of words, summed over the dimensions. A cache line of dimensions at
 * a time, so that the lines of the rows that come next are asked for evenly. */
INLINE void strip_products(const int n, const float *const *rows, const float *const *next_rows, const real *words,
                           int64_t dim, real *products, int64_t width) {
    reals sums[TERMS][STRIP_REGISTERS];
    UNROLL for (int k = 0; k < TERMS; k++)
        UNROLL for (int v = 0; v < n; v++) sums[k][v] = spread(0);
    for (int64_t line = 0; line < dim; line += LINE) {
        UNROLL for (int k = 0; k < TERMS; k++) __builtin_prefetch(next_rows[k] + line);
        int64_t end = smaller_of(line + LINE, dim);
        for (int64_t d = line; d < end; d++, words += n * LANES) {
            reals of_words[STRIP_REGISTERS];
            UNROLL for (int v = 0; v < n; v++) of_words[v] = load(words + v * LANES);
            UNROLL for (int k = 0; k < TERMS; k++) {
                reals x = spread(rows[k][d]);
                UNROLL for (int v = 0; v < n; v++) sums[k][v] += x * of_words[v];
            }
        }
    }
    UNROLL for (int k = 0; k < TERMS; k++)
        UNROLL for (int v = 0; v < n; v++) store(products + k * width + v * LANES, sums[k][v]);
}

/* Inner products of TERMS terms with all words.
 *
 *   ids (2 TERMS,): rows of the embeddings; those of the second half are fetched meanwhile
 *   words: as `lay_out_words` lays them; products (TERMS, width) */
static void products_of_terms(const float *embeddings, int64_t dim, const int32_t *ids, const real *words,
                              int64_t width, real *products) {
    const float *rows[2 * TERMS];
    for (int k = 0; k < 2 * TERMS; k++) rows[k] = embeddings + ids[k] * dim;
#define PRODUCTS(n, column)                                                                                            \
    strip_products(n, rows, rows + TERMS, words + (column) * dim, dim, products + (column), width)
    FOR_EACH_STRIP(width, PRODUCTS);
#undef PRODUCTS
}
