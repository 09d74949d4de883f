/* The loops in float, for any processor. */
#define KIND f32_base
#define IS_SINGLE 1
#define LEVEL 0
#include "loops.h"
