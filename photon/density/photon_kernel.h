/* The kernels that weigh the photons of a density estimate, and what their integrals need in closed
   form.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapter 7 (cone filter);
           Epanechnikov's kernel from Silverman 1986, "Density Estimation", 4.2; the Gaussian from
           Pavicic 1990, "Convenient anti-aliasing filters that minimize bumpy sampling".
   Units: lengths over the radius of the estimate. */
#ifndef KD_PHOTON_DENSITY_PHOTON_KERNEL_H
#define KD_PHOTON_DENSITY_PHOTON_KERNEL_H
#include "core/math/elementary.h"
#include "core/math/vec3.h"

typedef enum photon_kernel {
    PHOTON_KERNEL_DISC = 0,         /* 1 */
    PHOTON_KERNEL_CONE = 1,         /* 1 - s, s the distance over the radius */
    PHOTON_KERNEL_EPANECHNIKOV = 2, /* 1 - s^2 */
    PHOTON_KERNEL_GAUSSIAN = 3      /* a + b exp(-c s^2): 1 in the middle, 0.27 at the edge */
} photon_kernel;

/* Pavicic's beta is 2c; a + b = 1 with b = 1 / (1 - exp(-2c)). */
#define KERNEL_GAUSSIAN_C 0.9765f
#define KERNEL_GAUSSIAN_B 1.165295f
#define KERNEL_GAUSSIAN_A (1 - KERNEL_GAUSSIAN_B)
/* Terms of exp(-c s^2) that its integrals along lines take: the rest is below 1e-7. */
#define KERNEL_GAUSSIAN_TERMS 10

/* The kernel at the squared distance over the squared radius. */
KD_FN float photon_kernel_at(int32_t kernel, float s2) {
    if (s2 >= 1) return 0;
    switch (kernel) {
    case PHOTON_KERNEL_DISC: return 1;
    case PHOTON_KERNEL_CONE: return 1 - sqrtf(s2);
    case PHOTON_KERNEL_GAUSSIAN:
        return KERNEL_GAUSSIAN_A + KERNEL_GAUSSIAN_B * float_exp(-KERNEL_GAUSSIAN_C * s2);
    default: return 1 - s2;
    }
}

/* Its integral over a sector of the unit disc, per radian. */
KD_FN float photon_kernel_sector(int32_t kernel) {
    switch (kernel) {
    case PHOTON_KERNEL_DISC: return 0.5f;
    case PHOTON_KERNEL_CONE: return 1.0f / 6;
    case PHOTON_KERNEL_GAUSSIAN:
        return 0.5f * KERNEL_GAUSSIAN_A +
               0.5f * KERNEL_GAUSSIAN_B * (1 - float_exp(-KERNEL_GAUSSIAN_C)) / KERNEL_GAUSSIAN_C;
    default: return 0.25f;
    }
}

/* The integral of the Gaussian out to a line at distance h >= 0 from the centre of the unit disc,
   over the angle from the line's foot to t. Out to the distance p it integrates, a radian, to
   a p^2/2 + b (1 - exp(-c p^2)) / (2c): with p^2 = h^2 + t^2 on the line and the angle's step
   h dt / p^2, each power of p^2 in the series of exp is a polynomial of t, found from the one
   before. */
KD_FN float photon_gaussian_to_line(float h, float t) {
    float power = 1;                  /* p^2 to the n */
    float integral = t;               /* of it over dt from 0 to t */
    float factor = KERNEL_GAUSSIAN_C; /* c^(n+1) / (n+1)!, with its sign */
    float sum = KERNEL_GAUSSIAN_C * t;
    for (int n = 1; n < KERNEL_GAUSSIAN_TERMS; ++n) {
        power *= h * h + t * t;
        integral = (t * power + 2 * (float)n * h * h * integral) / (float)(2 * n + 1);
        factor *= -KERNEL_GAUSSIAN_C / (float)(n + 1);
        sum += factor * integral;
    }
    return 0.5f * h * (KERNEL_GAUSSIAN_A * t + KERNEL_GAUSSIAN_B / KERNEL_GAUSSIAN_C * sum);
}

#endif
