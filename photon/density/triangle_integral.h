/* A kernel's integral over a triangle, as far as the triangle lies in the kernel's ball: closed
   forms.
   Idea: the triangle's plane cuts the ball in a disc about the foot of its centre. Each side of the
         triangle, with the foot, spans a triangle of the plane, counted with the sign of its turn;
         of that the part inside the disc is a triangle to the line, where the line runs inside, and
         sectors of the disc elsewhere. With the height h of the centre over the plane, a place at
         the distance p from the foot weighs K(sqrt(h^2 + p^2)); out to p that integrates, a radian,
         to a function of p alone, whose integral over the angle along a line is elementary for each
         kernel (the Gaussian's by its series).
   Source: no paper; at h = 0 these are the sectors and lines of photon_kernel.h.
   Work: nothing where no side cuts the disc; else for each side of three at most two arcus
         tangents, for the cone four and a logarithm; inside the disc two for the cone, and none if
         the centre lies in the plane.
   Invariants: within 2e-5 of the integral for triangles up to some radii large; never below 0.
   Units: lengths over the ball's radius. */
#ifndef KD_PHOTON_DENSITY_TRIANGLE_INTEGRAL_H
#define KD_PHOTON_DENSITY_TRIANGLE_INTEGRAL_H
#include "photon/density/photon_kernel.h"

/* Planes nearer to the centre are taken for planes through it where that is cheaper: below 1e-7. */
#define KERNEL_PLANE_LOW 0.004f

/* The plane at the height h, 0 to 1, over which a kernel is integrated. */
typedef struct kernel_plane {
    int32_t kernel;
    float h;
    float rim2;   /* 1 - h^2: square of the disc's radius */
    float sector; /* the integral over the whole disc, a radian */
    float fade;   /* Gaussian: exp(-c h^2) */
} kernel_plane;

KD_FN kernel_plane kernel_plane_make(int32_t kernel, float h) {
    kernel_plane made;
    made.kernel = kernel;
    made.h = h;
    made.rim2 = 1 - h * h;
    made.fade = 1;
    switch (kernel) {
    case PHOTON_KERNEL_DISC: made.sector = 0.5f * made.rim2; break;
    case PHOTON_KERNEL_CONE: made.sector = 0.5f * made.rim2 - (1 - h * h * h) / 3; break;
    case PHOTON_KERNEL_GAUSSIAN:
        made.fade = float_exp(-KERNEL_GAUSSIAN_C * h * h);
        made.sector =
            0.5f * KERNEL_GAUSSIAN_A * made.rim2 + 0.5f * KERNEL_GAUSSIAN_B / KERNEL_GAUSSIAN_C *
                                                       (made.fade - float_exp(-KERNEL_GAUSSIAN_C));
        break;
    default: made.sector = 0.25f * made.rim2 * made.rim2;
    }
    return made;
}

/* The angle at the foot between two places of a line at the distance d > 0 from it. */
KD_FN float kernel_plane_angle(float d, float from, float to) {
    return float_atan2(d * (to - from), d * d + from * to);
}

/* sqrt(a^2 + t^2) + t, where s is that root. */
KD_FN float kernel_plane_sum(float a2, float t, float s) {
    return t >= 0 ? s + t : a2 / (s - t);
}

/* The cone's part of the integral to a line at the distance d > 0 from the foot that is not flat:
   of the distance to the centre, over a stretch of the line. */
KD_FN float kernel_plane_cone(const kernel_plane *on, float d, float from, float to) {
    const float h = on->h, a2 = h * h + d * d;
    const float s0 = sqrtf(a2 + from * from), s1 = sqrtf(a2 + to * to);
    const float ratio = kernel_plane_sum(a2, to, s1) / kernel_plane_sum(a2, from, s0);
    float sum = d * (0.5f * (to * s1 - from * s0) + (0.5f * a2 + h * h) * float_log(ratio));
    if (h > KERNEL_PLANE_LOW) {
        const float turned =
            float_atan2(h * d * (to * s0 - from * s1), d * d * s0 * s1 + h * h * from * to);
        sum += h * h * h * (turned - kernel_plane_angle(d, from, to));
    }
    return sum / 3;
}

/* The integral over the triangle between the foot and a line's stretch at the distance d > 0 from
   it; inside the disc. */
KD_FN float kernel_plane_to_line(const kernel_plane *on, float d, float from, float to) {
    const float flat = 0.5f * d * (to - from);
    switch (on->kernel) {
    case PHOTON_KERNEL_DISC: return flat;
    case PHOTON_KERNEL_CONE: return flat - kernel_plane_cone(on, d, from, to);
    case PHOTON_KERNEL_GAUSSIAN:
        return on->fade * (photon_gaussian_to_line(d, to) - photon_gaussian_to_line(d, from)) +
               (1 - on->fade) * KERNEL_GAUSSIAN_A * flat;
    default:
        return on->rim2 * flat -
               0.25f * d * (d * d * (to - from) + (to * to * to - from * from * from) / 3);
    }
}

/* The same for a side from `from` to `to` along a line at the distance d, wherever it runs. */
KD_FN float kernel_plane_side(const kernel_plane *on, float d, float from, float to) {
    const float chord2 = on->rim2 - d * d;
    if (!(chord2 > 0)) return on->sector * kernel_plane_angle(d, from, to);
    const float chord = sqrtf(chord2);
    const float first = float_max(from, -chord), last = float_min(to, chord);
    if (!(first < last)) return on->sector * kernel_plane_angle(d, from, to);
    float sum = kernel_plane_to_line(on, d, first, last);
    if (from < first) sum += on->sector * kernel_plane_angle(d, from, first);
    if (last < to) sum += on->sector * kernel_plane_angle(d, last, to);
    return sum;
}

/* A side of a triangle as the foot sees it. */
typedef struct kernel_side {
    float turn; /* its distance from the foot, negative if that lies outside */
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

/* Over the triangle a, b, c about the ball's centre, whose unit normal is given. */
KD_FN float triangle_kernel_integral(int32_t kernel, vec3 a, vec3 b, vec3 c, vec3 normal) {
    const float height = vec3_dot(normal, a), h = fabsf(height);
    if (!(h < 1)) return 0;
    const kernel_side sides[3] = {kernel_side_make(a, b, height, normal),
                                  kernel_side_make(b, c, height, normal),
                                  kernel_side_make(c, a, height, normal)};
    const float least = float_min(sides[0].turn, float_min(sides[1].turn, sides[2].turn));
    const float rim2 = 1 - h * h;
    if (least < 0 && least * least >= rim2) return 0;
    const kernel_plane on = kernel_plane_make(kernel, h);
    if (least > 0 && least * least >= rim2) return 2 * KD_PI * on.sector;
    float sum = 0;
    for (int i = 0; i < 3; ++i) {
        const kernel_side *side = &sides[i];
        const float d = fabsf(side->turn);
        if (!(d > 1e-7f && side->length > 0)) continue;
        const float part = kernel_plane_side(&on, d, side->begin, side->begin + side->length);
        sum += side->turn < 0 ? -part : part;
    }
    return float_max(sum, 0);
}

#endif
