/* All loops for one type of float and one level of instructions. A C file of this folder defines
 *
 *   KIND       what the names of the functions end in: scale_documents_f32_avx512
 *   IS_SINGLE  1 for float, 0 for double
 *   LEVEL      as `instruction_level` numbers them: 0 any processor, 1 AVX2 and FMA, 2 AVX-512 with VNNI
 *
 * and includes this. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../exported.h"
#include "shared.h"

#if LEVEL == 0 || defined(__x86_64__)
#if LEVEL
#include <immintrin.h>
#endif

/* What follows is compiled for the level, whatever the compiler's command says. */
#define PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define BEGIN_LEVEL(features) \
    PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define END_LEVEL _Pragma("clang attribute pop")
#else
#define BEGIN_LEVEL(features) PRAGMA(GCC target(features))
#define END_LEVEL
#endif
#if LEVEL == 1
BEGIN_LEVEL("avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c")
#elif LEVEL == 2
BEGIN_LEVEL("avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif

#define JOIN_(name, kind) name##_##kind
#define JOIN(name, kind) JOIN_(name, kind)
/* The name of an exported function of this kind. */
#define OF_KIND(name) JOIN(name, KIND)

#include "registers.h"
#include "sums.h"
#include "exponential.h"

#include "products.h"
#include "fixed_point.h"
#include "cost_table.h"
#include "nearest_words.h"

#include "scaling.h"
#if IS_SINGLE
#include "bag_means.h"
#include "nearest_queries.h"
#include "whole_solve.h"
#else
#include "dual_bound.h"
#endif

#if LEVEL
END_LEVEL
#endif
#endif
