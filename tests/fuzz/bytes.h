/* Decodes a fuzzer's bytes into numbers, for the targets that build trees. */
#ifndef KD_TESTS_FUZZ_BYTES_H
#define KD_TESTS_FUZZ_BYTES_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
    int kind; /* of the numbers */
} fuzz_bytes;

static inline uint8_t fuzz_byte(fuzz_bytes *from) { /* 0 at the end */
    if (from->left == 0) return 0;
    --from->left;
    return *from->at++;
}

/* Decodes two bytes: a coarse grid, with many ties; a fine grid; or any order of magnitude. */
static inline float fuzz_number(fuzz_bytes *from) {
    const int high = (int8_t)fuzz_byte(from), low = fuzz_byte(from);
    if (from->kind % 3 == 0) return (float)(high / 16);
    if (from->kind % 3 == 1) return (float)(high * 256 + low) / 256;
    return ldexpf((float)high, low / 8 - 16);
}

#endif
