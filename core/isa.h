/* Function multiversioning: on x86-64 the files listed in core/isa_functions.inc are compiled once
   per instruction set, and the best one that the CPU supports is selected when the library is
   loaded. All versions give bit-identical results. Other builds (arm64, KD_MARCH) have one
   instruction set. */
#ifndef KD_CORE_ISA_H
#define KD_CORE_ISA_H

typedef enum isa {
    ISA_BASE,  /* baseline of the architecture */
    ISA_AVX2,  /* x86-64-v3: AVX2, FMA, BMI1, BMI2, POPCNT */
    ISA_AVX512 /* x86-64-v4: also AVX-512 F, BW, CD, DQ, VL */
} isa;

/* Returns the best instruction set that the build contains, the CPU supports and the environment
   variable KANDELA_CPU (base, avx2) allows. */
isa isa_chosen(void);

/* Returns the instruction sets compiled in and the one in use: "x86-64, AVX2, ...: ... is used".
   The string is static. */
const char *isa_description(void);

#endif
