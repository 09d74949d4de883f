/* The loops in double, for AVX2 and FMA. */
#define KIND f64_avx2
#define IS_SINGLE 0
#define LEVEL 1
#include "loops.h"
