/* The place of a point of three axes on a Morton curve of 1024 cells an axis.
   Source: Morton 1966, "A computer oriented geodetic data base". */
#ifndef KD_CORE_MATH_MORTON_H
#define KD_CORE_MATH_MORTON_H
#include "core/math/platform.h"
#include <stdint.h>

/* Ten bits, two zeros behind each. */
KD_FN uint32_t morton_spread(uint32_t x) {
    x = (x | x << 16) & 0x030000ff;
    x = (x | x << 8) & 0x0300f00f;
    x = (x | x << 4) & 0x030c30c3;
    return (x | x << 2) & 0x09249249;
}

/* `scale` cells a unit from `lo` on; what lies outside is in the cell next to it. */
KD_FN uint32_t morton_code3(const double lo[3], double scale, const double *at) {
    uint32_t cells[3];
    for (int axis = 0; axis < 3; ++axis) {
        const double x = (at[axis] - lo[axis]) * scale;
        cells[axis] = (uint32_t)(x > 0 ? x < 1023 ? x : 1023 : 0);
    }
    return morton_spread(cells[0]) << 2 | morton_spread(cells[1]) << 1 | morton_spread(cells[2]);
}

#endif
