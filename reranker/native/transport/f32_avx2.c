/* The loops in float, for AVX2 and FMA. */
#define KIND f32_avx2
#define IS_SINGLE 1
#define LEVEL 1
#include "loops.h"
