/* Bit manipulation: Morton codes, and a table for vector compression. */
#ifndef KD_CORE_MATH_BITS_H
#define KD_CORE_MATH_BITS_H
#include "core/math/platform.h"
#include <stdint.h>

/* Morton codes of points in three dimensions, with 10 bits per axis.
   Source: Morton 1966, "A computer oriented geodetic data base". */

/* Inserts two zero bits above each of the lowest ten bits. */
KD_FN uint32_t morton_spread(uint32_t x) {
    x = (x | x << 16) & 0x030000ff;
    x = (x | x << 8) & 0x0300f00f;
    x = (x | x << 4) & 0x030c30c3;
    return (x | x << 2) & 0x09249249;
}

/* Returns the Morton code of `at` in a grid with origin `lo` and `scale` cells per unit length;
   points outside the grid are clamped to it. */
KD_FN uint32_t morton_code3(const double lo[3], double scale, const double *at) {
    uint32_t cells[3];
    for (int axis = 0; axis < 3; ++axis) {
        const double x = (at[axis] - lo[axis]) * scale;
        cells[axis] = (uint32_t)(x > 0 ? x < 1023 ? x : 1023 : 0);
    }
    return morton_spread(cells[0]) << 2 | morton_spread(cells[1]) << 1 | morton_spread(cells[2]);
}

/* The set bits of an 8-bit mask in ascending order, for moving the selected lanes of a vector to
   the front.
   Idea: the mask is an index into a table of 256 rows; each nibble of a row is the number of a
         lane. */

#define LANE_AT(m, bit, below)                                                                     \
    ((uint32_t)(bit) * ((m) >> (bit)&1u) << 4u * LANES_SET((m) & (below)))
#define LANES_SET(m)                                                                               \
    (((m)&1u) + ((m) >> 1u & 1u) + ((m) >> 2u & 1u) + ((m) >> 3u & 1u) + ((m) >> 4u & 1u) +        \
     ((m) >> 5u & 1u) + ((m) >> 6u & 1u))
#define LANES_1(m)                                                                                 \
    (LANE_AT(m, 1u, 1u) | LANE_AT(m, 2u, 3u) | LANE_AT(m, 3u, 7u) | LANE_AT(m, 4u, 15u) |          \
     LANE_AT(m, 5u, 31u) | LANE_AT(m, 6u, 63u) | LANE_AT(m, 7u, 127u))
#define LANES_4(m) LANES_1((m)), LANES_1((m) + 1u), LANES_1((m) + 2u), LANES_1((m) + 3u)
#define LANES_16(m) LANES_4((m)), LANES_4((m) + 4u), LANES_4((m) + 8u), LANES_4((m) + 12u)
#define LANES_64(m) LANES_16((m)), LANES_16((m) + 16u), LANES_16((m) + 32u), LANES_16((m) + 48u)
/* lanes_compress[m]: the indices of the bits set in m, lowest first, one per nibble. */
static const uint32_t lanes_compress[256] = {LANES_64(0u), LANES_64(64u), LANES_64(128u),
                                             LANES_64(192u)};

#endif
