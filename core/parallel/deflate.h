/* Parallel zlib compression (RFC 1950): the stream consists of pieces compressed independently. */
#ifndef KD_CORE_PARALLEL_DEFLATE_H
#define KD_CORE_PARALLEL_DEFLATE_H
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct deflated {
    uint8_t *bytes;  /* piece i begins at bytes + i * capacity */
    uint64_t *made;  /* size of each piece in bytes */
    uint64_t pieces; /* 0: compression failed, use another encoder */
    uint64_t capacity;
} deflated;

/* Compresses `count` bytes at the fastest level, with the same output for any number of threads.
   Sets out->pieces to 0 if the build has no libdeflate or libdeflate's output has an unexpected
   form. The caller releases the result with deflate_close. */
kd_status deflate_open(deflated *out, const uint8_t *bytes, uint64_t count);
void deflate_close(deflated *owned); /* accepts a zeroed struct */

/* Continues the CRC-32 `from` (0 for a new one) of ISO 3309. */
uint32_t deflate_crc32(uint32_t from, const void *bytes, uint64_t count);

#endif
