#include "core/hot.h"
#include <stdlib.h>
#include <string.h>

hot_kind hot_variant(void) {
#ifdef KD_HOT_TWICE
    const char *asked = getenv("KANDELA_CPU");
    if (asked && strcmp(asked, "base") == 0) return HOT_BASE;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("popcnt"))
        return HOT_V3;
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
