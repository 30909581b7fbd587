/* CPU detection and the dispatch of multiversioned functions (core/isa_functions.inc). */
#include "core/isa.h"
#include "core/system/paths.h"
#include <stdbool.h>
#include <string.h>

#ifdef KD_ISA
#include <cpuid.h>

static bool has_all(unsigned bits, unsigned required) {
    return (bits & required) == required;
}

/* Returns XCR0, the register state that the operating system saves for a thread. */
static unsigned saved_state(void) {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return low;
}

/* Tests every feature that a compiler may use with -march=x86-64-v3, then those of
   -march=x86-64-v4. */
static isa isa_of_cpu(void) {
    enum { FMA = 1 << 12, MOVBE = 1 << 22, POPCNT = 1 << 23, OSXSAVE = 1 << 27, AVX = 1 << 28 };
    enum { F16C = 1 << 29, LZCNT = 1 << 5, BMI1 = 1 << 3, AVX2 = 1 << 5, BMI2 = 1 << 8 };
    enum { F = 1 << 16, DQ = 1 << 17, CD = 1 << 28, BW = 1 << 30 };
    enum { YMM = 0x06, ZMM = 0xe6 }; /* bits of saved_state() */
    const unsigned vl = 1u << 31;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) ||
        !has_all(c, FMA | MOVBE | POPCNT | OSXSAVE | AVX | F16C) || !has_all(saved_state(), YMM))
        return ISA_BASE;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !has_all(c, LZCNT)) return ISA_BASE;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_all(b, BMI1 | AVX2 | BMI2))
        return ISA_BASE;
    return has_all(b, F | DQ | CD | BW | vl) && has_all(saved_state(), ZMM) ? ISA_AVX512 : ISA_AVX2;
}

isa isa_chosen(void) {
    const char *limit = place_variable("KANDELA_CPU");
    const isa maximum = limit && strcmp(limit, "base") == 0   ? ISA_BASE
                        : limit && strcmp(limit, "avx2") == 0 ? ISA_AVX2
                                                              : ISA_AVX512;
    const isa level = isa_of_cpu();
    return level < maximum ? level : maximum;
}

/* The function of the plain name jumps through a pointer, which holds the base version until the
   library is loaded and the selected version afterwards. The jump has no stack frame and changes no
   register, so any signature works. */
typedef void isa_function(void);
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define SYMBOL(name) TEXT(__USER_LABEL_PREFIX__) #name
#define DISPATCH(name)                                                                             \
    isa_function name, name##_base, name##_avx2;                                                   \
    __attribute__((used)) static isa_function *isa_##name = name##_base;                           \
    __attribute__((naked)) void name(void) {                                                       \
        __asm__("jmp *" SYMBOL(isa_##name) "(%rip)");                                              \
    }
#define ISA_FILE_AVX2(file)
#define ISA_FILE_AVX512(file)
#define ISA_DATA(name)
#define ISA_TABLE(name)                                                                            \
    extern const void *const name##_rows_base[], *const name##_rows_avx2[];                        \
    extern const void *const *name;                                                                \
    const void *const *name = name##_rows_base;
#define ISA_AVX2(name) DISPATCH(name)
#define ISA_AVX512(name) DISPATCH(name) isa_function name##_avx512;
#include "core/isa_functions.inc"
#undef ISA_TABLE
#undef ISA_AVX2
#undef ISA_AVX512

__attribute__((constructor)) static void isa_dispatch(void) {
    const isa chosen = isa_chosen();
    if (chosen == ISA_BASE) return;
#define ISA_TABLE(name) name = name##_rows_avx2;
#define ISA_AVX2(name) isa_##name = name##_avx2;
#define ISA_AVX512(name) isa_##name = chosen == ISA_AVX512 ? name##_avx512 : name##_avx2;
#include "core/isa_functions.inc"
}

const char *isa_description(void) {
    static const char *const texts[] = {"x86-64, AVX2, AVX-512: plain x86-64 is used",
                                        "x86-64, AVX2, AVX-512: AVX2 is used",
                                        "x86-64, AVX2, AVX-512: AVX-512 is used"};
    return texts[isa_chosen()];
}

#else

isa isa_chosen(void) {
    return ISA_BASE;
}

#define ISA_FILE_AVX2(file)
#define ISA_FILE_AVX512(file)
#define ISA_DATA(name)
#define ISA_AVX2(name)
#define ISA_AVX512(name)
#define ISA_TABLE(name)                                                                            \
    extern const void *const name##_rows[];                                                        \
    extern const void *const *name;                                                                \
    const void *const *name = name##_rows;
#include "core/isa_functions.inc"

const char *isa_description(void) {
#if defined(__AVX512F__)
    return "AVX-512 only";
#elif defined(__AVX2__)
    return "AVX2 only";
#elif defined(__x86_64__)
    return "x86-64 only";
#else
    return "one";
#endif
}
#endif
