/* A kernel's integral over a triangle, as far as the triangle lies in the kernel's ball: closed
   forms.
   Idea: the triangle's plane cuts the ball in a disc about the foot of its centre. Each side of the
         triangle, with the foot, spans a triangle of the plane, counted with the sign of its turn;
         the angles of the three make a whole turn about a foot that lies within, else none. So the
         integral is that over the whole disc, or 0, less what lies in the disc beyond each side
         that cuts it: a sector less the triangle to the chord. With the height h of the centre over
         the plane, a place at the distance p from the foot weighs K(sqrt(h^2 + p^2)); out to p
         that integrates, a radian, to a function of p alone, whose integral over the angle along a
         line is elementary for each kernel (the Gaussian's by its series).
   Source: no paper; at h = 0 a plane's sectors, as in photon_kernel.h.
   Work: nothing where no side cuts the disc; for each side that does an arcus tangent, for the cone
         two and a logarithm.
   Invariants: within 2e-5 of the integral for triangles up to some radii large; never below 0.
   Units: lengths over the ball's radius. */
#ifndef KD_PHOTON_DENSITY_TRIANGLE_INTEGRAL_H
#define KD_PHOTON_DENSITY_TRIANGLE_INTEGRAL_H
#include "photon/density/photon_kernel.h"

/* Planes nearer to the centre are taken for planes through it where that is cheaper: below 1e-7. */
#define KERNEL_PLANE_LOW 0.004f
/* Lines nearer to the foot are taken for lines through it. */
#define KERNEL_LINE_LOW 1e-7f
/* Feet nearer to a corner: there the angles of its sides are not sure to make a whole turn. */
#define KERNEL_CORNER 1e-3f

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
   of the distance to the centre, over a stretch of the line that the foot sees under an angle. */
KD_FN float kernel_plane_cone(const kernel_plane *on, float d, float from, float to, float angle) {
    const float h = on->h, a2 = h * h + d * d;
    const float s0 = sqrtf(a2 + from * from), s1 = sqrtf(a2 + to * to);
    const float ratio = kernel_plane_sum(a2, to, s1) / kernel_plane_sum(a2, from, s0);
    float sum = d * (0.5f * (to * s1 - from * s0) + (0.5f * a2 + h * h) * float_log(ratio));
    if (h > KERNEL_PLANE_LOW) {
        const float turned =
            float_atan2(h * d * (to * s0 - from * s1), d * d * s0 * s1 + h * h * from * to);
        sum += h * h * h * (turned - angle);
    }
    return sum / 3;
}

/* The integral over the triangle between the foot and a line's stretch at the distance d > 0 from
   it, seen under an angle; inside the disc. */
KD_FN float kernel_plane_to_line(const kernel_plane *on, float d, float from, float to,
                                 float angle) {
    const float flat = 0.5f * d * (to - from);
    switch (on->kernel) {
    case PHOTON_KERNEL_DISC: return flat;
    case PHOTON_KERNEL_CONE: return flat - kernel_plane_cone(on, d, from, to, angle);
    case PHOTON_KERNEL_GAUSSIAN:
        return on->fade * (photon_gaussian_to_line(d, to) - photon_gaussian_to_line(d, from)) +
               (1 - on->fade) * KERNEL_GAUSSIAN_A * flat;
    default:
        return on->rim2 * flat -
               0.25f * d * (d * d * (to - from) + (to * to * to - from * from * from) / 3);
    }
}

/* The sector of the disc that a side from `from` to `to` at the distance d subtends, less the
   triangle between the foot and what of the side lies in the disc. `within`: all of the triangle
   lies in the disc, and sectors, which make none or the whole, are left out. */
KD_FN float kernel_plane_beyond(const kernel_plane *on, bool within, float d, float from,
                                float to) {
    const float chord2 = on->rim2 - d * d;
    if (!(chord2 > 0)) return 0;
    const float chord = sqrtf(chord2);
    const float first = within ? from : float_max(from, -chord);
    const float last = within ? to : float_min(to, chord);
    if (!(first < last)) return 0;
    const bool bent = on->kernel == PHOTON_KERNEL_CONE && on->h > KERNEL_PLANE_LOW;
    const float angle = within && !bent ? 0 : kernel_plane_angle(d, first, last);
    const float sector = within ? 0 : on->sector * angle;
    return d > KERNEL_LINE_LOW ? sector - kernel_plane_to_line(on, d, first, last, angle) : sector;
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
    const float near2 = KERNEL_CORNER * KERNEL_CORNER;
    const bool within = vec3_length2(a) <= 1 && vec3_length2(b) <= 1 && vec3_length2(c) <= 1;
    bool corner = false;
    for (int i = 0; i < 3; ++i)
        corner |= sides[i].begin * sides[i].begin + sides[i].turn * sides[i].turn < near2;
    float sum = !within && !corner && least >= 0 ? 2 * KD_PI * on.sector : 0;
    for (int i = 0; i < 3; ++i) {
        const kernel_side *side = &sides[i];
        const float d = fabsf(side->turn), from = side->begin, to = from + side->length;
        float beyond = kernel_plane_beyond(&on, within, d, from, to);
        if (corner && !within)
            beyond = d > KERNEL_LINE_LOW ? beyond - on.sector * kernel_plane_angle(d, from, to) : 0;
        sum += side->turn < 0 ? beyond : -beyond;
    }
    return float_max(sum, 0);
}

#endif
