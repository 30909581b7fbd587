/* Intersects a ray and a triangle in double arithmetic, to decide whether two libraries that
   compute in float may differ. For compare_embree. */
#ifndef KD_TOOLS_PEERS_JUDGE_RAY_H
#define KD_TOOLS_PEERS_JUDGE_RAY_H
#include "accel/tree/tritree.h"
#include "core/math/geometry.h"
#include <math.h>

typedef struct judgement {
    bool grazes;     /* so near an edge, or in the plane, that float results may differ */
    bool at_end;     /* hit so near an end of the ray that a float result may be outside */
    double rounding; /* possible difference of t in float: 32 units of the farthest vertex;
                        Kandela's bound is 6 */
} judgement;

static inline double judge_dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void judge_cross(double out[3], const double a[3], const double b[3]) {
    for (int k = 0; k < 3; ++k)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static inline judgement judge_ray(const tritree_input *input, uint32_t id, const ray *ray) {
    const uint32_t *index = input->triangles + 3 * (uint64_t)id;
    double corner[3][3], u[3], v[3], d[3], p[3], q[3], n[3], reach = 0;
    for (int k = 0; k < 3; ++k) {
        for (int c = 0; c < 3; ++c) {
            corner[c][k] = (double)vec3_axis(input->positions[index[c]], k) -
                           (double)vec3_axis(ray->origin, k);
            reach = fmax(reach, fabs(corner[c][k]));
        }
        u[k] = corner[1][k] - corner[0][k];
        v[k] = corner[2][k] - corner[0][k];
        d[k] = (double)vec3_axis(ray->direction, k);
    }
    judge_cross(p, d, v);
    judge_cross(q, u, corner[0]);
    judge_cross(n, u, v);
    const double det = judge_dot(u, p), b = -judge_dot(corner[0], p) / det;
    const double c = judge_dot(d, q) / det, t = judge_dot(v, q) / det;
    /* sine of the angle to the plane */
    const double steep = fabs(det) / sqrt(judge_dot(n, n) * judge_dot(d, d));
    const double shortest = sqrt(fmin(judge_dot(u, u), judge_dot(v, v)));
    const double rounding = 0x1p-19 * reach / (steep * sqrt(judge_dot(d, d)));
    const judgement judgement = {
        /* at a flat angle the error of the intersection grows by the inverse of the sine */
        !(steep > 1e-4) || fmin(fmin(b, c), 1 - b - c) < 1e-4 + 1e-6 * reach / (shortest * steep),
        fabs(t - (double)ray->tmin) <= rounding || fabs(t - (double)ray->tmax) <= rounding,
        rounding};
    return judgement;
}

#endif
