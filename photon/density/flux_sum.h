/* Sums of photon contributions in fixed point, which do not depend on the order of summation.
   Idea: a contribution is rounded to a unit of 2^-37 to 2^-36 of the strongest photon's power, and
         integers are added. So a CPU that traverses a tree, one that searches leaves, and a GPU
         warp that adds by parallel reduction all get the same sum.
         Range: a contribution may be 2^17 times the strongest photon (the peak of a glossy lobe in
         1/sr); 512 such contributions fit. */
#ifndef KD_PHOTON_DENSITY_FLUX_SUM_H
#define KD_PHOTON_DENSITY_FLUX_SUM_H
#include "core/math/geometry.h"

typedef struct flux_sum {
    int64_t x, y, z;
} flux_sum;

/* Units per watt, a power of two, if no channel of any photon exceeds `strongest`. */
KD_FN float flux_scale(float strongest) {
    if (!(strongest > 0 && strongest <= FLT_MAX)) return 1;
    const int exponent = (int)(float_bits(strongest) >> 23) - 127;
    const int exponent_max = 36 - exponent;
    const int kept = exponent_max > 100 ? 100 : exponent_max;
    return float_from_bits((uint32_t)(kept + 127) << 23);
}

KD_FN int64_t flux_round(float watts, float scale) {
    const float units = watts * scale, maximum = 0x1p54f;
    return (int64_t)(units < -maximum   ? -maximum
                     : units <= maximum ? units
                     : units > maximum  ? maximum
                                        : 0);
}

KD_FN flux_sum flux_sum_none(void) {
    flux_sum sum;
    sum.x = sum.y = sum.z = 0;
    return sum;
}

/* NaN adds nothing. */
KD_FN void flux_sum_add(flux_sum *sum, float weight, vec3 part, float scale) {
    sum->x += flux_round(weight * part.x, scale);
    sum->y += flux_round(weight * part.y, scale);
    sum->z += flux_round(weight * part.z, scale);
}

KD_FN bool flux_sum_is_zero(const flux_sum *sum) {
    return (sum->x | sum->y | sum->z) == 0;
}

/* The sum in watts, times a factor. */
KD_FN vec3 flux_sum_scaled(const flux_sum *sum, float scale, float factor) {
    const float unit = 1 / scale;
    return vec3_make((float)sum->x * unit * factor, (float)sum->y * unit * factor,
                     (float)sum->z * unit * factor);
}

#endif
