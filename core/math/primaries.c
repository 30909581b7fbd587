#include "core/math/primaries.h"
#include <math.h>
#include <string.h>

const double primaries_rec709[8] = {0.64, 0.33, 0.3, 0.6, 0.15, 0.06, 0.3127, 0.329};

static void matrix_multiply(colour_matrix out, const colour_matrix a, const colour_matrix b) {
    colour_matrix made;
    for (int i = 0; i < 9; ++i) {
        made[i] = 0;
        for (int k = 0; k < 3; ++k) made[i] += a[i / 3 * 3 + k] * b[3 * k + i % 3];
    }
    memcpy(out, made, sizeof made);
}

static bool matrix_invert(colour_matrix out, const colour_matrix m) {
    colour_matrix made;
    for (int i = 0; i < 9; ++i) { /* transposed cofactors */
        const int r = i % 3, c = i / 3;
        const int r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
        made[i] = m[3 * r1 + c1] * m[3 * r2 + c2] - m[3 * r1 + c2] * m[3 * r2 + c1];
    }
    const double determinant = m[0] * made[0] + m[1] * made[3] + m[2] * made[6];
    if (!(fabs(determinant) > 1e-12)) return false;
    for (int i = 0; i < 9; ++i) out[i] = made[i] / determinant;
    return true;
}

static void white_of(double xyz[3], double x, double y) {
    xyz[0] = x / y;
    xyz[1] = 1;
    xyz[2] = (1 - x - y) / y;
}

bool primaries_are_rec709(const double at[8]) {
    for (int i = 0; i < 8; ++i)
        if (!(fabs(at[i] - primaries_rec709[i]) < 1e-6)) return false;
    return true;
}

/* The amount of each primary makes their sum white. Primaries need no positive y: the blue of ACES
   is below the axis. */
bool primaries_to_xyz(colour_matrix out, const double at[8]) {
    colour_matrix columns, inverse;
    double white[3];
    if (!(at[7] > 1e-3)) return false;
    for (int c = 0; c < 3; ++c) {
        columns[c] = at[2 * c];
        columns[3 + c] = at[2 * c + 1];
        columns[6 + c] = 1 - at[2 * c] - at[2 * c + 1];
    }
    white_of(white, at[6], at[7]);
    if (!matrix_invert(inverse, columns)) return false;
    for (int i = 0; i < 9; ++i) {
        double amount = 0;
        for (int k = 0; k < 3; ++k) amount += inverse[3 * (i % 3) + k] * white[k];
        out[i] = columns[i] * amount;
    }
    return true;
}

static bool whites_adapt(colour_matrix out, const double from[2]) {
    static const colour_matrix cones = {0.8951, 0.2664, -0.1614, -0.7502, 1.7135,
                                        0.0367, 0.0389, -0.0685, 1.0296};
    colour_matrix inverse, scaled;
    double before[3], after[3];
    white_of(before, from[0], from[1]);
    white_of(after, primaries_rec709[6], primaries_rec709[7]);
    if (!matrix_invert(inverse, cones)) return false;
    for (int i = 0; i < 9; ++i) {
        double b = 0, a = 0;
        for (int k = 0; k < 3; ++k) {
            b += cones[i / 3 * 3 + k] * before[k];
            a += cones[i / 3 * 3 + k] * after[k];
        }
        if (!(fabs(b) > 1e-6)) return false;
        scaled[i] = cones[i] * a / b;
    }
    matrix_multiply(out, inverse, scaled);
    return true;
}

bool primaries_from_xyz(colour_matrix out) {
    colour_matrix to_xyz;
    return primaries_to_xyz(to_xyz, primaries_rec709) && matrix_invert(out, to_xyz);
}

bool primaries_to_rec709(colour_matrix out, const double at[8]) {
    colour_matrix to_xyz, adapted, from_xyz;
    if (!primaries_to_xyz(to_xyz, at) || !whites_adapt(adapted, at + 6) ||
        !primaries_from_xyz(from_xyz))
        return false;
    matrix_multiply(out, adapted, to_xyz);
    matrix_multiply(out, from_xyz, out);
    for (int i = 0; i < 9; ++i)
        if (!isfinite(out[i])) return false;
    return true;
}
