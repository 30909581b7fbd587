/* Which of several sets of instructions the hot files (KD_HOT in cmake/KandelaTwice.cmake) run
   with: on x86-64 they are compiled for any CPU and for one with AVX2, some for AVX-512, and one is
   chosen when the library is loaded. The results are the same bits. */
#ifndef KD_CORE_HOT_H
#define KD_CORE_HOT_H

typedef enum hot_kind {
    HOT_BASE, /* what every CPU of its kind has */
    HOT_V3,   /* AVX2, FMA, BMI1 and 2, POPCNT */
    HOT_V4    /* AVX-512 F, BW, CD, DQ, VL, too */
} hot_kind;

/* The most that the build and the CPU can, and that KANDELA_CPU (base, avx2) allows. */
hot_kind hot_variant(void);

/* "x86-64", "x86-64 with AVX2" ...: for a reader. */
const char *hot_name(void);

#endif
