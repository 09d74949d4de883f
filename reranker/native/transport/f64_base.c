/* The loops in double, for any processor. */
#define KIND f64_base
#define IS_SINGLE 0
#define LEVEL 0
#include "loops.h"
