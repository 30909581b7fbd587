/* One triangle and one ray.
   Source: Woop, Benthin, Wald 2013, "Watertight ray/triangle intersection", JCGT 2(1).
   Idea: shear space so that the ray runs along one axis; the signs of three 2D edge functions then
   say whether the triangle is met. Two triangles that share an edge compute its function from the
   same numbers, so no ray slips between them; a function that is zero is computed again in double,
   where the products are exact.
   No length is compared with a constant: scaling the scene by a power of two changes no answer.
   Differs from the paper in: edge functions that leave the comfortable range of float are computed
   again in double too (coordinates of 1e-30 and 1e30 work); a hit on a triangle seen nearly edge-on
   gets its t from double arithmetic; no culling by facing.
   Must be compiled without contraction: a fused a b - c d breaks the symmetry of shared edges.
   How far a hit may be off. Let e = 2^-24, D the largest distance along an axis from the origin to
   a corner, and let every hit name a point P of the triangle, the mean of its corners by exact
   weights that are not negative:
   - Signs are sure. Rounding keeps order, so fl(fl(a b) - fl(c d)) is never on the wrong side of
     zero, and what is zero is asked in double. So signs are those of the sheared corners as
   rounded, and a hit has weights of these, all of one sign. Their rounding is at most e (|p - o| +
   3 |s z| + |x|) <= 6 e D an axis, and so is that of their mean: the point P with these weights
   lies within 6 e D of the ray, its z being exact.
   - In float, where |sum| of the weights > wide high / 8, wide and high being the largest |x| and
     |y| of the sheared corners: a weight is off by 2 e wide high, all three weights over the
     sum by 96 e, so z by 48 e of the corners' spread (2 D) and some 6 e D of its own products:
     t |largest of direction| is within 102 e D of P's z.
   - Else in double from the corners themselves, weights of the wrong sign taken for zero. That is
     the exact hit, and P, if there is one; but a needle that is thinner than the rounding of its
     corners has weights that are all noise, or of which the largest is the wrong one: what is left
     may be a point anywhere along it. So it counts only if it lies within 6 e D of the ray.
   - Else in double with the weights of the rounded corners. Their products are exact there, so each
     has a relative error of 2^-53 however thin the needle: that is P as above.
   So P lies within 6 e D of the ray beside it and 104 e D along it of where t says: a walk that
   visits every cell that the ray passes that near to (walk.h) loses no hit, whatever the
   tree, for what is a hit depends on ray and triangle only. */
#ifndef KD_ACCEL_TREE_TRIANGLE_H
#define KD_ACCEL_TREE_TRIANGLE_H
#include "core/math/geometry.h"

/* A ray prepared for many triangles. */
typedef struct triangle_caster {
    vec3 origin, direction;
    int kx, ky, kz; /* kz: the direction's largest component */
    float sx, sy, sz;
} triangle_caster;

KD_FN triangle_caster triangle_caster_make(ray cast) {
    const vec3 d = cast.direction;
    const float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z);
    triangle_caster caster;
    caster.origin = cast.origin;
    caster.direction = d;
    caster.kz = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
    caster.kx = caster.kz == 2 ? 0 : caster.kz + 1;
    caster.ky = caster.kx == 2 ? 0 : caster.kx + 1;
    const float along = vec3_axis(d, caster.kz);
    caster.sx = vec3_axis(d, caster.kx) / along;
    caster.sy = vec3_axis(d, caster.ky) / along;
    caster.sz = 1 / along;
    return caster;
}

/* From barycentric weights that add up to anything but 0: t, and the weights of the second and the
   third corner in a sum of 1. */
KD_FN void triangle_weigh(const double weight[3], const double z[3], double along, float *t,
                          float *u, float *v) {
    const double sum = weight[0] + weight[1] + weight[2];
    *t = (float)((weight[0] * z[0] + weight[1] * z[1] + weight[2] * z[2]) / (sum * along));
    *u = (float)(weight[1] / sum);
    *v = (float)(weight[2] / sum);
}

/* t and weights in double for a hit already decided on, seen edge-on or of numbers far from 1.
   `rounded`: its weights by the corners as rounded. Weights of the corners themselves that turn out
   to have another sign than the sum were rounding: they become zero. */
KD_FN void triangle_meet_exactly(const triangle_caster *caster, vec3 a, vec3 b, vec3 c,
                                 const double rounded[3], float *t, float *u, float *v) {
    const vec3 corner[3] = {a, b, c};
    const double along = (double)vec3_axis(caster->direction, caster->kz);
    const double sx = (double)vec3_axis(caster->direction, caster->kx) / along;
    const double sy = (double)vec3_axis(caster->direction, caster->ky) / along;
    double x[3], y[3], z[3], weight[3], reach = 0;
    for (int i = 0; i < 3; ++i) {
        z[i] = (double)vec3_axis(corner[i], caster->kz) -
               (double)vec3_axis(caster->origin, caster->kz);
        x[i] = (double)vec3_axis(corner[i], caster->kx) -
               (double)vec3_axis(caster->origin, caster->kx);
        y[i] = (double)vec3_axis(corner[i], caster->ky) -
               (double)vec3_axis(caster->origin, caster->ky);
        reach = fmax(reach, fmax(fabs(x[i]), fmax(fabs(y[i]), fabs(z[i]))));
        x[i] -= sx * z[i];
        y[i] -= sy * z[i];
    }
    weight[0] = x[2] * y[1] - y[2] * x[1];
    weight[1] = x[0] * y[2] - y[0] * x[2];
    weight[2] = x[1] * y[0] - y[1] * x[0];
    const double sign = weight[0] + weight[1] + weight[2] < 0 ? -1.0 : 1.0;
    double sum = 0, off_x = 0, off_y = 0;
    for (int i = 0; i < 3; ++i) {
        weight[i] = weight[i] * sign > 0 ? weight[i] * sign : 0;
        sum += weight[i];
        off_x += weight[i] * x[i];
        off_y += weight[i] * y[i];
    }
    const double near = 0x1.8p-22 * reach * sum;
    const bool beside = sum > 0 && fabs(off_x) <= near && fabs(off_y) <= near;
    triangle_weigh(beside ? weight : rounded, z, along, t, u, v);
}

/* Whether the line of the ray meets the triangle, at which t, with which weights u, v of the second
   and third corner. The caller compares t with its range. */
KD_FN bool triangle_meet(const triangle_caster *caster, vec3 a, vec3 b, vec3 c, float *t, float *u,
                         float *v) {
    const int kx = caster->kx, ky = caster->ky, kz = caster->kz;
    const vec3 from = caster->origin;
    const float ox = vec3_axis(from, kx), oy = vec3_axis(from, ky), oz = vec3_axis(from, kz);
    const float az = vec3_axis(a, kz) - oz, bz = vec3_axis(b, kz) - oz, cz = vec3_axis(c, kz) - oz;
    const float ax = vec3_axis(a, kx) - ox - caster->sx * az;
    const float ay = vec3_axis(a, ky) - oy - caster->sy * az;
    const float bx = vec3_axis(b, kx) - ox - caster->sx * bz;
    const float by = vec3_axis(b, ky) - oy - caster->sy * bz;
    const float cx = vec3_axis(c, kx) - ox - caster->sx * cz;
    const float cy = vec3_axis(c, ky) - oy - caster->sy * cz;
    const float wa = cx * by - cy * bx, wb = ax * cy - ay * cx, wc = bx * ay - by * ax;
    const float smallest = float_min(fabsf(wa), float_min(fabsf(wb), fabsf(wc)));
    const float largest = float_max(fabsf(wa), float_max(fabsf(wb), fabsf(wc)));
    const bool comfortable = smallest > 0x1p-80f && largest < 0x1p80f;
    if (comfortable) {
        if ((wa < 0 || wb < 0 || wc < 0) && (wa > 0 || wb > 0 || wc > 0)) return false;
        const float sum = wa + wb + wc, inverse = 1 / sum;
        *u = wb * inverse;
        *v = wc * inverse;
        *t = (wa * inverse * az + *u * bz + *v * cz) * caster->sz;
        const float wide = float_max(fabsf(ax), float_max(fabsf(bx), fabsf(cx)));
        const float high = float_max(fabsf(ay), float_max(fabsf(by), fabsf(cy)));
        if (fabsf(sum) > 0.125f * wide * high) return true; /* not seen edge-on */
    }
    /* products of floats are exact in double */
    const double rounded[3] = {(double)cx * (double)by - (double)cy * (double)bx,
                               (double)ax * (double)cy - (double)ay * (double)cx,
                               (double)bx * (double)ay - (double)by * (double)ax};
    if (!comfortable) {
        if ((rounded[0] < 0 || rounded[1] < 0 || rounded[2] < 0) &&
            (rounded[0] > 0 || rounded[1] > 0 || rounded[2] > 0))
            return false;
        if (!(fabs(rounded[0] + rounded[1] + rounded[2]) > 0)) return false;
    }
    triangle_meet_exactly(caster, a, b, c, rounded, t, u, v);
    return true;
}

/* Zero area as exactly as double arithmetic can tell: such a triangle is never hit. */
KD_FN bool triangle_is_degenerate(vec3 a, vec3 b, vec3 c) {
    const double ux = (double)b.x - (double)a.x, vx = (double)c.x - (double)a.x;
    const double uy = (double)b.y - (double)a.y, vy = (double)c.y - (double)a.y;
    const double uz = (double)b.z - (double)a.z, vz = (double)c.z - (double)a.z;
    return uy * vz == uz * vy && uz * vx == ux * vz && ux * vy == uy * vx;
}

KD_FN box3 triangle_box(vec3 a, vec3 b, vec3 c) {
    box3 box;
    box.lo = vec3_min(a, vec3_min(b, c));
    box.hi = vec3_max(a, vec3_max(b, c));
    return box;
}

KD_FN vec3 triangle_point(vec3 a, vec3 b, vec3 c, float u, float v) {
    return vec3_along(vec3_along(vec3_scale(a, 1 - u - v), u, b), v, c);
}

/* How far, along each axis, triangle_point may lie off the triangle's plane, plus what the next
   ray's test against the same triangle may be off: 32 units of the last place of the largest
   coordinate involved (interpolation takes 5, the offset 1, the next test 10 in the worst case). */
KD_FN float triangle_point_error(vec3 a, vec3 b, vec3 c) {
    const box3 box = triangle_box(a, b, c);
    const float high = vec3_largest(vec3_max(box.hi, vec3_negate(box.lo)));
    return high * 0x1p-19f;
}

/* Origin of a ray that leaves `point` on a surface towards `direction`: pushed off the surface, to
   the side the direction points to, by just more than `error` (triangle_point_error), so that it
   cannot meet the surface that it leaves. `geometric_normal` is a unit vector, either side. */
KD_FN vec3 ray_leave(vec3 point, float error, vec3 geometric_normal, vec3 direction) {
    const vec3 n = geometric_normal;
    const float side = vec3_dot(n, direction) < 0 ? -1.0f : 1.0f;
    const float distance = error * (fabsf(n.x) + fabsf(n.y) + fabsf(n.z));
    return vec3_along(point, side * distance, n);
}

#endif
