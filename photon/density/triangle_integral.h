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
   Work: three sides, at most four arcus tangents each, six and two logarithms for the cone.
   Invariants: within 2e-5 of the integral for triangles up to some radii large; never below 0.
   Units: lengths over the ball's radius. */
#ifndef KD_PHOTON_DENSITY_TRIANGLE_INTEGRAL_H
#define KD_PHOTON_DENSITY_TRIANGLE_INTEGRAL_H
#include "photon/density/photon_kernel.h"

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

/* The cone's part of the integral to a line at the distance d > 0 from the foot that is not flat:
   of the distance to the centre, from the foot's nearest place on the line to t. */
KD_FN float kernel_plane_cone(const kernel_plane *on, float d, float t) {
    const float h = on->h, a2 = h * h + d * d, s = sqrtf(a2 + t * t);
    const float along = 0.5f * t * s + (0.5f * a2 + h * h) * float_asinh(t / sqrtf(a2));
    const float turned = h > 0 ? float_atan2(h * t, d * s) - float_atan2(t, d) : 0;
    return (d * along + h * h * h * turned) / 3;
}

/* The integral over the triangle between the foot and a line's stretch from its place nearest to
   the foot, at the distance d > 0, to t along it; inside the disc. */
KD_FN float kernel_plane_to_line(const kernel_plane *on, float d, float t) {
    const float flat = 0.5f * d * t;
    switch (on->kernel) {
    case PHOTON_KERNEL_DISC: return flat;
    case PHOTON_KERNEL_CONE: return flat - kernel_plane_cone(on, d, t);
    case PHOTON_KERNEL_GAUSSIAN:
        return on->fade * photon_gaussian_to_line(d, t) + (1 - on->fade) * KERNEL_GAUSSIAN_A * flat;
    default: return on->rim2 * flat - 0.25f * d * (d * d * t + t * t * t / 3);
    }
}

/* The same for a side from `from` to `to` along a line at the distance d, wherever it runs. */
KD_FN float kernel_plane_side(const kernel_plane *on, float d, float from, float to) {
    float angle = float_atan2(to, d) - float_atan2(from, d), inside = 0;
    const float chord2 = on->rim2 - d * d;
    if (chord2 > 0) {
        const float chord = sqrtf(chord2);
        const float first = float_max(from, -chord), last = float_min(to, chord);
        if (first < last) {
            inside = kernel_plane_to_line(on, d, last) - kernel_plane_to_line(on, d, first);
            angle -= float_atan2(last, d) - float_atan2(first, d);
        }
    }
    return inside + on->sector * angle;
}

/* Over the triangle a, b, c about the ball's centre, whose unit normal is given. */
KD_FN float triangle_kernel_integral(int32_t kernel, vec3 a, vec3 b, vec3 c, vec3 normal) {
    const vec3 corner[3] = {a, b, c};
    const float height = vec3_dot(normal, a), h = fabsf(height);
    if (!(h < 1)) return 0;
    const kernel_plane on = kernel_plane_make(kernel, h);
    float sum = 0;
    for (int i = 0; i < 3; ++i) {
        const vec3 from = vec3_along(corner[i], -height, normal);
        const vec3 side = vec3_sub(corner[i < 2 ? i + 1 : 0], corner[i]);
        const float length = vec3_length(side);
        if (!(length > 0)) continue;
        const vec3 along = vec3_scale(side, 1 / length);
        const float turn = vec3_dot(normal, vec3_cross(from, along)), d = fabsf(turn);
        if (!(d > 1e-7f)) continue;
        const float begin = vec3_dot(from, along);
        const float part = kernel_plane_side(&on, d, begin, begin + length);
        sum += turn < 0 ? -part : part;
    }
    return float_max(sum, 0);
}

#endif
