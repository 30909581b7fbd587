/* Decodes a fuzzer's bytes into numbers, for the targets that build trees. */
#ifndef KD_TESTS_FUZZ_BYTES_H
#define KD_TESTS_FUZZ_BYTES_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
    int kind; /* the kind of numbers */
} fuzz_bytes;

static inline uint8_t fuzz_byte(fuzz_bytes *bytes) { /* Returns the next byte, or 0 at the end. */
    if (bytes->left == 0) return 0;
    --bytes->left;
    return *bytes->at++;
}

/* Decodes two bytes: a coarse grid, with many ties; a fine grid; or any order of magnitude. */
static inline float fuzz_number(fuzz_bytes *bytes) {
    const int high = (int8_t)fuzz_byte(bytes), low = fuzz_byte(bytes);
    if (bytes->kind % 3 == 0) return (float)(high / 16);
    if (bytes->kind % 3 == 1) return (float)(high * 256 + low) / 256;
    return ldexpf((float)high, low / 8 - 16);
}

#endif
