/* Which of two sets of instructions the hot files (KD_HOT in cmake/KandelaTwice.cmake) run with: on
   x86-64 they are compiled for any CPU and for one with AVX2, and one is chosen when the library is
   loaded. The results are the same bits. */
#ifndef KD_CORE_HOT_H
#define KD_CORE_HOT_H

typedef enum hot_kind {
    HOT_BASE, /* what every CPU of its kind has */
    HOT_V3    /* AVX2, FMA, BMI1 and 2, POPCNT */
} hot_kind;

/* HOT_BASE where the build has nothing else, the CPU can no more, or KANDELA_CPU=base asks for it.
 */
hot_kind hot_variant(void);

/* "x86-64", "x86-64 with AVX2" ...: for a reader. */
const char *hot_name(void);

#endif
