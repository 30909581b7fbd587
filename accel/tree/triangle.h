/* Ray-triangle intersection.
   Source: Woop, Benthin, Wald 2013, "Watertight ray/triangle intersection", JCGT 2(1).
   Idea: shear space so that the ray runs along one axis. The signs of three 2D edge functions then
   decide whether the ray hits the triangle. Two triangles that share an edge compute its function
   from the same numbers, so no ray passes between them. An edge function that is zero is recomputed
   in double, where the products are exact. No length is compared with a constant, so scaling the
   scene by a power of two changes no result.
   Differs from the paper in: edge functions outside the safe exponent range of float are recomputed
   in double, too (coordinates of 1e-30 and 1e30 work); t of a triangle seen nearly edge-on is
   computed in double; there is no back-face culling.
   This file must be compiled without contraction: a fused a b - c d breaks the symmetry of shared
   edges.
   Error bounds. Let e = 2^-24 and D the largest distance along an axis from the origin to a corner.
   Each hit has a point P of the triangle: the mean of its corners with exact weights that are not
   negative.
   - Signs are certain. Rounding is monotonic, so fl(fl(a b) - fl(c d)) never has the wrong sign,
     and zeros are recomputed in double. So the signs are those of the sheared corners as rounded,
     and a hit has weights in terms of these, all of one sign. The corners' rounding error is at
     most e (|p - o| + 3 |s z| + |x|) <= 6 e D per axis, and so is that of their mean: the point P
     with these weights lies within 6 e D of the ray; its z is exact.
   - Float is used where |sum of the weights| > wide high / 8, wide and high being the largest |x|
     and |y| of the sheared corners. A weight has an error of 2 e wide high, and all three weights
     divided by the sum one of 96 e; so z has an error of 48 e of the corners' spread (2 D) and some
     6 e D from its own products: t |largest component of the direction| is within 102 e D of P's z.
   - Otherwise double is used with the original corners, and weights of the wrong sign are clamped
     to zero. That gives the exact hit and P, if there is one. But a needle thinner than the
     rounding of its corners has weights that are pure noise, or whose largest one is wrong, and the
     result may be a point anywhere along the needle. So it is accepted only if it lies within 6 e D
     of the ray.
   - Otherwise double is used with the weights of the rounded corners. Their products are exact, so
     each weight has a relative error of 2^-53 however thin the needle is; P is as above.
   So P lies within 6 e D of the ray perpendicular to it, and within 104 e D of t along it. A
   traversal that visits every cell within these bounds of the ray (walk.h) finds every hit,
   whatever the tree, because a hit depends only on the ray and the triangle. */
#ifndef KD_ACCEL_TREE_TRIANGLE_H
#define KD_ACCEL_TREE_TRIANGLE_H
#include "core/math/geometry.h"

/* A ray with the terms that do not depend on the triangle. */
typedef struct precomputed_ray {
    vec3 origin, direction;
    int kx, ky, kz; /* kz: axis of the direction's largest component */
    float sx, sy, sz;
} precomputed_ray;

KD_FN precomputed_ray precomputed_ray_make(ray ray) {
    const vec3 d = ray.direction;
    const float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z);
    precomputed_ray precomputed;
    precomputed.origin = ray.origin;
    precomputed.direction = d;
    precomputed.kz = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
    precomputed.kx = precomputed.kz == 2 ? 0 : precomputed.kz + 1;
    precomputed.ky = precomputed.kx == 2 ? 0 : precomputed.kx + 1;
    const float along = vec3_axis(d, precomputed.kz);
    precomputed.sx = vec3_axis(d, precomputed.kx) / along;
    precomputed.sy = vec3_axis(d, precomputed.ky) / along;
    precomputed.sz = 1 / along;
    return precomputed;
}

/* Computes t and the barycentric coordinates of the second and third corner from weights whose sum
   is not 0. */
KD_FN void triangle_weigh(const double weight[3], const double z[3], double along, float *t,
                          float *u, float *v) {
    const double sum = weight[0] + weight[1] + weight[2];
    *t = (float)((weight[0] * z[0] + weight[1] * z[1] + weight[2] * z[2]) / (sum * along));
    *u = (float)(weight[1] / sum);
    *v = (float)(weight[2] / sum);
}

/* Computes t, u and v in double, for a triangle that is certainly hit and is seen edge-on or has
   numbers outside the safe range. `rounded`: the weights of the corners as rounded. Weights of the
   original corners whose sign differs from that of the sum are rounding errors and become zero. */
KD_FN void triangle_intersect_exactly(const precomputed_ray *precomputed, vec3 a, vec3 b, vec3 c,
                                      const double rounded[3], float *t, float *u, float *v) {
    const vec3 corner[3] = {a, b, c};
    const double along = (double)vec3_axis(precomputed->direction, precomputed->kz);
    const double sx = (double)vec3_axis(precomputed->direction, precomputed->kx) / along;
    const double sy = (double)vec3_axis(precomputed->direction, precomputed->ky) / along;
    double x[3], y[3], z[3], weight[3], reach = 0;
    for (int i = 0; i < 3; ++i) {
        z[i] = (double)vec3_axis(corner[i], precomputed->kz) -
               (double)vec3_axis(precomputed->origin, precomputed->kz);
        x[i] = (double)vec3_axis(corner[i], precomputed->kx) -
               (double)vec3_axis(precomputed->origin, precomputed->kx);
        y[i] = (double)vec3_axis(corner[i], precomputed->ky) -
               (double)vec3_axis(precomputed->origin, precomputed->ky);
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
    const bool is_near = sum > 0 && fabs(off_x) <= near && fabs(off_y) <= near;
    triangle_weigh(is_near ? weight : rounded, z, along, t, u, v);
}

/* Intersects the line of the ray with the triangle. Returns true if it hits; *t is the position on
   the line, *u and *v are the barycentric coordinates of the second and third corner. The caller
   checks t against the ray's interval. */
KD_FN bool triangle_intersect(const precomputed_ray *precomputed, vec3 a, vec3 b, vec3 c, float *t,
                              float *u, float *v) {
    const int kx = precomputed->kx, ky = precomputed->ky, kz = precomputed->kz;
    const vec3 from = precomputed->origin;
    const float ox = vec3_axis(from, kx), oy = vec3_axis(from, ky), oz = vec3_axis(from, kz);
    const float az = vec3_axis(a, kz) - oz, bz = vec3_axis(b, kz) - oz, cz = vec3_axis(c, kz) - oz;
    const float ax = vec3_axis(a, kx) - ox - precomputed->sx * az;
    const float ay = vec3_axis(a, ky) - oy - precomputed->sy * az;
    const float bx = vec3_axis(b, kx) - ox - precomputed->sx * bz;
    const float by = vec3_axis(b, ky) - oy - precomputed->sy * bz;
    const float cx = vec3_axis(c, kx) - ox - precomputed->sx * cz;
    const float cy = vec3_axis(c, ky) - oy - precomputed->sy * cz;
    const float wa = cx * by - cy * bx, wb = ax * cy - ay * cx, wc = bx * ay - by * ax;
    const float smallest = float_min(fabsf(wa), float_min(fabsf(wb), fabsf(wc)));
    const float largest = float_max(fabsf(wa), float_max(fabsf(wb), fabsf(wc)));
    const bool comfortable = smallest > 0x1p-80f && largest < 0x1p80f;
    if (comfortable) {
        if ((wa < 0 || wb < 0 || wc < 0) && (wa > 0 || wb > 0 || wc > 0)) return false;
        const float sum = wa + wb + wc, inverse = 1 / sum;
        *u = wb * inverse;
        *v = wc * inverse;
        *t = (wa * inverse * az + *u * bz + *v * cz) * precomputed->sz;
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
    triangle_intersect_exactly(precomputed, a, b, c, rounded, t, u, v);
    return true;
}

/* Returns true if the triangle has zero area to the accuracy of double arithmetic. Such a triangle
   is never hit. */
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

/* Returns, per axis, an upper bound of the distance of triangle_point from the triangle's plane
   plus the error of the next ray's test against the same triangle: 32 units in the last place of
   the largest coordinate involved (in the worst case interpolation has 5, the offset 1 and the next
   test 10). */
KD_FN float triangle_point_error(vec3 a, vec3 b, vec3 c) {
    const box3 box = triangle_box(a, b, c);
    const float high = vec3_largest(vec3_max(box.hi, vec3_negate(box.lo)));
    return high * 0x1p-19f;
}

/* Returns the origin of a ray that leaves `point` on a surface towards `direction`: offset along
   the normal, to the side of `direction`, by just more than `error` (triangle_point_error), so that
   the ray cannot hit the surface that it leaves. `geometric_normal` is a unit vector of either
   side. */
KD_FN vec3 ray_leave(vec3 point, float error, vec3 geometric_normal, vec3 direction) {
    const vec3 n = geometric_normal;
    const float side = vec3_dot(n, direction) < 0 ? -1.0f : 1.0f;
    const float distance = error * (fabsf(n.x) + fabsf(n.y) + fabsf(n.z));
    return vec3_along(point, side * distance, n);
}

#endif
