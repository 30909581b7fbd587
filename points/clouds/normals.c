/* Normals by the covariances of neighbours.
   Source: the eigenvalues of a symmetric 3x3 matrix in closed form: Smith 1961; the order of steps
           that stays accurate for nearly equal eigenvalues: Eberly, "A Robust Eigensolver for 3x3
           Symmetric Matrices", 2014
   Idea: the eigenvalue that is farthest from the other two is well conditioned, and so is its
         eigenvector. If it is the least, its eigenvector is the normal; else the normal is found in
         the plane orthogonal to it, where a 2x2 matrix is left. */
#include "core/math/platform.h"
#include "core/parallel/parallel.h"
#include "points/clouds/clouds.h"
#include <stdatomic.h>

enum { NORMAL_GRAIN = 1 << 10 };
#define THIRD_TURN 2.0943951023931954923

typedef struct normal_work {
    const point_array *points, *queries;
    const uint32_t *ids;
    uint32_t k;
    const double *toward;
    void *normals;
    atomic_bool invalid;
} normal_work;

/* Upper triangle: xx, xy, xz, yy, yz, zz. */
typedef struct symmetric {
    double xx, xy, xz, yy, yz, zz;
} symmetric;

static void cross_of(const double *a, const double *b, double *out) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot_of(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void unit_of(double *v) {
    const double length = sqrt(dot_of(v, v));
    for (int axis = 0; axis < 3; ++axis) v[axis] /= length;
}

/* The unit eigenvector of `value`: all rows of m - value are orthogonal to it. */
static void eigenvector_of(const symmetric *m, double value, double *out) {
    const double rows[3][3] = {{m->xx - value, m->xy, m->xz},
                               {m->xy, m->yy - value, m->yz},
                               {m->xz, m->yz, m->zz - value}};
    double longest = -1;
    for (int i = 0; i < 3; ++i) {
        double v[3];
        cross_of(rows[i], rows[(i + 1) % 3], v);
        const double length2 = dot_of(v, v);
        if (length2 <= longest) continue;
        longest = length2;
        for (int axis = 0; axis < 3; ++axis) out[axis] = v[axis];
    }
    unit_of(out);
}

/* Replaces `v`, the eigenvector of the greatest eigenvalue, by that of the least. */
static void least_across(const symmetric *m, double *v) {
    double u[3], w[3], mu[3], mw[3];
    if (fabs(v[0]) > fabs(v[1]))
        u[0] = -v[2], u[1] = 0, u[2] = v[0];
    else
        u[0] = 0, u[1] = v[2], u[2] = -v[1];
    unit_of(u);
    cross_of(v, u, w);
    const double rows[3][3] = {{m->xx, m->xy, m->xz}, {m->xy, m->yy, m->yz}, {m->xz, m->yz, m->zz}};
    for (int axis = 0; axis < 3; ++axis) {
        mu[axis] = dot_of(rows[axis], u);
        mw[axis] = dot_of(rows[axis], w);
    }
    const double a = dot_of(u, mu), b = dot_of(u, mw), d = dot_of(w, mw);
    const double half = 0.5 * (a - d), root = sqrt(half * half + b * b);
    const double x = root > 0 ? (half >= 0 ? -b : root - half) : 1,
                 y = root > 0 ? (half >= 0 ? half + root : -b) : 0;
    for (int axis = 0; axis < 3; ++axis) v[axis] = x * u[axis] + y * w[axis];
    unit_of(v);
}

/* The unit eigenvector of the least eigenvalue. */
static void least_direction(symmetric m, double *out) {
    const double mean = (m.xx + m.yy + m.zz) / 3;
    out[0] = 1, out[1] = out[2] = 0;
    m.xx -= mean, m.yy -= mean, m.zz -= mean;
    const double off2 = m.xy * m.xy + m.xz * m.xz + m.yz * m.yz;
    const double size = sqrt((m.xx * m.xx + m.yy * m.yy + m.zz * m.zz + 2 * off2) / 6);
    if (!(size > 0)) return;
    m.xx /= size, m.xy /= size, m.xz /= size, m.yy /= size, m.yz /= size, m.zz /= size;
    const double determinant = m.xx * (m.yy * m.zz - m.yz * m.yz) -
                               m.xy * (m.xy * m.zz - m.yz * m.xz) +
                               m.xz * (m.xy * m.yz - m.yy * m.xz);
    const double cosine = 0.5 * determinant;
    const double angle = acos(cosine < -1 ? -1 : cosine > 1 ? 1 : cosine) / 3;
    eigenvector_of(&m, 2 * cos(cosine < 0 ? angle + THIRD_TURN : angle), out);
    if (cosine >= 0) least_across(&m, out);
}

/* Computes the covariances of the neighbours relative to the first, so that no digits are lost far
   from the origin, and scaled to at most 1 per coordinate. Returns false for an invalid id. */
static bool covariances(const normal_work *work, const uint32_t *ids, symmetric *out) {
    const point_array *points = work->points;
    double mean[3] = {0}, first[3] = {0}, largest = 0;
    uint32_t count = 0;
    *out = (symmetric){0};
    for (uint32_t j = 0; j < work->k; ++j) {
        if (ids[j] == KD_NONE) continue;
        if (ids[j] >= points->count) return false;
        const void *at = point_array_at(points, ids[j]);
        for (uint32_t axis = 0; axis < 3; ++axis) {
            const double x = point_coordinate(at, points->scalar, axis);
            if (!count) first[axis] = x;
            const double d = x - first[axis];
            mean[axis] += d;
            largest = fabs(d) > largest ? fabs(d) : largest;
        }
        ++count;
    }
    if (!(largest > 0)) return true;
    for (int axis = 0; axis < 3; ++axis) mean[axis] /= count;
    for (uint32_t j = 0; j < work->k; ++j) {
        if (ids[j] == KD_NONE) continue;
        const void *at = point_array_at(points, ids[j]);
        double d[3];
        for (uint32_t axis = 0; axis < 3; ++axis)
            d[axis] =
                (point_coordinate(at, points->scalar, axis) - first[axis] - mean[axis]) / largest;
        out->xx += d[0] * d[0], out->xy += d[0] * d[1], out->xz += d[0] * d[2];
        out->yy += d[1] * d[1], out->yz += d[1] * d[2], out->zz += d[2] * d[2];
    }
    return true;
}

static void normals_fill(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    normal_work *work = (normal_work *)context;
    const point_scalar scalar = work->queries->scalar;
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; ++i) {
        symmetric matrix;
        double n[3], side = 0;
        if (!covariances(work, work->ids + i * work->k, &matrix)) {
            atomic_store(&work->invalid, true);
            return;
        }
        least_direction(matrix, n);
        for (int axis = 0; scalar == POINT_FLOAT && axis < 3; ++axis)
            n[axis] = (double)(float)n[axis];
        if (work->toward) {
            const void *at = point_array_at(work->queries, i);
            for (uint32_t axis = 0; axis < 3; ++axis)
                side += (work->toward[axis] - point_coordinate(at, scalar, axis)) * n[axis];
        } else {
            for (int axis = 0; axis < 3; ++axis) side = fabs(n[axis]) > fabs(side) ? n[axis] : side;
        }
        for (uint64_t axis = 0; axis < 3; ++axis) {
            const double x = side < 0 ? -n[axis] : n[axis];
            if (scalar == POINT_DOUBLE)
                ((double *)work->normals)[3 * i + axis] = x;
            else
                ((float *)work->normals)[3 * i + axis] = (float)x;
        }
    }
}

kd_status cloud_normals(const point_array *points, const point_array *queries, const uint32_t *ids,
                        uint32_t k, const double *toward, void *normals) {
    normal_work work = {points, queries, ids, k, toward, normals, false};
    KD_TRY(parallel_for_stage("query", (int64_t)queries->count, NORMAL_GRAIN, normals_fill, &work));
    KD_REQUIRE(!atomic_load(&work.invalid), KD_ERROR_INPUT,
               "`ids` has values that are not indices of the points");
    return KD_OK;
}
