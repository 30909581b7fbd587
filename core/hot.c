#include "core/hot.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef KD_HOT_TWICE
#include <cpuid.h>

/* All of x86-64-v3: what a compiler may use with -march of that name. */
static bool cpu_is_v3(void) {
    enum { MOVBE = 1 << 22, F16C = 1 << 29, LZCNT = 1 << 5 };
    unsigned a = 0, b = 0, c = 0, d = 0;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("popcnt"))
        return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & MOVBE) || !(c & F16C)) return false;
    return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c & LZCNT);
}
#endif

hot_kind hot_variant(void) {
#ifdef KD_HOT_TWICE
    const char *asked = getenv("KANDELA_CPU");
    if (!(asked && strcmp(asked, "base") == 0) && cpu_is_v3()) return HOT_V3;
#endif
    return HOT_BASE;
}

const char *hot_name(void) {
#if defined(__AVX2__)
    return "one set of instructions, with AVX2";
#elif defined(KD_HOT_TWICE)
    return hot_variant() == HOT_V3 ? "two sets of instructions: x86-64 with AVX2 is used"
                                   : "two sets of instructions: plain x86-64 is used";
#else
    return "one set of instructions";
#endif
}
