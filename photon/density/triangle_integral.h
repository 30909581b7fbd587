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

/* Lines nearer to the foot are taken for lines through it. */
#define KERNEL_LINE_LOW 1e-7f
/* Feet nearer to a corner: there the angles of its sides are not sure to make a whole turn. */
#define KERNEL_CORNER 1e-3f

/* The angle at the foot between two places of a line at the distance d > 0 from it. */
KD_FN float kernel_plane_angle(float d, float from, float to) {
    return float_atan2(d * (to - from), d * d + from * to);
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
    const float angle = within && !kernel_plane_bent(on) ? 0 : kernel_plane_angle(d, first, last);
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
KD_FN float triangle_kernel_integral(photon_kernel kernel, vec3 a, vec3 b, vec3 c, vec3 normal) {
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
