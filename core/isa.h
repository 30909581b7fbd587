/* Function multiversioning: on x86-64 the files in core/isa_functions.inc are compiled once per
   instruction set, and the program takes the best that the CPU has when it is loaded. All of them
   give the same bits. Other builds (arm64, KD_MARCH) have one instruction set. */
#ifndef KD_CORE_ISA_H
#define KD_CORE_ISA_H

typedef enum isa {
    ISA_BASE,  /* what every CPU of its kind has */
    ISA_AVX2,  /* x86-64-v3: AVX2, FMA, BMI1 and 2, POPCNT */
    ISA_AVX512 /* x86-64-v4: AVX-512 F, BW, CD, DQ, VL, too */
} isa;

/* The best that the build has, the CPU can and KANDELA_CPU (base, avx2) allows. */
isa isa_chosen(void);

/* The instruction sets that are compiled in, and the one in use: "x86-64, AVX2, ...: ... is used".
 */
const char *isa_description(void);

#endif
