#include "scenes/check/check_exact.h"

/* A sum of numbers that do not overlap, smallest first: exact. */
typedef struct expansion {
    double part[64];
    int count;
} expansion;

static void expansion_add(expansion *to, double more) {
    int kept = 0;
    for (int i = 0; i < to->count; ++i) {
        const double a = to->part[i], sum = more + a;
        const double b = sum - more;
        const double error = (more - (sum - b)) + (a - b);
        if (error < 0 || error > 0) to->part[kept++] = error;
        more = sum;
    }
    if (more < 0 || more > 0) to->part[kept++] = more;
    to->count = kept;
}

/* Products of two floats fit a double. */
static void add_product(expansion *to, float a, float b, double sign) {
    expansion_add(to, sign * (double)a * (double)b);
}

/* Of three: the first product is cut into halves. */
static void add_product3(expansion *to, float a, float b, float c, double sign) {
    const double ab = sign * (double)a * (double)b, wide = 134217729.0 * ab;
    const double high = wide - (wide - ab), low = ab - high;
    expansion_add(to, low * (double)c);
    expansion_add(to, high * (double)c);
}

static int expansion_sign(const expansion *of) {
    if (of->count == 0) return 0;
    return of->part[of->count - 1] > 0 ? 1 : -1;
}

int exact_turn(vec3 a, vec3 b, vec3 c, int i, int j) {
    const float ax = vec3_axis(a, i), ay = vec3_axis(a, j), bx = vec3_axis(b, i);
    const float by = vec3_axis(b, j), cx = vec3_axis(c, i), cy = vec3_axis(c, j);
    const double left = ((double)ax - (double)cx) * ((double)by - (double)cy);
    const double right = ((double)ay - (double)cy) * ((double)bx - (double)cx);
    const double turn = left - right, bound = 0x1p-50 * (fabs(left) + fabs(right));
    if (turn > bound) return 1;
    if (turn < -bound) return -1;
    expansion sum = {{0}, 0};
    add_product(&sum, ax, by, 1);
    add_product(&sum, bx, cy, 1);
    add_product(&sum, cx, ay, 1);
    add_product(&sum, ay, bx, -1);
    add_product(&sum, by, cx, -1);
    add_product(&sum, cy, ax, -1);
    return expansion_sign(&sum);
}

bool exact_is_flat(vec3 a, vec3 b, vec3 c) {
    return exact_turn(a, b, c, 0, 1) == 0 && exact_turn(a, b, c, 1, 2) == 0 &&
           exact_turn(a, b, c, 2, 0) == 0;
}

/* sign times the determinant of three points. */
static void add_determinant(expansion *to, vec3 a, vec3 b, vec3 c, double sign) {
    add_product3(to, a.x, b.y, c.z, sign);
    add_product3(to, a.y, b.z, c.x, sign);
    add_product3(to, a.z, b.x, c.y, sign);
    add_product3(to, a.x, b.z, c.y, -sign);
    add_product3(to, a.y, b.x, c.z, -sign);
    add_product3(to, a.z, b.y, c.x, -sign);
}

static int side_exactly(vec3 a, vec3 b, vec3 c, vec3 d) {
    expansion sum = {{0}, 0};
    add_determinant(&sum, a, b, c, 1);
    add_determinant(&sum, a, b, d, -1);
    add_determinant(&sum, a, c, d, 1);
    add_determinant(&sum, b, c, d, -1);
    return expansion_sign(&sum);
}

int exact_side(vec3 a, vec3 b, vec3 c, vec3 d) {
    const double ax = (double)a.x - (double)d.x, ay = (double)a.y - (double)d.y;
    const double az = (double)a.z - (double)d.z, bx = (double)b.x - (double)d.x;
    const double by = (double)b.y - (double)d.y, bz = (double)b.z - (double)d.z;
    const double cx = (double)c.x - (double)d.x, cy = (double)c.y - (double)d.y;
    const double cz = (double)c.z - (double)d.z;
    const double bycz = by * cz, bzcy = bz * cy, cyaz = cy * az, czay = cz * ay;
    const double aybz = ay * bz, azby = az * by;
    const double side = ax * (bycz - bzcy) + bx * (cyaz - czay) + cx * (aybz - azby);
    const double size = fabs(ax) * (fabs(bycz) + fabs(bzcy)) +
                        fabs(bx) * (fabs(cyaz) + fabs(czay)) + fabs(cx) * (fabs(aybz) + fabs(azby));
    const double bound = 0x1p-49 * size;
    if (side > bound) return 1;
    if (side < -bound) return -1;
    return side_exactly(a, b, c, d);
}
