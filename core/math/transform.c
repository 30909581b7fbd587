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

/* Rodrigues' formula: cos I + (1 - cos) a a^T + sin [a]x. Quarter turns are exact. */
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

/* The matrix of cofactors, determinant x inverse transpose. */
static void cofactors(const transform *of, double c[3][3]) {
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const int r = (i + 1) % 3, s = (i + 2) % 3, p = (j + 1) % 3, q = (j + 2) % 3;
            c[i][j] = of->m[r][p] * of->m[s][q] - of->m[r][q] * of->m[s][p];
        }
}

double transform_determinant(const transform *of) {
    double c[3][3];
    cofactors(of, c);
    return of->m[0][0] * c[0][0] + of->m[0][1] * c[0][1] + of->m[0][2] * c[0][2];
}

vec3 transform_point(const transform *by, vec3 point) {
    const double x = (double)point.x, y = (double)point.y, z = (double)point.z;
    double to[3];
    for (int row = 0; row < 3; ++row)
        to[row] = by->m[row][0] * x + by->m[row][1] * y + by->m[row][2] * z + by->m[row][3];
    return vec3_make((float)to[0], (float)to[1], (float)to[2]);
}

vec3 transform_normal(const transform *by, vec3 normal) {
    double c[3][3], to[3], largest = 0;
    cofactors(by, c);
    const double side = transform_determinant(by) < 0 ? -1 : 1;
    for (int row = 0; row < 3; ++row) {
        to[row] = side * (c[row][0] * (double)normal.x + c[row][1] * (double)normal.y +
                          c[row][2] * (double)normal.z);
        largest = fmax(largest, fabs(to[row]));
    }
    if (!(largest > 0)) return vec3_all(0);
    return vec3_normalize(
        vec3_make((float)(to[0] / largest), (float)(to[1] / largest), (float)(to[2] / largest)));
}
