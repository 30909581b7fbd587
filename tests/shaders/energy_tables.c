/* Generates shaders/microfacet_*.inc: the energy that single scattering at a rough boundary loses,
   and where it goes. Usage: energy_tables FOLDER [long]; takes some minutes.
   Idea: the energy kept by single scattering is a smooth integral over visible facets (midpoint rule in both random numbers, with nodes concentrated at the rim, where GGX has its long tail). Random walks among the facets (microfacet_walk.h) distribute the rest, as fractions of it, so that their noise affects colours only and never the sum of a white furnace.
   Source: Kulla and Conty 2017, "Revisiting physically based shading at Imageworks" (the form of the lobe); Heitz et al. 2016 (the random walks). */
#include "microfacet_walk.h"
#include "shaders/microfacet_energy.h"
#include <stdio.h>
#include <string.h>

enum { GRID = 160, LONG_GRID = 300, WALKS = 40000, REFLECTANCES = 11 };
typedef struct double3 {
    double x, y, z;
} double3;

static double masking(double alpha, double z) {
    const double t = (1 - z * z) / (z * z);
    return z > 0 ? 2 / (1 + sqrt(1 + alpha * alpha * t)) : 0;
}
static double shadowing(double alpha, double a, double b) {
    return 1 / (1 / masking(alpha, a) + 1 / masking(alpha, b) - 1);
}
/* ggx_draw_visible for a direction in the plane y = 0, in double precision. */
static double3 visible(double alpha, double mu, double u, double angle) {
    const double sine = sqrt(1 - mu * mu);
    const double length = sqrt(alpha * alpha * sine * sine + mu * mu);
    const double sx = alpha * sine / length, sz = mu / length;
    const double radius = sqrt(u), x = radius * cos(angle), share = 0.5 * (1 + sz);
    const double y = (1 - share) * sqrt(fmax(0, 1 - x * x)) + share * radius * sin(angle);
    const double z = sqrt(fmax(0, 1 - x * x - y * y));
    /* tangent (0, 1, 0), bitangent = stretched x tangent = (-sz, 0, sx) */
    double3 m = {alpha * (z * sx - y * sz), alpha * x, fmax(0, z * sz + y * sx)};
    const double norm = sqrt(m.x * m.x + m.y * m.y + m.z * m.z);
    m.x /= norm;
    m.y /= norm;
    m.z /= norm;
    return m;
}

/* Node of the index of glass; the middle one is 1. */
static double energy_index(int which) {
    const double half = ENERGY_INDICES / 2, from_middle = which - half;
    return exp((double)ENERGY_INDEX_SPAN * from_middle * fabs(from_middle) / (half * half));
}

static double fresnel(double cosine, double eta) {
    const double sine2 = (1 - cosine * cosine) / (eta * eta);
    if (sine2 >= 1) return 1;
    const double beyond = sqrt(1 - sine2);
    const double parallel = (eta * cosine - beyond) / (eta * cosine + beyond);
    const double across = (cosine - eta * beyond) / (cosine + eta * beyond);
    return 0.5 * (parallel * parallel + across * across);
}

/* Energy that single scattering keeps of light from `mu`. */
typedef struct kept {
    double metal; /* of reflectance 1 */
    double coat[ENERGY_COATS];
    double glass[ENERGY_INDICES],
        across[ENERGY_INDICES]; /* in total; the part that is transmitted */
} kept;

static void kept_add(kept *cell, double alpha, double mu, double3 m, double weight) {
    const double facing = sqrt(1 - mu * mu) * m.x + mu * m.z;
    const double up = 2 * facing * m.z - mu;
    if (!(facing > 0)) return;
    const double bounced = up > 0 ? shadowing(alpha, mu, up) / masking(alpha, mu) : 0;
    cell->metal += weight * bounced;
    for (int c = 0; c < ENERGY_COATS; ++c)
        cell->coat[c] += weight * bounced * fresnel(facing, (double)energy_coat_index(c));
    for (int i = 0; i < ENERGY_INDICES; ++i) {
        const double eta = energy_index(i), share = fresnel(facing, eta);
        if (up > 0) cell->glass[i] += weight * share * masking(alpha, up);
        if (share >= 1) continue;
        const double along = facing / eta - sqrt(1 - (1 - facing * facing) / (eta * eta));
        const double down = mu / eta - along * m.z;
        if (!(down > 0)) continue;
        cell->glass[i] += weight * (1 - share) * masking(alpha, down);
        cell->across[i] += weight * (1 - share) * masking(alpha, down);
    }
}

static kept kept_of(double alpha, double mu) {
    kept made;
    memset(&made, 0, sizeof made);
    for (int i = 0; i < GRID; ++i)
        for (int k = 0; k < GRID; ++k) {
            const double rim = (i + 0.5) / GRID; /* 1 - u = rim^4 */
            const double weight = 4 * rim * rim * rim / GRID / GRID;
            const double angle = 2 * 3.14159265358979323846 * (k + 0.5) / GRID;
            kept_add(&made, alpha, mu, visible(alpha, mu, 1 - rim * rim * rim * rim, angle),
                     weight);
        }
    return made;
}

/* Rounds as printed, so that means are those of the printed values. */
static double printed(double x) {
    return fmin(floor(fmax(x, 0) * 65536 + 0.5), 65535) / 65536;
}

static double missing[ENERGY_ROUGHNESSES][ENERGY_COSINES];
static double metal[ENERGY_ROUGHNESSES][ENERGY_METAL_COSINES][3];
static double metal_mean[ENERGY_ROUGHNESSES][4];
static double coat[ENERGY_COATS][ENERGY_ROUGHNESSES][ENERGY_COAT_COSINES];
static double coat_mean[ENERGY_COATS][ENERGY_ROUGHNESSES];
static double glass[ENERGY_INDICES][ENERGY_ROUGHNESSES][ENERGY_GLASS_COSINES];
static double glass_mean[ENERGY_INDICES][ENERGY_ROUGHNESSES];
static double share[ENERGY_INDICES][ENERGY_ROUGHNESSES][ENERGY_SHARE_COSINES];
static double share_mean[ENERGY_INDICES / 2 + 1][ENERGY_ROUGHNESSES];

/* Interpolates a row over s in [0, 1], as readers of the table do. */
static double row_at(const double *row, int nodes, double s) {
    const double at = fmin(fmax(s, 0), 1) * (nodes - 1);
    const int first = (int)fmin(at, nodes - 2);
    return row[first] + (at - first) * (row[first + 1] - row[first]);
}

static double cosine_of(double alpha, double s) {
    const double rest = (1 - s) * (1 - s);
    return fmax(alpha * (1 - rest) / (alpha + rest), 1e-7);
}

/* 2 integral of row(s(mu)) mu dmu, by s. */
static double mean_of(const double *row, int nodes, double alpha) {
    double sum = 0;
    const int steps = 4000;
    for (int i = 0; i < steps; ++i) {
        const double s = (i + 0.5) / steps, rest = (1 - s) * (1 - s);
        const double mu = alpha * (1 - rest) / (alpha + rest);
        const double slope = 2 * (1 - s) * alpha * (1 + alpha) / ((alpha + rest) * (alpha + rest));
        sum += 2 * row_at(row, nodes, s) * mu * slope / steps;
    }
    return sum;
}

static double coat_cosine_of(double reflected, double eta) {
    double low = 0, high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (low + high);
        if (fresnel(middle, eta) > reflected)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void fill_single(int row) {
    const double alpha = (double)energy_alpha(row);
    for (int k = 0; k < ENERGY_COSINES; ++k) {
        const double s = (double)k / (ENERGY_COSINES - 1);
        missing[row][k] = printed(1 - kept_of(alpha, cosine_of(alpha, s)).metal);
    }
    for (int k = 0; k < ENERGY_GLASS_COSINES; ++k) {
        const double s = (double)k / (ENERGY_GLASS_COSINES - 1);
        const kept cell = kept_of(alpha, cosine_of(alpha, s));
        for (int i = 0; i < ENERGY_INDICES; ++i) glass[i][row][k] = printed(1 - cell.glass[i]);
    }
    for (int i = 0; i < ENERGY_INDICES; ++i)
        glass_mean[i][row] = mean_of(glass[i][row], ENERGY_GLASS_COSINES, alpha);
    double sum[ENERGY_COATS] = {0};
    for (int k = 0; k < ENERGY_COAT_COSINES; ++k) {
        const double mu = cosine_of(alpha, (double)k / (ENERGY_COAT_COSINES - 1));
        const kept record = kept_of(alpha, mu);
        for (int c = 0; c < ENERGY_COATS; ++c)
            coat[c][row][k] =
                (coat_cosine_of(record.coat[c] / record.metal, (double)energy_coat_index(c)) - mu) /
                alpha;
    }
    const int steps = 64; /* of the mean over mu^2 */
    for (int k = 0; k < steps; ++k) {
        const kept kept_row = kept_of(alpha, sqrt((k + 0.5) / steps));
        for (int c = 0; c < ENERGY_COATS; ++c) sum[c] += kept_row.coat[c] / steps;
    }
    for (int c = 0; c < ENERGY_COATS; ++c)
        coat_mean[c][row] = sum[c] / (double)fresnel_dielectric_average(energy_coat_index(c));
}

static vec3 direction_of(double mu) {
    return vec3_make((float)sqrt(1 - mu * mu), 0, (float)mu);
}
static walk_numbers numbers_of(uint32_t which, uint64_t i) {
    walk_numbers made;
    memset(&made, 0, sizeof made);
    made.key = rng_key_make(24, which, i);
    return made;
}

/* Least squares for c0, c1, c2 of c0 + c1 F + c2 F^2 + (rest) F^3 = wanted (1 - k F). */
static void fit_cubic(const double *target, double k, double c[3]) {
    double a[3][4] = {{0}};
    for (int f = 0; f < REFLECTANCES; ++f) {
        const double x = (double)f / (REFLECTANCES - 1), cube = x * x * x;
        const double base[3] = {1 - cube, x - cube, x * x - cube};
        const double value = target[f] * (1 - k * x) - (1 - k) * cube;
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) a[i][j] += base[i] * base[j];
            a[i][3] += base[i] * value;
        }
    }
    for (int i = 0; i < 3; ++i) {
        const double pivot = a[i][i];
        for (int j = 0; j < 4; ++j) a[i][j] /= pivot;
        for (int other = 0; other < 3; ++other) {
            const double factor = a[other][i];
            for (int j = 0; j < 4 && other != i; ++j) a[other][j] -= factor * a[i][j];
        }
    }
    for (int i = 0; i < 3; ++i) c[i] = a[i][3];
}

/* The fraction of multiply scattered light that metals of several reflectances return. */
static void metal_shares(double alpha, double mu, double *shares) {
    double weight = 0, sums[REFLECTANCES] = {0};
    const vec3 wo = direction_of(mu);
    for (uint64_t i = 0; i < 40 * (uint64_t)WALKS && weight < WALKS; ++i) {
        for (int part = 0; part < (REFLECTANCES + 2) / 3; ++part) {
            walk_numbers numbers = numbers_of(1, i);
            const float step = 1.0f / (REFLECTANCES - 1), first = 3 * (float)part * step;
            const vec3 reflectance = vec3_make(first, first + step, first + 2 * step);
            const microfacet_walk walk =
                microfacet_walk_run((float)alpha, 0, reflectance, wo, &numbers);
            if (walk.facets < 2 || walk.facets >= 1000) break;
            const double kept_of_each[3] = {(double)walk.weight.x, (double)walk.weight.y,
                                            (double)walk.weight.z};
            for (int c = 0; c < 3 && 3 * part + c < REFLECTANCES; ++c)
                sums[3 * part + c] += kept_of_each[c];
            if (part == 0) weight += 1;
        }
    }
    for (int f = 0; f < REFLECTANCES; ++f)
        shares[f] = weight > 0 ? sums[f] / weight : (double)f / (REFLECTANCES - 1);
}

static void fill_metal(int row) {
    const double alpha = (double)energy_alpha(row);
    const double lost = mean_of(missing[row], ENERGY_COSINES, alpha);
    metal_mean[row][0] = lost / (alpha * alpha);
    double means[3][ENERGY_COSINES];
    for (int k = 0; k < ENERGY_METAL_COSINES; ++k) {
        double shares[REFLECTANCES];
        const double s = (double)k / (ENERGY_METAL_COSINES - 1);
        metal_shares(alpha, fmax(cosine_of(alpha, s), 0.02 * alpha), shares);
        fit_cubic(shares, lost, metal[row][k]);
    }
    for (int c = 0; c < 3; ++c) {
        for (int k = 0; k < ENERGY_COSINES; ++k) {
            const double s = (double)k / (ENERGY_COSINES - 1);
            double line[ENERGY_METAL_COSINES];
            for (int j = 0; j < ENERGY_METAL_COSINES; ++j) line[j] = metal[row][j][c];
            means[c][k] = missing[row][k] * row_at(line, ENERGY_METAL_COSINES, s);
        }
        metal_mean[row][1 + c] = mean_of(means[c], ENERGY_COSINES, alpha) / lost;
    }
}

/* Of the light from `mu` that single scattering loses, the fraction that is transmitted: walks
   against their own first facets, so that the noise is that of the difference. */
static double across_share(double alpha, double mu, double eta, double lost) {
    double gained = 0;
    const vec3 wo = direction_of(mu);
    for (uint64_t i = 0; i < WALKS; ++i) {
        walk_numbers numbers = numbers_of(2, i);
        const microfacet_walk walk =
            microfacet_walk_run((float)alpha, (float)eta, vec3_all(0), wo, &numbers);
        gained += walk.across ? 1 : 0;
        numbers = numbers_of(2, i);
        walk_next(&numbers);
        const float u = walk_next(&numbers), v = walk_next(&numbers);
        const vec3 m = ggx_draw_visible((float)alpha, wo, u, v);
        const float facing = float_clamp(vec3_dot(wo, m), 0, 1);
        vec3 wi;
        if (walk_next(&numbers) >= fresnel_dielectric(facing, (float)eta) &&
            fresnel_refract(wo, m, (float)eta, &wi) && wi.z < 0)
            gained -= masking(alpha, -(double)wi.z);
    }
    return lost > 0 ? fmin(fmax(gained / WALKS / lost, 0), 1) : 0.5;
}

static double across_mean(int index, int row) {
    double line[200];
    for (int i = 0; i < 200; ++i)
        line[i] = row_at(glass[index][row], ENERGY_GLASS_COSINES, i / 199.0) *
                  row_at(share[index][row], ENERGY_SHARE_COSINES, i / 199.0);
    return mean_of(line, 200, (double)energy_alpha(row));
}

/* Transmission is reciprocal: scales the larger side's fractions down to the smaller's. */
static void agree(int out, int in, int row) {
    const double square = energy_index(out) * energy_index(out);
    const double mean_out = across_mean(out, row), mean_in = square * across_mean(in, row);
    const int larger = mean_out > mean_in ? out : in;
    const double factor = mean_out > mean_in ? mean_in / mean_out : mean_out / mean_in;
    for (int k = 0; k < ENERGY_SHARE_COSINES && out != in; ++k) share[larger][row][k] *= factor;
    share_mean[out - ENERGY_INDICES / 2][row] = across_mean(out, row);
}

static void fill_across(int row) {
    const double alpha = (double)energy_alpha(row);
    for (int i = 0; i < ENERGY_INDICES; ++i)
        for (int k = 0; k < ENERGY_SHARE_COSINES; ++k) {
            const double s = (double)k / (ENERGY_SHARE_COSINES - 1);
            const double lost = row_at(glass[i][row], ENERGY_GLASS_COSINES, s);
            share[i][row][k] =
                across_share(alpha, fmax(cosine_of(alpha, s), 0.02 * alpha), energy_index(i), lost);
        }
    for (int i = 0; i <= ENERGY_INDICES / 2; ++i)
        agree(ENERGY_INDICES / 2 + i, ENERGY_INDICES / 2 - i, row);
    for (int i = 0; i < ENERGY_INDICES; ++i) glass_mean[i][row] /= alpha * alpha;
    for (int i = 0; i <= ENERGY_INDICES / 2; ++i) share_mean[i][row] /= alpha * alpha;
}

/* How the numbers of a file are written: fractions as multiples of 1/65536, or five digits; the
   tables of a file follow one another. */
typedef struct table_file {
    const char *name;
    bool shares;
    int across; /* per line */
    FILE *out;
} table_file;

static bool open_table(table_file *file, const char *folder) {
    char path[1024];
    snprintf(path, sizeof path, "%s/microfacet_%s.inc", folder, file->name);
    file->out = fopen(path, "w");
    if (!file->out) perror(path);
    return file->out != NULL;
}

static void print_table(const table_file *file, const double *values, size_t count) {
    const size_t across = (size_t)file->across;
    for (size_t i = 0; i < count; ++i) {
        fprintf(file->out, file->shares ? "%.0f," : "%.5ff,",
                values[i] * (file->shares ? 65536 : 1));
        if (i % across == across - 1 || i + 1 == count) fputc('\n', file->out);
    }
}

static bool close_table(table_file *file) {
    return fclose(file->out) == 0;
}

/* --- metals of long facets -------------------------------------------------------------------- */

static double longs[ENERGY_LONGS][ENERGY_RATIOS][ENERGY_TURNS][ENERGY_LONG_COSINES];
static double long_mean[ENERGY_MEAN_LONGS][ENERGY_MEAN_RATIOS];

/* Energy that single scattering keeps of light that leaves at cosine mu, in direction `direction`
   of the plane. */
static double kept_long(double ax, double ay, double mu, const double direction[2]) {
    const double sine = sqrt(fmax(1 - mu * mu, 0)), ox = sine * direction[0],
                 oy = sine * direction[1];
    double s[3] = {ax * ox, ay * oy, mu}, sum = 0;
    const double length = sqrt(s[0] * s[0] + s[1] * s[1] + mu * mu);
    for (int i = 0; i < 3; ++i) s[i] /= length;
    const double flat = sqrt(s[0] * s[0] + s[1] * s[1]);
    const double t[2] = {flat > 0 ? -s[1] / flat : 1, flat > 0 ? s[0] / flat : 0};
    const double b[3] = {-s[2] * t[1], s[2] * t[0], s[0] * t[1] - s[1] * t[0]};
    const double out = sqrt(1 + (ax * ax * ox * ox + ay * ay * oy * oy) / (mu * mu));
    for (int i = 0; i < LONG_GRID; ++i)
        for (int k = 0; k < LONG_GRID; ++k) {
            const double rim = (i + 0.5) / LONG_GRID,
                         weight = 4 * rim * rim * rim / LONG_GRID / LONG_GRID;
            const double radius = sqrt(1 - rim * rim * rim * rim), share = 0.5 * (1 + s[2]);
            const double angle = 2 * 3.14159265358979323846 * (k + 0.5) / LONG_GRID;
            const double x = radius * cos(angle);
            const double y = (1 - share) * sqrt(fmax(0, 1 - x * x)) + share * radius * sin(angle);
            const double z = sqrt(fmax(0, 1 - x * x - y * y));
            double mx = ax * (x * t[0] + y * b[0] + z * s[0]),
                   my = ay * (x * t[1] + y * b[1] + z * s[1]), mz = fmax(0, y * b[2] + z * s[2]);
            const double norm = sqrt(mx * mx + my * my + mz * mz);
            const double facing = (ox * mx + oy * my + mu * mz) / norm;
            const double ix = 2 * facing * mx / norm - ox, iy = 2 * facing * my / norm - oy,
                         iz = 2 * facing * mz / norm - mu;
            if (!(facing > 0) || !(iz > 0)) continue;
            const double in = sqrt(1 + (ax * ax * ix * ix + ay * ay * iy * iy) / (iz * iz));
            sum += weight * (1 + out) / (out + in); /* of 2 / (1 + out) and 2 / (out + in) */
        }
    return sum;
}

/* Rounds as readers of the table do. */
static double round_missing(double alpha, double mu) {
    return (double)energy_missing((float)alpha, (float)mu);
}

/* Reads one node of width and ratio as energy_missing_long does. */
static double long_node(int row, int ratio, energy_place turn, energy_place at) {
    double ends[2];
    for (int k = 0; k < 2; ++k) {
        const double *values = longs[row][ratio][turn.first + k] + at.first;
        ends[k] = values[0] + (double)at.rest * (values[1] - values[0]) - 0.5;
    }
    return ends[0] + (double)turn.rest * (ends[1] - ends[0]);
}

/* Interpolates between nodes. */
static double long_at(double longer, double shorter, double seen, double mu) {
    const energy_long_place place =
        energy_long_place_of((float)longer, (float)shorter, ENERGY_LONGS, ENERGY_RATIOS);
    const energy_place turn = energy_turn((float)shorter, (float)longer, (float)seen);
    const energy_place at = energy_long_column((float)seen, (float)mu);
    const int row = place.row.first, ratio = place.ratio.first;
    double rows[2];
    for (int i = 0; i < 2; ++i) {
        const double a = long_node(row + i, ratio, turn, at);
        rows[i] = a + (double)place.ratio.rest * (long_node(row + i, ratio + 1, turn, at) - a);
    }
    const double more = rows[0] + (double)place.row.rest * (rows[1] - rows[0]);
    return fmax(round_missing(seen, mu) + (longer > shorter ? more : 0), 0);
}

static void fill_long(int row, int ratio) {
    const double ax = (double)energy_long(row, ENERGY_LONGS),
                 ay = ax * (double)energy_long(ratio, ENERGY_RATIOS);
    for (int k = 0; k < ENERGY_TURNS; ++k) {
        const double turn = (double)k / (ENERGY_TURNS - 1);
        const double seen = ay + (ax - ay) * turn * turn;
        const double part = ax > ay ? fmax(seen * seen - ay * ay, 0) / (ax * ax - ay * ay) : 0;
        const double direction[2] = {sqrt(fmin(part, 1)), sqrt(fmax(1 - part, 0))};
        for (int l = 0; l < ENERGY_LONG_COSINES; ++l) {
            const double c = (double)ENERGY_LONG_CROWDING;
            const double v = (double)l / (ENERGY_LONG_COSINES - 1);
            const double q = c * v / (1 + c - v), mu = fmax(seen * q / (1 + seen - q), 1e-4);
            const double more = 1 - kept_long(ax, ay, mu, direction) - round_missing(seen, mu);
            longs[row][ratio][k][l] = printed(ax > ay ? 0.5 + more : 0.5);
        }
    }
}

/* Nodes concentrated at grazing directions, because the loss is largest where the cosine is about
   alpha. */
static void fill_long_mean(int row, int ratio) {
    enum { STEPS = 256, TURNS = 64 };
    const double ax = (double)energy_long(row, ENERGY_MEAN_LONGS),
                 ay = ax * (double)energy_long(ratio, ENERGY_MEAN_RATIOS);
    double sum = 0;
    for (int i = 0; i < STEPS; ++i)
        for (int k = 0; k < TURNS; ++k) {
            const double root = (i + 0.5) / STEPS, mu = root * root * root;
            const double weight = 6 * mu * root * root / STEPS / TURNS; /* 2 mu dmu */
            const double angle = 1.57079632679489661923 * (k + 0.5) / TURNS;
            const double seen =
                sqrt(ax * ax * cos(angle) * cos(angle) + ay * ay * sin(angle) * sin(angle));
            sum += weight * long_at(ax, ay, seen, mu);
        }
    long_mean[row][ratio] = sum / (ax * ax);
}

#define PRINT(to, values) print_table(to, (const double *)values, sizeof values / sizeof(double))

/* Generates the tables of anisotropic facets from the other tables. */
static int make_long(const char *folder) {
    table_file to = {"long", true, 48, NULL}, means = {"long_mean", false, 23, NULL};
    for (int row = 0; row < ENERGY_LONGS; ++row)
        for (int ratio = 0; ratio < ENERGY_RATIOS; ++ratio) fill_long(row, ratio);
    for (int row = 0; row < ENERGY_MEAN_LONGS; ++row)
        for (int ratio = 0; ratio < ENERGY_MEAN_RATIOS; ++ratio) fill_long_mean(row, ratio);
    if (!open_table(&to, folder) || !open_table(&means, folder)) return 1;
    PRINT(&to, longs);
    PRINT(&means, long_mean);
    const bool closed = close_table(&to);
    return close_table(&means) && closed ? 0 : 1;
}

int main(int count, char **words) {
    if (count != 2 && (count != 3 || strcmp(words[2], "long") != 0)) return 2;
    if (count == 3) return make_long(words[1]);
    table_file shares = {"shares", true, 48, NULL}, terms = {"terms", false, 24, NULL};
    for (int row = 0; row < ENERGY_ROUGHNESSES; ++row) {
        fill_single(row);
        fill_metal(row);
        fill_across(row);
        fprintf(stderr, "%d of %d\n", row + 1, ENERGY_ROUGHNESSES);
    }
    if (!open_table(&shares, words[1]) || !open_table(&terms, words[1])) return 1;
    PRINT(&shares, missing); /* in the order of microfacet_tables.h */
    PRINT(&shares, glass);
    PRINT(&terms, metal);
    PRINT(&terms, metal_mean);
    PRINT(&terms, coat);
    PRINT(&terms, coat_mean);
    PRINT(&terms, glass_mean);
    PRINT(&terms, share);
    PRINT(&terms, share_mean);
    const bool closed = close_table(&shares);
    return close_table(&terms) && closed ? 0 : 1;
}
