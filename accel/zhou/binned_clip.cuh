/* A box around a triangle's part on one side of a plane and in a box.
   Idea: the corners on that side and the points where edges cross the plane bound the part in the
   half-space; that box and the given one both hold the part, so their intersection does. The
   triangle's plane then bounds each coordinate by what is left of the other two. Half the
   operations of clipping against all six planes, for trees of the same cost.
   Invariants: never too small. A crossing is computed to within 2^-20 of the edge's coordinates, is
   widened by that much, and never leaves the edge's own interval, so flat stays flat. The plane's
   bounds are widened by 2^-20 of all that their sums are made of. */
#ifndef KD_ACCEL_ZHOU_BINNED_CLIP_CUH
#define KD_ACCEL_ZHOU_BINNED_CLIP_CUH
#include "accel/zhou/binned_state.cuh"

__device__ __forceinline__ void clip_axis(float from, float to, float s, float *lo, float *hi) {
    const float at = from + s * (to - from);
    const float off = fmaxf(fabsf(from), fabsf(to)) * 0x1p-20f;
    *lo = fminf(*lo, fmaxf(at - off, fminf(from, to)));
    *hi = fmaxf(*hi, fminf(at + off, fmaxf(from, to)));
}

/* Two vectors' term of a normal's coordinate, and what its rounding is in proportion to. */
__device__ __forceinline__ void normal_axis(float u, float v, float w, float x, float *normal,
                                            float *terms) {
    const float plus = u * x, minus = v * w;
    *normal = plus - minus;
    *terms = fabsf(plus) + fabsf(minus);
}

/* A coordinate x of the plane: normal (x - at) is between `least` and `most`. NaN bounds nothing.
 */
__device__ __forceinline__ void narrow_axis(float at, float normal, float least, float most,
                                            float *lo, float *hi) {
    const float inverse = __fdividef(1, normal), p = least * inverse, q = most * inverse;
    const float off = (fabsf(at) + fmaxf(fabsf(p), fabsf(q))) * 0x1p-20f;
    *lo = fmaxf(*lo, at + fminf(p, q) - off);
    *hi = fminf(*hi, at + fmaxf(p, q) + off);
}

/* Narrows a box that holds a part of the triangle: with n the normal and a the first corner, in the
   plane n_x (x - a_x) = -n_y (y - a_y) - n_z (z - a_z), which y and z bound. */
__device__ __forceinline__ void narrow_to_plane(const float4 corner[3], float4 *lo, float4 *hi) {
    const float4 a = corner[0], b = corner[1], c = corner[2];
    const float bx = b.x - a.x, by = b.y - a.y, bz = b.z - a.z;
    const float cx = c.x - a.x, cy = c.y - a.y, cz = c.z - a.z;
    float nx, ny, nz, tx, ty, tz;
    normal_axis(by, bz, cy, cz, &nx, &tx);
    normal_axis(bz, bx, cz, cx, &ny, &ty);
    normal_axis(bx, by, cx, cy, &nz, &tz);
    const float x0 = lo->x - a.x, y0 = lo->y - a.y, z0 = lo->z - a.z;
    const float x1 = hi->x - a.x, y1 = hi->y - a.y, z1 = hi->z - a.z;
    const float reach_x = fmaxf(fabsf(x0), fabsf(x1)), reach_y = fmaxf(fabsf(y0), fabsf(y1)),
                reach_z = fmaxf(fabsf(z0), fabsf(z1));
    const float off = (tx * reach_x + ty * reach_y + tz * reach_z) * 0x1p-20f;
    /* not where what underflows could be more than `off`, or a reciprocal be taken for 0 */
    if (!(off > 1e-30f * (1 + reach_x + reach_y + reach_z) && tx + ty + tz < 0x1p120f)) return;
    const float px = nx * x0, qx = nx * x1, py = ny * y0, qy = ny * y1, pz = nz * z0, qz = nz * z1;
    const float least_x = fminf(px, qx), least_y = fminf(py, qy), least_z = fminf(pz, qz);
    const float most_x = fmaxf(px, qx), most_y = fmaxf(py, qy), most_z = fmaxf(pz, qz);
    narrow_axis(a.x, nx, -(most_y + most_z) - off, off - (least_y + least_z), &lo->x, &hi->x);
    narrow_axis(a.y, ny, -(most_z + most_x) - off, off - (least_z + least_x), &lo->y, &hi->y);
    narrow_axis(a.z, nz, -(most_x + most_y) - off, off - (least_x + least_y), &lo->z, &hi->z);
}

/* `part`, cut already at the plane, shrinks to the triangle's part in it. */
__device__ __noinline__ clipped clip_half(const float4 *corners, int axis, float plane, bool right,
                                          clipped part) {
    const float4 corner[3] = {__ldg(corners), __ldg(corners + 1), __ldg(corners + 2)};
    float4 lo = make_float4(INFINITY, INFINITY, INFINITY, 0);
    float4 hi = make_float4(-INFINITY, -INFINITY, -INFINITY, 0);
#pragma unroll
    for (int e = 0; e < 3; ++e) {
        const float4 p = corner[e], q = corner[e == 2 ? 0 : e + 1];
        const float cp = pick4(p, axis), cq = pick4(q, axis);
        if (right ? cp >= plane : cp <= plane) {
            lo = make_float4(fminf(lo.x, p.x), fminf(lo.y, p.y), fminf(lo.z, p.z), 0);
            hi = make_float4(fmaxf(hi.x, p.x), fmaxf(hi.y, p.y), fmaxf(hi.z, p.z), 0);
        }
        if ((cp < plane && cq > plane) || (cp > plane && cq < plane)) {
            const float s = __fdividef(plane - cp, cq - cp);
            clip_axis(p.x, q.x, s, &lo.x, &hi.x);
            clip_axis(p.y, q.y, s, &lo.y, &hi.y);
            clip_axis(p.z, q.z, s, &lo.z, &hi.z);
        }
    }
    lo = make_float4(fmaxf(lo.x, part.lo.x), fmaxf(lo.y, part.lo.y), fmaxf(lo.z, part.lo.z),
                     part.lo.w);
    hi = make_float4(fminf(hi.x, part.hi.x), fminf(hi.y, part.hi.y), fminf(hi.z, part.hi.z), 0);
    narrow_to_plane(corner, &lo, &hi);
    /* nothing is left of a part whose box was wide: it keeps that box */
    if (lo.x <= hi.x && lo.y <= hi.y && lo.z <= hi.z) {
        part.lo = lo;
        part.hi = hi;
    }
    return part;
}

/* One side's part of a reference that straddles the plane. */
__device__ __forceinline__ clipped clip_side(const binned &k, clipped ref, int axis, float plane,
                                             bool right) {
    if (right)
        put4(&ref.lo, axis, plane);
    else
        put4(&ref.hi, axis, plane);
    return clip_half(k.corners + 3 * (uint64_t)__float_as_uint(ref.lo.w), axis, plane, right, ref);
}

#endif
