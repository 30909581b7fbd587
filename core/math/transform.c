#include "core/math/transform.h"

transform transform_identity(void) {
    const transform made = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    return made;
}

transform transform_translate(vec3 by) {
    transform made = transform_identity();
    made.m[0][3] = (double)by.x;
    made.m[1][3] = (double)by.y;
    made.m[2][3] = (double)by.z;
    return made;
}

transform transform_scale(vec3 by) {
    transform made = transform_identity();
    made.m[0][0] = (double)by.x;
    made.m[1][1] = (double)by.y;
    made.m[2][2] = (double)by.z;
    return made;
}

/* Rodrigues' rotation formula: cos I + (1 - cos) a a^T + sin [a]x. Multiples of 90 degrees are
   exact. */
transform transform_rotate(vec3 axis, double degrees) {
    const double length = sqrt((double)axis.x * (double)axis.x + (double)axis.y * (double)axis.y +
                               (double)axis.z * (double)axis.z);
    const double a[3] = {(double)axis.x / length, (double)axis.y / length, (double)axis.z / length};
    const double turn = remainder(degrees, 360), radians = turn * (double)KD_PI / 180;
    double c = cos(radians), s = sin(radians);
    if (fabs(turn) == 90) c = 0, s = turn / 90;
    if (fabs(turn) == 180) c = -1, s = 0;
    const double cross[3][3] = {{0, -a[2], a[1]}, {a[2], 0, -a[0]}, {-a[1], a[0], 0}};
    transform made = transform_identity();
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column)
            made.m[row][column] =
                c * (row == column) + (1 - c) * a[row] * a[column] + s * cross[row][column];
    return made;
}

transform transform_compose(const transform *last, const transform *first) {
    transform made;
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 4; ++column) {
            made.m[row][column] = column == 3 ? last->m[row][3] : 0;
            for (int k = 0; k < 3; ++k)
                made.m[row][column] += last->m[row][k] * first->m[k][column];
        }
    return made;
}

double transform_anisotropy(const transform *transform) {
    double c[3][3], whole = 0, inverse = 0;
    transform_cofactors(transform, c);
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column) {
            whole += transform->m[row][column] * transform->m[row][column];
            inverse += c[row][column] * c[row][column];
        }
    return sqrt(whole * inverse) / fabs(transform_determinant(transform));
}
