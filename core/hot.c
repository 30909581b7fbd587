#include "core/hot.h"
#include "core/system/place.h"
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

static bool cpu_is_v4(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

hot_kind hot_variant(void) {
#ifdef KD_HOT_TWICE
    const char *asked = place_variable("KANDELA_CPU");
    if ((asked && strcmp(asked, "base") == 0) || !cpu_is_v3()) return HOT_BASE;
    return (asked && strcmp(asked, "avx2") == 0) || !cpu_is_v4() ? HOT_V3 : HOT_V4;
#else
    return HOT_BASE;
#endif
}

const char *hot_name(void) {
#if defined(__AVX512F__)
    return "one set of instructions, with AVX-512";
#elif defined(__AVX2__)
    return "one set of instructions, with AVX2";
#elif defined(KD_HOT_TWICE)
    static const char *const names[] = {
        "three sets of instructions: plain x86-64 is used",
        "three sets of instructions: x86-64 with AVX2 is used",
        "three sets of instructions: x86-64 with AVX2 is used, for rays and neighbours AVX-512"};
    return names[hot_variant()];
#else
    return "one set of instructions";
#endif
}
