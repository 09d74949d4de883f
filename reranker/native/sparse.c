/* Products of sparse matrices, for training embeddings. A sparse matrix lies in rows: `offsets` (n_rows + 1) says where
 * the values and columns of each begin. Products of a row are added in the order in which they lie. */
#include "exported.h"
#include <string.h>

static void add_row(float value, const float *restrict row, int64_t width, float *restrict sum) {
    for (int64_t at = 0; at < width; at++) sum[at] += value * row[at];
}

/* result (n_rows, width) = matrix (n_rows, n_columns) · dense (n_columns, width). */
EXPORT void sparse_times_dense(const float *values, const int32_t *columns, const int64_t *offsets, int64_t n_rows,
                               const float *dense, int64_t width, float *result) {
    memset(result, 0, (size_t)(n_rows * width) * sizeof *result);
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t at = offsets[row]; at < offsets[row + 1]; at++)
            add_row(values[at], dense + columns[at] * width, width, result + row * width);
}

/* result (n_rows, width) = S · dense (n_rows, width), where S = M · M' without its diagonal and without what is below
 * `least`. M comes twice: in rows, and in its columns (`of_column`: their values, rows and offsets).
 * `sums` (n_rows) is zeros, before and after; `touched` (n_rows) is space. */
EXPORT void similar_times_dense(const float *values, const int32_t *columns, const int64_t *offsets,
                                const float *of_column, const int32_t *rows, const int64_t *column_offsets,
                                int64_t n_rows, double least, const float *dense, int64_t width, float *sums,
                                int32_t *touched, float *result) {
    memset(result, 0, (size_t)(n_rows * width) * sizeof *result);
    for (int64_t row = 0; row < n_rows; row++) {
        int64_t n_touched = 0;
        for (int64_t at = offsets[row]; at < offsets[row + 1]; at++) {
            const int32_t column = columns[at];
            for (int64_t other = column_offsets[column]; other < column_offsets[column + 1]; other++) {
                /* All values are above 0, so a sum of 0 was not touched yet. */
                if (sums[rows[other]] == 0) touched[n_touched++] = rows[other];
                sums[rows[other]] += values[at] * of_column[other];
            }
        }
        while (n_touched) {
            const int32_t other = touched[--n_touched];
            const float similarity = sums[other];
            sums[other] = 0;
            if (similarity >= least && other != row) add_row(similarity, dense + other * width, width, result + row * width);
        }
    }
}
