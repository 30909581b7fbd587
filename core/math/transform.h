/* Affine transforms in double precision: p' = M p + t, stored as three rows of (M | t). */
#ifndef KD_CORE_MATH_TRANSFORM_H
#define KD_CORE_MATH_TRANSFORM_H
#include "core/math/geometry.h"

typedef struct transform {
    double m[3][4];
} transform;

transform transform_identity(void);
transform transform_translate(vec3 by);
transform transform_scale(vec3 by);
/* Rotates counter-clockwise as seen from the tip of the axis. */
transform transform_rotate(vec3 axis, double degrees);
transform transform_compose(const transform *last, const transform *first);
/* Returns an upper bound of the ratio of the largest to the smallest singular value: the product of
   the Frobenius norms of M and its inverse. */
double transform_anisotropy(const transform *transform);

/* Computes the cofactor matrix, which is the determinant times the inverse transpose. */
KD_FN void transform_cofactors(const transform *transform, double c[3][3]) {
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const int r = (i + 1) % 3, s = (i + 2) % 3, p = (j + 1) % 3, q = (j + 2) % 3;
            c[i][j] =
                transform->m[r][p] * transform->m[s][q] - transform->m[r][q] * transform->m[s][p];
        }
}

KD_FN double transform_determinant(const transform *transform) {
    double c[3][3];
    transform_cofactors(transform, c);
    return transform->m[0][0] * c[0][0] + transform->m[0][1] * c[0][1] +
           transform->m[0][2] * c[0][2];
}

KD_FN vec3 transform_point(const transform *transform, vec3 point) {
    const double x = (double)point.x, y = (double)point.y, z = (double)point.z;
    double to[3];
    for (int row = 0; row < 3; ++row)
        to[row] = transform->m[row][0] * x + transform->m[row][1] * y + transform->m[row][2] * z +
                  transform->m[row][3];
    return vec3_make((float)to[0], (float)to[1], (float)to[2]);
}

/* Transforms a vector, of any length. */
KD_FN vec3 transform_direction(const transform *transform, vec3 direction) {
    const double x = (double)direction.x, y = (double)direction.y, z = (double)direction.z;
    double to[3];
    for (int row = 0; row < 3; ++row)
        to[row] = transform->m[row][0] * x + transform->m[row][1] * y + transform->m[row][2] * z;
    return vec3_make((float)to[0], (float)to[1], (float)to[2]);
}

/* Transforms a unit normal by the inverse transpose and normalises it; a mirroring does not flip
   it. */
KD_FN vec3 transform_normal(const transform *transform, vec3 normal) {
    double c[3][3], to[3], largest = 0;
    transform_cofactors(transform, c);
    const double side = transform_determinant(transform) < 0 ? -1 : 1;
    for (int row = 0; row < 3; ++row) {
        to[row] = side * (c[row][0] * (double)normal.x + c[row][1] * (double)normal.y +
                          c[row][2] * (double)normal.z);
        largest = fmax(largest, fabs(to[row]));
    }
    if (!(largest > 0)) return vec3_all(0);
    return vec3_normalize(
        vec3_make((float)(to[0] / largest), (float)(to[1] / largest), (float)(to[2] / largest)));
}

#endif
