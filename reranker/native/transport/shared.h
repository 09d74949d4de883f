/* What the loops share: working memory aligned to cache lines, and the counter by which threads take work. */
#ifndef SHARED_H
#define SHARED_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

/* Returned by what found no memory; Python raises MemoryError. */
enum { NO_MEMORY = -1 };

enum { CACHE_LINE = 64, MOST_PIECES = 16 };

/* Pieces of working memory, which end together. */
struct memory {
    void *pieces[MOST_PIECES];
    int n_pieces, has_failed;
};

/* A piece that begins with a cache line: a register that lies across two takes twice as long to load. NULL where there
 * is no memory, and `has_failed` is set. */
static inline void *take(struct memory *memory, int64_t n_bytes) {
    char *piece = malloc((size_t)n_bytes + CACHE_LINE);
    if (!piece) {
        memory->has_failed = 1;
        return NULL;
    }
    memory->pieces[memory->n_pieces++] = piece;
    return piece + (CACHE_LINE - (uintptr_t)piece % CACHE_LINE) % CACHE_LINE;
}

static inline void release(struct memory *memory) {
    while (memory->n_pieces) free(memory->pieces[--memory->n_pieces]);
}

/* Adds to a counter that threads share and gives what it was before: no two threads get the same. */
static inline int64_t claim(int64_t *counter, int64_t step) {
    return __atomic_fetch_add(counter, step, __ATOMIC_RELAXED);
}

static inline int64_t smaller_of(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t larger_of(int64_t x, int64_t y) { return x > y ? x : y; }
static inline int64_t rounded_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* Puts a value among the n largest so far, which ascend. */
static inline void offer(double *largest, int64_t n, double value) {
    int64_t place = 0;
    if (!(value > largest[0])) return;
    for (; place + 1 < n && largest[place + 1] < value; place++) largest[place] = largest[place + 1];
    largest[place] = value;
}
#endif
