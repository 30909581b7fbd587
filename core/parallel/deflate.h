/* A zlib stream (RFC 1950) by all threads, in pieces that follow each other. */
#ifndef KD_CORE_PARALLEL_DEFLATE_H
#define KD_CORE_PARALLEL_DEFLATE_H
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct deflated {
    uint8_t *bytes;  /* piece i begins at bytes + i * room */
    uint64_t *made;  /* bytes of each */
    uint64_t pieces; /* 0: it could not be packed so */
    uint64_t room;
} deflated;

/* The same bytes by any number of threads, at the fastest level. There are no pieces where
   libdeflate is missing, or packs otherwise than expected. */
kd_status deflate_open(deflated *out, const uint8_t *bytes, uint64_t count);
void deflate_close(deflated *owned); /* takes a zeroed one */

/* CRC-32 of ISO 3309 going on from another one (0: none); 0 without libdeflate. */
uint32_t deflate_crc32(uint32_t from, const void *bytes, uint64_t count);

#endif
