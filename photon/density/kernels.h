/* Kernels that weight the photons of a density estimate: their values, and in closed form all
   integrals by which estimates are normalised. A new kernel needs its nine functions here and its
   name in PHOTON_KERNEL_ROWS, from which the photon_kernel_* functions are generated. The integrals
   over triangles are at the end of the file.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapter 7 (cone filter);
           Epanechnikov's kernel from Silverman 1986, "Density Estimation", 4.2; the Gaussian from
           Pavicic 1990, "Convenient anti-aliasing filters that minimize bumpy sampling".
   Units: lengths are relative to the radius of the estimate. K(s) is the value at distance s.

       kernel_NAME_at(s2)      K at a squared distance below 1; K(0) is 1
       kernel_NAME_sector()    integral of K(s) s from 0 to 1: over the unit disc, per radian
       kernel_NAME_ball()      integral of K(s) s^2 from 0 to 1: over the unit ball, per steradian
       kernel_NAME_line(s)     integral of K from 0 to s
       kernel_NAME_reach(s)    integral of K(t) t^2 from 0 to s, divided by that from 0 to 1
       kernel_NAME_own(k)      weight of a photon's own power in the estimate at its position, for
                               k photons (photon_self_weight), before clamping to 0
       kernel_NAME_plane(on)   sets the integral over a plane's disc (end of this file)
       kernel_NAME_to_line()   integral over the triangle between a plane's foot and a line
       kernel_NAME_bent(on)    whether to_line needs the angle even if sectors are omitted */
#ifndef KD_PHOTON_DENSITY_KERNELS_H
#define KD_PHOTON_DENSITY_KERNELS_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"

/* Id, name. */
#define PHOTON_KERNEL_ROWS(ROW)                                                                    \
    ROW(DISC, disc) ROW(CONE, cone) ROW(EPANECHNIKOV, epanechnikov) ROW(GAUSSIAN, gaussian)

#define PHOTON_KERNEL_ID(id, name) PHOTON_KERNEL_##id,
typedef enum photon_kernel { PHOTON_KERNEL_ROWS(PHOTON_KERNEL_ID) } photon_kernel;
#undef PHOTON_KERNEL_ID
#define PHOTON_KERNEL_ONE(id, name) +1
enum { PHOTON_KERNELS = PHOTON_KERNEL_ROWS(PHOTON_KERNEL_ONE) };
#undef PHOTON_KERNEL_ONE

/* A plane at height h, 0 to 1, over which a kernel is integrated: a point of the plane at distance
   p from the foot of the ball's centre has the weight K(sqrt(h^2 + p^2)). */
typedef struct kernel_plane {
    photon_kernel kernel;
    float h;
    float rim2;   /* 1 - h^2: squared radius of the disc */
    float sector; /* integral over the whole disc, per radian */
    float fade;   /* Gaussian: exp(-c h^2) */
} kernel_plane;

/* Planes closer to the centre are treated as passing through it where that is cheaper; the error is
   below 1e-7. */
#define KERNEL_PLANE_LOW 0.004f

/* Area of the triangle between the foot and the segment of a line at distance d from it. */
KD_FN float kernel_plane_flat(float d, float from, float to) {
    return 0.5f * d * (to - from);
}

/* --- disc: 1 ---------------------------------------------------------------------------------- */

KD_FN float kernel_disc_at(float s2) {
    (void)s2;
    return 1;
}
KD_FN float kernel_disc_sector(void) {
    return 0.5f;
}
KD_FN float kernel_disc_ball(void) {
    return 1.0f / 3;
}
KD_FN float kernel_disc_line(float s) {
    return s;
}
KD_FN float kernel_disc_reach(float s) {
    return s * s * s;
}
KD_FN float kernel_disc_own(float k) {
    (void)k;
    return 1;
}
KD_FN void kernel_disc_plane(kernel_plane *plane) {
    plane->sector = 0.5f * plane->rim2;
}
KD_FN float kernel_disc_to_line(const kernel_plane *plane, float d, float from, float to,
                                float angle) {
    (void)plane, (void)angle;
    return kernel_plane_flat(d, from, to);
}
KD_FN bool kernel_disc_bent(const kernel_plane *plane) {
    (void)plane;
    return false;
}

/* --- cone: 1 - s ------------------------------------------------------------------------------ */

KD_FN float kernel_cone_at(float s2) {
    return 1 - sqrtf(s2);
}
KD_FN float kernel_cone_sector(void) {
    return 1.0f / 6;
}
KD_FN float kernel_cone_ball(void) {
    return 1.0f / 12;
}
KD_FN float kernel_cone_line(float s) {
    const float s2 = s * s;
    return s - 0.5f * s2;
}
KD_FN float kernel_cone_reach(float s) {
    return s * s * s * (4 - 3 * s);
}
KD_FN float kernel_cone_own(float k) {
    return 1 - 1.50455f / sqrtf(k + 0.75f);
}
KD_FN void kernel_cone_plane(kernel_plane *plane) {
    const float h = plane->h;
    plane->sector = 0.5f * plane->rim2 - (1 - h * h * h) / 3;
}
/* sqrt(a^2 + t^2) + t without cancellation, where s is that root. */
KD_FN float kernel_cone_sum(float a2, float t, float s) {
    return t >= 0 ? s + t : a2 / (s - t);
}
/* Subtracts the integral of the distance to the centre over the segment, which subtends `angle` at
   the foot. */
KD_FN float kernel_cone_to_line(const kernel_plane *plane, float d, float from, float to,
                                float angle) {
    const float h = plane->h, a2 = h * h + d * d;
    const float s0 = sqrtf(a2 + from * from), s1 = sqrtf(a2 + to * to);
    const float ratio = kernel_cone_sum(a2, to, s1) / kernel_cone_sum(a2, from, s0);
    float sum = d * (0.5f * (to * s1 - from * s0) + (0.5f * a2 + h * h) * float_log(ratio));
    if (h > KERNEL_PLANE_LOW) {
        const float turned =
            float_atan2(h * d * (to * s0 - from * s1), d * d * s0 * s1 + h * h * from * to);
        sum += h * h * h * (turned - angle);
    }
    return kernel_plane_flat(d, from, to) - sum / 3;
}
KD_FN bool kernel_cone_bent(const kernel_plane *plane) {
    return plane->h > KERNEL_PLANE_LOW;
}

/* --- Epanechnikov: 1 - s^2 -------------------------------------------------------------------- */

KD_FN float kernel_epanechnikov_at(float s2) {
    return 1 - s2;
}
KD_FN float kernel_epanechnikov_sector(void) {
    return 0.25f;
}
KD_FN float kernel_epanechnikov_ball(void) {
    return 2.0f / 15;
}
KD_FN float kernel_epanechnikov_line(float s) {
    const float s2 = s * s;
    return s - s2 * s / 3;
}
KD_FN float kernel_epanechnikov_reach(float s) {
    const float s2 = s * s;
    return s2 * s * (2.5f - 1.5f * s2);
}
KD_FN float kernel_epanechnikov_own(float k) {
    return 1 - 3 / (k + 1);
}
KD_FN void kernel_epanechnikov_plane(kernel_plane *plane) {
    plane->sector = 0.25f * plane->rim2 * plane->rim2;
}
KD_FN float kernel_epanechnikov_to_line(const kernel_plane *plane, float d, float from, float to,
                                        float angle) {
    (void)angle;
    return plane->rim2 * kernel_plane_flat(d, from, to) -
           0.25f * d * (d * d * (to - from) + (to * to * to - from * from * from) / 3);
}
KD_FN bool kernel_epanechnikov_bent(const kernel_plane *plane) {
    (void)plane;
    return false;
}

/* --- Gaussian: a + b exp(-c s^2), 1 at the centre, 0.27 at the rim ---------------------------- */

/* Pavicic's beta is 2c; a + b = 1 with b = 1 / (1 - exp(-2c)). */
#define KERNEL_GAUSSIAN_C 0.9765f
#define KERNEL_GAUSSIAN_B 1.165295f
#define KERNEL_GAUSSIAN_A (1 - KERNEL_GAUSSIAN_B)
#define KERNEL_GAUSSIAN_BALL 0.16846025f
/* Number of terms of exp(-c s^2) used in integrals along lines: the remainder is below 1e-7. */
#define KERNEL_GAUSSIAN_TERMS 10

KD_FN float kernel_gaussian_at(float s2) {
    return KERNEL_GAUSSIAN_A + KERNEL_GAUSSIAN_B * float_exp(-KERNEL_GAUSSIAN_C * s2);
}
KD_FN float kernel_gaussian_sector(void) {
    return 0.5f * KERNEL_GAUSSIAN_A +
           0.5f * KERNEL_GAUSSIAN_B * (1 - float_exp(-KERNEL_GAUSSIAN_C)) / KERNEL_GAUSSIAN_C;
}
KD_FN float kernel_gaussian_ball(void) {
    return KERNEL_GAUSSIAN_BALL;
}
/* Integrates the series of exp(-c s^2) term by term. */
KD_FN float kernel_gaussian_line(float s) {
    const float s2 = s * s;
    float power = KERNEL_GAUSSIAN_B, sum = KERNEL_GAUSSIAN_A;
    for (int n = 0; n < KERNEL_GAUSSIAN_TERMS; ++n) {
        sum += power / (float)(2 * n + 1);
        power *= -KERNEL_GAUSSIAN_C * s2 / (float)(n + 1);
    }
    return s * sum;
}
KD_FN float kernel_gaussian_reach(float s) {
    const float s2 = s * s, s3 = s2 * s;
    float power = KERNEL_GAUSSIAN_B, sum = KERNEL_GAUSSIAN_A / 3;
    for (int n = 0; n < KERNEL_GAUSSIAN_TERMS; ++n) {
        sum += power / (float)(2 * n + 3);
        power *= -KERNEL_GAUSSIAN_C * s2 / (float)(n + 1);
    }
    return s3 * sum / KERNEL_GAUSSIAN_BALL;
}
KD_FN float kernel_gaussian_own(float k) {
    const float c = KERNEL_GAUSSIAN_C, b = KERNEL_GAUSSIAN_B;
    return 1 - 3 * b * c / (k + 1) * (1 - 10 * c / (3 * (k + 2)) * (1 - 3.5f * c / (k + 3)));
}
KD_FN void kernel_gaussian_plane(kernel_plane *plane) {
    plane->fade = float_exp(-KERNEL_GAUSSIAN_C * plane->h * plane->h);
    plane->sector =
        0.5f * KERNEL_GAUSSIAN_A * plane->rim2 + 0.5f * KERNEL_GAUSSIAN_B / KERNEL_GAUSSIAN_C *
                                                     (plane->fade - float_exp(-KERNEL_GAUSSIAN_C));
}
/* Integral of the kernel from the centre of the unit disc out to a line at distance h >= 0, over
   the angle from the line's foot to t. Out to distance p the integral per radian is
   a p^2/2 + b (1 - exp(-c p^2)) / (2c). On the line, p^2 = h^2 + t^2, and the angle's differential
   is h dt / p^2, so each power of p^2 in the series of exp gives a polynomial in t, computed from
   the previous one. */
KD_FN float kernel_gaussian_out_to(float h, float t) {
    float power = 1;                  /* (p^2)^n */
    float integral = t;               /* integral of `power` from 0 to t */
    float factor = KERNEL_GAUSSIAN_C; /* c^(n+1) / (n+1)!, signed */
    float sum = KERNEL_GAUSSIAN_C * t;
    for (int n = 1; n < KERNEL_GAUSSIAN_TERMS; ++n) {
        power *= h * h + t * t;
        integral = (t * power + 2 * (float)n * h * h * integral) / (float)(2 * n + 1);
        factor *= -KERNEL_GAUSSIAN_C / (float)(n + 1);
        sum += factor * integral;
    }
    return 0.5f * h * (KERNEL_GAUSSIAN_A * t + KERNEL_GAUSSIAN_B / KERNEL_GAUSSIAN_C * sum);
}
KD_FN float kernel_gaussian_to_line(const kernel_plane *plane, float d, float from, float to,
                                    float angle) {
    (void)angle;
    return plane->fade * (kernel_gaussian_out_to(d, to) - kernel_gaussian_out_to(d, from)) +
           (1 - plane->fade) * KERNEL_GAUSSIAN_A * kernel_plane_flat(d, from, to);
}
KD_FN bool kernel_gaussian_bent(const kernel_plane *plane) {
    (void)plane;
    return false;
}

/* --- dispatch by kernel ----------------------------------------------------------------------- */

/* Each function selects
   one of the integrals above by the number of a kernel. An invalid number gives NaN, which is
   counted in nan_samples. Lengths are relative to the radius of the estimate. */

/* A switch over all rows without a default, so that compilers report a missing kernel. */
#define KERNEL_SWITCH(kernel, ROW)                                                                 \
    switch (kernel) { PHOTON_KERNEL_ROWS(ROW) }                                                    \
    return NAN

/* Value at a squared distance; 0 from 1 on. */
KD_FN float photon_kernel_at(photon_kernel kernel, float s2) {
    if (s2 >= 1) return 0;
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_at(s2);
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Integral over a sector of the unit disc, per radian. */
KD_FN float photon_kernel_sector(photon_kernel kernel) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_sector();
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Integral over the unit ball. */
KD_FN float photon_kernel_ball(photon_kernel kernel) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return 4 * KD_PI * kernel_##name##_ball();
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Integral from the centre to s, 0 to 1. */
KD_FN float photon_kernel_line(photon_kernel kernel, float s) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_line(s);
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Integral along a ray of the unit ball from the centre to s, weighted by the squared distance,
   divided by that to 1. */
KD_FN float photon_kernel_reach(photon_kernel kernel, float s) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_reach(s);
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* For k photons within the radius, including the one at the centre; may be negative. */
KD_FN float photon_kernel_own(photon_kernel kernel, float k) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_own(k);
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

KD_FN kernel_plane kernel_plane_make(photon_kernel kernel, float h) {
    kernel_plane made;
    made.kernel = kernel;
    made.h = h;
    made.rim2 = 1 - h * h;
    made.fade = 1;
    made.sector = NAN;
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: kernel_##name##_plane(&made); break;
    switch (kernel) { PHOTON_KERNEL_ROWS(ROW) }
#undef ROW
    return made;
}

/* Integral over the triangle between the foot and the segment of a line at distance d > 0 from it,
   which subtends `angle`; the triangle must lie inside the disc. */
KD_FN float kernel_plane_to_line(const kernel_plane *plane, float d, float from, float to,
                                 float angle) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_to_line(plane, d, from, to, angle);
    KERNEL_SWITCH(plane->kernel, ROW);
#undef ROW
}

/* Returns true if kernel_plane_to_line needs the angle even if sectors are omitted. */
KD_FN bool kernel_plane_bent(const kernel_plane *plane) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_bent(plane);
    switch (plane->kernel) { PHOTON_KERNEL_ROWS(ROW) }
#undef ROW
    return false;
}

/* --- the kernel's integral over a triangle ----------------------------------------------------
   In closed form, over the part of the triangle inside the kernel's ball.
   Idea: the triangle's plane intersects the ball in a disc about the foot of the ball's centre.
         Each side of the triangle spans a triangle with the foot, whose sign is that of its
         orientation; the three angles add up to a full turn if the foot lies inside, otherwise to
         none. So the integral is that over the whole disc, or 0, minus what lies in the disc beyond
         each side that intersects it: a sector minus the triangle to the chord. With h the height
         of the centre above the plane, a point at distance p from the foot has the weight
         K(sqrt(h^2 + p^2)). Integrated out to p, this gives, per radian, a function of p only,
         whose integral over the angle along a line is elementary for each kernel (for the Gaussian,
         by its series).
   Source: no paper; for h = 0 the sectors of a plane, as above.
   Work: nothing if no side intersects the disc; for each side that does, an arctangent, and for the
         cone two arctangents and a logarithm.
   Invariants: absolute error below 2e-5 for triangles up to some radii large; never below 0.
   Units: lengths are relative to the ball's radius. */

/* Lines closer to the foot are treated as passing through it. */
#define KERNEL_LINE_LOW 1e-7f
/* If the foot is closer to a corner, rounding may prevent the angles from adding up to a full
   turn. */
#define KERNEL_CORNER 1e-3f

/* Angle at the foot between two points of a line at distance d > 0 from it. */
KD_FN float kernel_plane_angle(float d, float from, float to) {
    return float_atan2(d * (to - from), d * d + from * to);
}

/* The disc's sector that the segment from `from` to `to` at distance d subtends, minus the triangle
   between the foot and the part of the segment inside the disc. `within`: the whole triangle lies
   in the disc, and sectors, which add up to none or the whole, are omitted. */
KD_FN float kernel_plane_beyond(const kernel_plane *plane, bool within, float d, float from,
                                float to) {
    const float chord2 = plane->rim2 - d * d;
    if (!(chord2 > 0)) return 0;
    const float chord = sqrtf(chord2);
    const float first = within ? from : float_max(from, -chord);
    const float last = within ? to : float_min(to, chord);
    if (!(first < last)) return 0;
    const float angle =
        within && !kernel_plane_bent(plane) ? 0 : kernel_plane_angle(d, first, last);
    const float sector = within ? 0 : plane->sector * angle;
    return d > KERNEL_LINE_LOW ? sector - kernel_plane_to_line(plane, d, first, last, angle)
                               : sector;
}

/* A side of a triangle relative to the foot. */
typedef struct kernel_side {
    float turn; /* distance from the foot, negative if the foot lies outside */
    float begin, length;
} kernel_side;

KD_FN kernel_side kernel_side_make(vec3 from, vec3 to, float height, vec3 normal) {
    kernel_side made;
    const vec3 side = vec3_sub(to, from), start = vec3_along(from, -height, normal);
    made.length = vec3_length(side);
    const vec3 along = vec3_scale(side, made.length > 0 ? 1 / made.length : 0);
    made.turn = vec3_dot(normal, vec3_cross(start, along));
    made.begin = vec3_dot(start, along);
    return made;
}

/* Integral over the triangle a, b, c, relative to the ball's centre, with the given unit normal. */
KD_FN float triangle_kernel_integral(photon_kernel kernel, vec3 a, vec3 b, vec3 c, vec3 normal) {
    const float height = vec3_dot(normal, a), h = fabsf(height);
    if (!(h < 1)) return 0;
    const kernel_side sides[3] = {kernel_side_make(a, b, height, normal),
                                  kernel_side_make(b, c, height, normal),
                                  kernel_side_make(c, a, height, normal)};
    const float minimum = float_min(sides[0].turn, float_min(sides[1].turn, sides[2].turn));
    const float rim2 = 1 - h * h;
    if (minimum < 0 && minimum * minimum >= rim2) return 0;
    const kernel_plane plane = kernel_plane_make(kernel, h);
    if (minimum > 0 && minimum * minimum >= rim2) return 2 * KD_PI * plane.sector;
    const float near2 = KERNEL_CORNER * KERNEL_CORNER;
    const bool within = vec3_length2(a) <= 1 && vec3_length2(b) <= 1 && vec3_length2(c) <= 1;
    bool corner = false;
    for (int i = 0; i < 3; ++i)
        corner |= sides[i].begin * sides[i].begin + sides[i].turn * sides[i].turn < near2;
    float sum = !within && !corner && minimum >= 0 ? 2 * KD_PI * plane.sector : 0;
    for (int i = 0; i < 3; ++i) {
        const kernel_side *side = &sides[i];
        const float d = fabsf(side->turn), from = side->begin, to = from + side->length;
        float beyond = kernel_plane_beyond(&plane, within, d, from, to);
        if (corner && !within)
            beyond =
                d > KERNEL_LINE_LOW ? beyond - plane.sector * kernel_plane_angle(d, from, to) : 0;
        sum += side->turn < 0 ? beyond : -beyond;
    }
    return float_max(sum, 0);
}

#endif
