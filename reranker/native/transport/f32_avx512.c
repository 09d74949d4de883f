/* The loops in float, for AVX-512 with VNNI. */
#define KIND f32_avx512
#define IS_SINGLE 1
#define LEVEL 2
#include "loops.h"
