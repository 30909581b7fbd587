/* The density kernels by definition, in double. A kernel without a definition here is evaluated by
   its own function, so that its integrals are still checked against its values. */
#ifndef KD_TESTS_PHOTON_KERNEL_VALUE_H
#define KD_TESTS_PHOTON_KERNEL_VALUE_H
#include "photon/density/kernels.h"
#include <math.h>

static inline double kernel_value(photon_kernel kernel, double s) {
    const double beta = 1.953; /* Pavicic 1990 */
    if (s >= 1) return 0;
    if (kernel == PHOTON_KERNEL_DISC) return 1;
    if (kernel == PHOTON_KERNEL_CONE) return 1 - s;
    if (kernel == PHOTON_KERNEL_EPANECHNIKOV) return 1 - s * s;
    if (kernel == PHOTON_KERNEL_GAUSSIAN)
        return 1 - (1 - exp(-beta * s * s / 2)) / (1 - exp(-beta));
    return (double)photon_kernel_at(kernel, (float)(s * s));
}

/* Returns true if the kernel has a step at its radius, which blurs sums over small pieces. */
static inline bool kernel_ends_in_a_step(photon_kernel kernel) {
    return photon_kernel_at(kernel, 0.9999f) > 0.01f;
}

#endif
