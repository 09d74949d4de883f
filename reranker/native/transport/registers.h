/* Vector registers, by the vector extensions of GCC and Clang: operators work lane by lane. */

#define REGISTER_BYTES (16 << LEVEL)

typedef float floats __attribute__((vector_size(REGISTER_BYTES)));
typedef double doubles __attribute__((vector_size(REGISTER_BYTES)));
typedef int32_t int32s __attribute__((vector_size(REGISTER_BYTES)));
typedef int64_t int64s __attribute__((vector_size(REGISTER_BYTES)));
typedef uint64_t uint64s __attribute__((vector_size(REGISTER_BYTES)));

/* The type of float that all is compiled for, a register of it, and whole numbers of the same size. */
#if IS_SINGLE
typedef float real;
typedef int32_t whole;
typedef floats reals;
typedef int32s wholes;
#else
typedef double real;
typedef int64_t whole;
typedef doubles reals;
typedef int64s wholes;
#endif

enum { LANES = REGISTER_BYTES / sizeof(real), DOUBLE_LANES = REGISTER_BYTES / sizeof(double) };

/* Registers in memory need not be aligned to more than one number. */
typedef real reals_in_memory __attribute__((vector_size(REGISTER_BYTES), aligned(sizeof(real)), may_alias));
typedef int32_t int32s_in_memory __attribute__((vector_size(REGISTER_BYTES), aligned(4), may_alias));
typedef double doubles_in_memory __attribute__((vector_size(REGISTER_BYTES), aligned(8), may_alias));
typedef float half_floats_in_memory __attribute__((vector_size(REGISTER_BYTES / 2), aligned(4), may_alias));

/* Compilers keep the numbers of a small array in registers only where the loop over it is unrolled whole. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

INLINE reals load(const real *p) { return *(const reals_in_memory *)p; }
INLINE void store(real *p, reals x) { *(reals_in_memory *)p = x; }
INLINE doubles load_doubles(const double *p) { return *(const doubles_in_memory *)p; }
INLINE void store_doubles(double *p, doubles x) { *(doubles_in_memory *)p = x; }
/* As many floats as a register has doubles. */
INLINE doubles load_widened(const float *p) {
    return __builtin_convertvector(*(const half_floats_in_memory *)p, doubles);
}

INLINE reals spread(real x) { return x - (reals){0}; }
INLINE floats spread_float(float x) { return x - (floats){0}; }
INLINE doubles spread_double(double x) { return x - (doubles){0}; }

/* x where the mask (-1 or 0 in each lane, what a comparison gives) is set, else y. */
INLINE floats choose_float(int32s mask, floats x, floats y) {
    return (floats)((mask & (int32s)x) | (~mask & (int32s)y));
}
INLINE doubles choose_double(int64s mask, doubles x, doubles y) {
    return (doubles)((mask & (int64s)x) | (~mask & (int64s)y));
}
#if IS_SINGLE
#define choose choose_float
#else
#define choose choose_double
#endif
/* The smaller in each lane; y where x is NaN. */
INLINE reals lower(reals x, reals y) { return choose(x < y, x, y); }

INLINE real root(real x) { return IS_SINGLE ? sqrtf((float)x) : (real)sqrt(x); }
