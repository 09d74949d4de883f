/* The loops in double, for AVX-512 with VNNI. */
#define KIND f64_avx512
#define IS_SINGLE 0
#define LEVEL 2
#include "loops.h"
