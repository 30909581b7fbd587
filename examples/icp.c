/* Registration of two scans by the iterative closest point algorithm (ICP): aligns the first scan
   with the second and prints the error of each iteration.
   Source: Besl and McKay 1992, "A method for registration of 3-D shapes"; the rotation after Horn
           1987, "Closed-form solution of absolute orientation using unit quaternions".
       icp SOURCE TARGET [MAX_DISTANCE]      files of lines "x y z" or "v x y z" (OBJ)
       icp                                   a synthetic pair: a bumpy, rigidly moved surface */
#include <kandela/points.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 50, SYNTHETIC = 20000 };

typedef struct scan {
    double *xyz;
    uint64_t count;
} scan;

typedef struct motion {
    double rotation[3][3], shift[3];
} motion;

static int scan_read(scan *out, const char *path) {
    char line[256];
    uint64_t capacity = 0;
    FILE *file = fopen(path, "r");
    memset(out, 0, sizeof *out);
    while (file && fgets(line, sizeof line, file)) {
        double p[3];
        const char *numbers = line[0] == 'v' && line[1] == ' ' ? line + 2 : line;
        if (sscanf(numbers, "%lf %lf %lf", &p[0], &p[1], &p[2]) != 3) continue;
        if (out->count == capacity) {
            double *more = realloc(out->xyz, (capacity = capacity * 2 + 1024) * sizeof p);
            if (!more) break;
            out->xyz = more;
        }
        memcpy(out->xyz + 3 * out->count++, p, sizeof p);
    }
    if (file) fclose(file);
    return out->count > 0;
}

static void move(const motion *m, const double p[3], double out[3]) {
    for (int i = 0; i < 3; ++i)
        out[i] = m->rotation[i][0] * p[0] + m->rotation[i][1] * p[1] + m->rotation[i][2] * p[2] +
                 m->shift[i];
}

/* Converts a unit quaternion (w, x, y, z) to a rotation matrix. */
static void rotation_of(const double q[4], double r[3][3]) {
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double rows[3][3] = {
        {w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)},
        {2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)},
        {2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z}};
    memcpy(r, rows, sizeof rows);
}

/* Samples a bumpy square at the points of a low-discrepancy sequence; applies a rigid motion unless
   `at_home`. */
static int scan_make(scan *out, int at_home) {
    const double angle = 0.15, q[4] = {cos(angle), sin(angle) * 0.6, 0, sin(angle) * 0.8};
    motion m = {{{0}}, {0.05, -0.03, 0.04}};
    rotation_of(q, m.rotation);
    out->count = SYNTHETIC;
    out->xyz = malloc(SYNTHETIC * 3 * sizeof(double));
    if (!out->xyz) return 0;
    for (int i = 0; i < SYNTHETIC; ++i) {
        const double u = fmod(0.5 + 0.7548776662466927 * (i + 7 * !at_home), 1);
        const double v = fmod(0.5 + 0.5698402909980532 * (i + 7 * !at_home), 1);
        const double p[3] = {u, v, 0.1 * sin(9 * u) * cos(7 * v) + 0.05 * sin(17 * u * v)};
        if (at_home)
            memcpy(out->xyz + 3 * i, p, sizeof p);
        else
            move(&m, p, out->xyz + 3 * i);
    }
    return 1;
}

/* Computes the least-squares rotation from the covariance matrix of the pairs: the eigenvector of
   the largest eigenvalue of Horn's 4 x 4 matrix, by power iteration. The matrix is shifted by a
   bound on its eigenvalues, which makes the largest one also the largest in magnitude. */
static void best_rotation(double s[3][3], double r[3][3]) {
    double n[4][4] = {
        {s[0][0] + s[1][1] + s[2][2], s[1][2] - s[2][1], s[2][0] - s[0][2], s[0][1] - s[1][0]},
        {0, s[0][0] - s[1][1] - s[2][2], s[0][1] + s[1][0], s[2][0] + s[0][2]},
        {0, 0, -s[0][0] + s[1][1] - s[2][2], s[1][2] + s[2][1]},
        {0, 0, 0, -s[0][0] - s[1][1] + s[2][2]}};
    double q[4] = {1, 1e-3, 1e-3, 1e-3}, bound = 0;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < i; ++j) n[i][j] = n[j][i];
    for (int i = 0; i < 16; ++i) bound += fabs(n[i / 4][i % 4]);
    for (int step = 0; step < 3000; ++step) {
        double next[4], length = 0;
        for (int i = 0; i < 4; ++i) {
            next[i] = bound * q[i];
            for (int j = 0; j < 4; ++j) next[i] += n[i][j] * q[j];
            length += next[i] * next[i];
        }
        for (int i = 0; i < 4; ++i) q[i] = next[i] / sqrt(length);
    }
    rotation_of(q, r);
}

/* Computes the rigid motion that minimises the squared distances of the pairs; returns the number
   of pairs. With fewer than 3, *out is not set. */
static uint64_t best_motion(const scan *moved, const scan *target, const uint32_t *nearest,
                            motion *out) {
    double centre[2][3] = {{0}}, s[3][3] = {{0}};
    uint64_t pairs = 0;
    for (uint64_t i = 0; i < moved->count; ++i) {
        if (nearest[i] == KD_NO_POINT) continue;
        ++pairs;
        for (int a = 0; a < 3; ++a) {
            centre[0][a] += moved->xyz[3 * i + a];
            centre[1][a] += target->xyz[3 * (uint64_t)nearest[i] + a];
        }
    }
    if (pairs < 3) return pairs;
    for (int a = 0; a < 6; ++a) centre[a / 3][a % 3] /= (double)pairs;
    for (uint64_t i = 0; i < moved->count; ++i)
        for (int a = 0; a < 9 && nearest[i] != KD_NO_POINT; ++a)
            s[a / 3][a % 3] += (moved->xyz[3 * i + a / 3] - centre[0][a / 3]) *
                               (target->xyz[3 * (uint64_t)nearest[i] + a % 3] - centre[1][a % 3]);
    best_rotation(s, out->rotation);
    memset(out->shift, 0, sizeof out->shift);
    double turned[3];
    move(out, centre[0], turned);
    for (int a = 0; a < 3; ++a) out->shift[a] = centre[1][a] - turned[a];
    return pairs;
}

int main(int argc, char **argv) {
    scan source, target;
    if (argc >= 3 ? !scan_read(&source, argv[1]) || !scan_read(&target, argv[2])
                  : !scan_make(&source, 0) || !scan_make(&target, 1))
        return fprintf(stderr, "usage: %s SOURCE TARGET [MAX_DISTANCE]\n", argv[0]), 2;
    kd_points *tree = NULL;
    const kd_point_array points = kd_point_array_make(target.xyz, target.count, 3, KD_DOUBLE);
    uint32_t *nearest = malloc(source.count * sizeof *nearest);
    double *dist2 = malloc(source.count * sizeof *dist2), before = -1;
    if (!nearest || !dist2 || kd_points_open(&tree, &points, NULL) != KD_OK)
        return fprintf(stderr, "%s\n", kd_last_error()), 1;
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(source.xyz, source.count, 3, KD_DOUBLE);
    if (argc > 3) query.max_radius = atof(argv[3]);
    for (int iteration = 0; iteration < ITERATIONS; ++iteration) {
        double sum = 0;
        motion step;
        if (kd_points_closest(tree, &query, nearest, dist2) != KD_OK)
            return fprintf(stderr, "%s\n", kd_last_error()), 1;
        const uint64_t pairs = best_motion(&source, &target, nearest, &step);
        if (pairs < 3) return fprintf(stderr, "fewer than three pairs within MAX_DISTANCE\n"), 1;
        for (uint64_t i = 0; i < source.count; ++i) {
            if (nearest[i] == KD_NO_POINT) continue;
            sum += dist2[i];
        }
        for (uint64_t i = 0; i < source.count; ++i) {
            double p[3];
            memcpy(p, source.xyz + 3 * i, sizeof p);
            move(&step, p, source.xyz + 3 * i);
        }
        const double error = sqrt(sum / (double)pairs);
        printf("iteration %2d: root mean square distance %.9g of %lu pairs\n", iteration, error,
               (unsigned long)pairs);
        if (before >= 0 && fabs(before - error) <= 1e-6 * before) break;
        before = error;
    }
    kd_points_close(tree);
    free(nearest), free(dist2), free(source.xyz), free(target.xyz);
    return 0;
}
