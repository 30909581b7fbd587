/* The kernels that weigh the photons of a density estimate, and their integrals over sectors and
   triangles of the unit disc in closed form.
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

/* The same over the part of a sector within the distance whose square is s2, at most 1. */
KD_FN float photon_kernel_within(int32_t kernel, float s2) {
    switch (kernel) {
    case PHOTON_KERNEL_DISC: return 0.5f * s2;
    case PHOTON_KERNEL_CONE: return s2 * (0.5f - sqrtf(s2) / 3);
    case PHOTON_KERNEL_GAUSSIAN:
        return 0.5f * KERNEL_GAUSSIAN_A * s2 + 0.5f * KERNEL_GAUSSIAN_B *
                                                   (1 - float_exp(-KERNEL_GAUSSIAN_C * s2)) /
                                                   KERNEL_GAUSSIAN_C;
    default: return s2 * (0.5f - 0.25f * s2);
    }
}

/* The same to a line for the Gaussian. Out to the distance p it integrates, a radian, to
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

/* An integral of the kernel along a line at distance h >= 0 from the centre of the unit disc, from
   its foot to t: of the kernel's integral out to the line, over the angle. */
KD_FN float photon_kernel_to_line(int32_t kernel, float h, float t) {
    const float flat = 0.5f * h * t;
    if (kernel == PHOTON_KERNEL_DISC) return flat;
    if (kernel == PHOTON_KERNEL_GAUSSIAN) return photon_gaussian_to_line(h, t);
    if (kernel == PHOTON_KERNEL_CONE) {
        const float distance = sqrtf(h * h + t * t);
        const float logarithm = h > 1e-15f ? h * h * float_asinh(t / h) : 0;
        return flat - h * (t * distance + logarithm) / 6;
    }
    return flat - h * (h * h * t + t * t * t / 3) / 4;
}

/* What an edge of the patch from `a` to `b` (about the centre of the unit disc, counter-clockwise
   around the patch) takes away from the kernel's integral: its part over the angle that the edge
   covers inside the disc, beyond the edge. Negative for an edge that turns the other way. */
KD_FN float photon_kernel_beyond(int32_t kernel, vec2 a, vec2 b) {
    const float ex = b.x - a.x, ey = b.y - a.y;
    const float length = sqrtf(ex * ex + ey * ey);
    if (!(length > 0)) return 0;
    const float signed_h = (a.x * b.y - a.y * b.x) / length, h = fabsf(signed_h);
    if (!(h < 1)) return 0;
    const float half_chord = sqrtf(1 - h * h);
    const float along = (a.x * ex + a.y * ey) / length;
    const float t0 = float_max(along, -half_chord);
    const float t1 = float_min(along + length, half_chord);
    if (!(t0 < t1)) return 0;
    const float angle = float_atan2(t1, h) - float_atan2(t0, h);
    const float inside =
        photon_kernel_to_line(kernel, h, t1) - photon_kernel_to_line(kernel, h, t0);
    const float beyond = photon_kernel_sector(kernel) * angle - inside;
    return signed_h < 0 ? -beyond : beyond;
}

#endif
