/* A multi-device point tree: compares its build and query times with those of the first device
   alone, and checks that all results are identical.
       many_devices POINTS QUERIES K DEVICES [parts|copies]       DEVICES: cuda:0,cuda:1 or cpu,cpu
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <kandela/points.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *random_points(uint64_t count, uint64_t state) {
    float *xyz = malloc(3 * count * sizeof *xyz + 1);
    uint64_t i;
    for (i = 0; xyz && i < 3 * count; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        xyz[i] = (float)(state >> 40) / 16777216;
    }
    return xyz;
}

static void check(kd_status status) {
    if (status == KD_OK) return;
    fprintf(stderr, "many_devices: %s\n", kd_last_error());
    exit((int)status);
}

typedef struct answers {
    uint32_t *ids;
    float *dist2;
} answers;

/* Builds and queries twice and times the second round: the first initialises the devices. */
static void run(const char *device, kd_points_spread spread, const kd_point_array *cloud,
                const kd_point_array *points, uint32_t k, answers *out) {
    kd_points *tree = NULL;
    kd_points_options options;
    kd_points_query query;
    kd_points_info info;
    double query_seconds = 0;
    int turn;
    kd_points_options_default(&options);
    kd_points_query_default(&query);
    snprintf(options.device, sizeof options.device, "%s", device);
    options.spread = spread;
    query.points = *points;
    for (turn = 0; turn < 2; ++turn) {
        double start;
        kd_points_close(tree);
        check(kd_points_open(&tree, cloud, &options));
        start = now();
        check(kd_points_nearest(tree, &query, k, out->ids, out->dist2, NULL));
        query_seconds = now() - start;
    }
    /* only the fields before the hash, which would gather all points on the host */
    kd_points_describe_sized(tree, &info, offsetof(kd_points_info, hash));
    printf("%-24s %s: build %.4f s, %.2f M queries/s\n", device,
           !strchr(device, ',') && strcmp(device, "cuda:all") != 0 ? "one tree"
           : spread == KD_POINTS_SPREAD_PARTS                      ? "parts"
                                                                   : "copies",
           info.build_seconds, 1e-6 * (double)points->count / query_seconds);
    kd_points_close(tree);
}

int main(int argc, char **argv) {
    uint64_t points, queries, rows;
    uint32_t k;
    char first[256];
    answers one, many;
    kd_point_array cloud, array;
    if (argc < 5) {
        fprintf(stderr, "usage: many_devices POINTS QUERIES K DEVICES [parts|copies]\n");
        return 2;
    }
    points = strtoull(argv[1], NULL, 10);
    queries = strtoull(argv[2], NULL, 10);
    k = (uint32_t)strtoul(argv[3], NULL, 10);
    rows = queries * k;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(argv[4], ","), argv[4]);
    cloud = kd_point_array_make(random_points(points, 1), points, 3, KD_FLOAT);
    array = kd_point_array_make(random_points(queries, 2), queries, 3, KD_FLOAT);
    one.ids = malloc(rows * sizeof *one.ids + 1);
    one.dist2 = malloc(rows * sizeof *one.dist2 + 1);
    many.ids = malloc(rows * sizeof *many.ids + 1);
    many.dist2 = malloc(rows * sizeof *many.dist2 + 1);
    if (!cloud.coordinates || !array.coordinates || !one.ids || !one.dist2 || !many.ids ||
        !many.dist2) {
        fprintf(stderr, "many_devices: out of memory\n");
        return 4;
    }
    run(first, KD_POINTS_SPREAD_AUTO, &cloud, &array, k, &one);
    if (argc < 6 || strcmp(argv[5], "parts") == 0) {
        run(argv[4], KD_POINTS_SPREAD_PARTS, &cloud, &array, k, &many);
        rows = memcmp(one.ids, many.ids, rows * sizeof *one.ids) ||
                       memcmp(one.dist2, many.dist2, rows * sizeof *one.dist2)
                   ? 0
                   : rows;
    }
    if (rows && (argc < 6 || strcmp(argv[5], "copies") == 0)) {
        run(argv[4], KD_POINTS_SPREAD_COPIES, &cloud, &array, k, &many);
        rows = memcmp(one.ids, many.ids, rows * sizeof *one.ids) ? 0 : rows;
    }
    puts(rows ? "the same answers" : "answers differ");
    return rows ? 0 : 1;
}
