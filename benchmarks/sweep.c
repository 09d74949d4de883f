/* The iteration of `reranker/transport/kernels/cost_tables.py` in AVX2 by hand: what a compiled language has to offer.
 *
 * z = b / (K w), w = a / (K' z), `n_iterations` times; one pass over the rows of K for both. Rows are filled up to
 * `width`, a multiple of 8, with zeros; a group of four rows shares its loads of w and of the sums.
 */
#include <immintrin.h>
#include <string.h>

static inline float total(__m256 x) {
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}

static inline __m128 totals(__m256 x0, __m256 x1, __m256 x2, __m256 x3) {
    __m256 y = _mm256_hadd_ps(_mm256_hadd_ps(x0, x1), _mm256_hadd_ps(x2, x3));
    return _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
}

static void four_rows(const float *k, long width, const float *w, float *sums, const float *b, float *z) {
    const float *k0 = k, *k1 = k + width, *k2 = k + 2 * width, *k3 = k + 3 * width;
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    for (long i = 0; i < width; i += 8) {
        __m256 x = _mm256_loadu_ps(w + i);
        s0 = _mm256_fmadd_ps(x, _mm256_loadu_ps(k0 + i), s0);
        s1 = _mm256_fmadd_ps(x, _mm256_loadu_ps(k1 + i), s1);
        s2 = _mm256_fmadd_ps(x, _mm256_loadu_ps(k2 + i), s2);
        s3 = _mm256_fmadd_ps(x, _mm256_loadu_ps(k3 + i), s3);
    }
    __m128 quotient = _mm_div_ps(_mm_loadu_ps(b), totals(s0, s1, s2, s3));
    _mm_storeu_ps(z, quotient);
    __m256 z0 = _mm256_broadcast_ss(z), z1 = _mm256_broadcast_ss(z + 1);
    __m256 z2 = _mm256_broadcast_ss(z + 2), z3 = _mm256_broadcast_ss(z + 3);
    for (long i = 0; i < width; i += 8) {
        __m256 sum = _mm256_fmadd_ps(z0, _mm256_loadu_ps(k0 + i), _mm256_loadu_ps(sums + i));
        sum = _mm256_fmadd_ps(z1, _mm256_loadu_ps(k1 + i), sum);
        __m256 other = _mm256_mul_ps(z2, _mm256_loadu_ps(k2 + i));
        other = _mm256_fmadd_ps(z3, _mm256_loadu_ps(k3 + i), other);
        _mm256_storeu_ps(sums + i, _mm256_add_ps(sum, other));
    }
}

static void one_row(const float *k, long width, const float *w, float *sums, const float *b, float *z) {
    __m256 s = _mm256_setzero_ps();
    for (long i = 0; i < width; i += 8) s = _mm256_fmadd_ps(_mm256_loadu_ps(w + i), _mm256_loadu_ps(k + i), s);
    *z = *b / total(s);
    __m256 scale = _mm256_broadcast_ss(z);
    for (long i = 0; i < width; i += 8)
        _mm256_storeu_ps(sums + i, _mm256_fmadd_ps(scale, _mm256_loadu_ps(k + i), _mm256_loadu_ps(sums + i)));
}

/* K (m, width), w and sums (width), z and b (m), a (n); sums over the columns from n on stay 0. */
void iterate(const float *k, long m, long width, long n, float *w, float *z, float *sums, const float *a,
             const float *b, long n_iterations) {
    for (long iteration = 0; iteration < n_iterations; iteration++) {
        memset(sums, 0, sizeof(float) * width);
        long j = 0;
        for (; j + 4 <= m; j += 4) four_rows(k + j * width, width, w, sums, b + j, z + j);
        for (; j < m; j++) one_row(k + j * width, width, w, sums, b + j, z + j);
        for (long i = 0; i < n; i++) w[i] = a[i] / sums[i];
    }
}
