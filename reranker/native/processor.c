/* Which instructions this processor has. */
#include "exported.h"
#ifdef __x86_64__
#include <cpuid.h>
#endif

/* By number: 0 any processor, 1 AVX2 and FMA, 2 AVX-512 (F, DQ, BW, VL) and VNNI. __builtin_cpu_supports is not asked:
 * where Zig links, it says no to all. */
EXPORT int instruction_level(void) {
#ifdef __x86_64__
    enum { OSXSAVE = 1 << 27, FMA = 1 << 12, AVX2 = 1 << 5, VNNI = 1 << 11, AVX_STATE = 6, AVX512_STATE = 0xe6 };
    const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    unsigned a, b, c, d, has_fma, saved;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE)) return 0;
    has_fma = c & FMA;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(d) : "c"(0)); /* the registers that the system saves */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if (!has_fma || !(b & AVX2) || (saved & AVX_STATE) != AVX_STATE) return 0;
    return (b & avx512) == avx512 && (c & VNNI) && (saved & AVX512_STATE) == AVX512_STATE ? 2 : 1;
#else
    return 0;
#endif
}
