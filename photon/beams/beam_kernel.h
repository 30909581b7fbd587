/* The kernels of density estimates along a line: a beam that crosses a ray is smeared along the
   shortest way between them.
   Units: lengths over the radius; kernels as in photon/density/photon_kernel.h. */
#ifndef KD_PHOTON_BEAMS_BEAM_KERNEL_H
#define KD_PHOTON_BEAMS_BEAM_KERNEL_H
#include "photon/density/photon_kernel.h"

/* The kernel's integral from its middle to s, 0 to 1. */
KD_FN float photon_kernel_line(int32_t kernel, float s) {
    const float s2 = s * s;
    if (kernel == PHOTON_KERNEL_DISC) return s;
    if (kernel == PHOTON_KERNEL_CONE) return s - 0.5f * s2;
    if (kernel == PHOTON_KERNEL_EPANECHNIKOV) return s - s2 * s / 3;
    float power = KERNEL_GAUSSIAN_B, sum = KERNEL_GAUSSIAN_A;
    for (int n = 0; n < KERNEL_GAUSSIAN_TERMS; ++n) { /* the series of exp(-c s^2) */
        sum += power / (float)(2 * n + 1);
        power *= -KERNEL_GAUSSIAN_C * s2 / (float)(n + 1);
    }
    return s * sum;
}

#endif
