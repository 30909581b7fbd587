/* To be run by mpirun: a tree distributed over several processes returns the same ids and bytes as
   one tree of all points; if one process fails, all report the error. Rank 0 prints "ok". */
#include <kandela/mpi/points.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 3000, QUERIES = 400, K = 9, WITHIN_MAX = 400000 };

static int rank, size;
static float cloud[COUNT][3], queries[QUERIES][3];
static uint64_t ids[QUERIES * K], offsets[2][QUERIES + 1], within_ids[2][WITHIN_MAX];
static uint32_t one_ids[QUERIES * K], counts[2][QUERIES], within_one[WITHIN_MAX];
static float dist2[2][QUERIES * K], within_dist2[2][WITHIN_MAX];

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "rank %d of %d, line %d: %s (%s)\n", rank, size, __LINE__, #what,      \
                    kd_last_error());                                                              \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static float random_of(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216;
}

/* Half of the points lie on a coarse grid, so many are equal or at equal distances. */
static void make(uint32_t seed) {
    uint32_t state = seed;
    int i, axis;
    for (i = 0; i < COUNT; ++i)
        for (axis = 0; axis < 3; ++axis) {
            const float x = random_of(&state);
            cloud[i][axis] = i % 2 ? x : (float)(int)(x * 6) / 6;
        }
    state += (uint32_t)rank * 977; /* different queries per rank */
    for (i = 0; i < QUERIES; ++i)
        for (axis = 0; axis < 3; ++axis) {
            const float x = random_of(&state) * 1.2f - 0.1f;
            queries[i][axis] = i % 2 ? x : (float)(int)(x * 6) / 6;
        }
}

/* Returns the range of points of process r: slices of different sizes; that of rank 1 is empty. */
static void slice(int r, int *begin, int *end) {
    const int each = COUNT / size;
    *begin = r == 0 ? 0 : r == 1 ? 2 * each : r * each;
    *end = r == 0 && size > 1 ? 2 * each : r == size - 1 ? COUNT : (r + 1) * each;
    if (r == 1) *end = *begin;
    if (size == 2 && r == 0) *end = COUNT;
    if (size == 2 && r == 1) *begin = *end = COUNT;
}

static kd_status nearest64(const kd_points *tree, const kd_points_query *query, uint32_t k,
                           void *dist2_out, uint32_t *counts_out) {
    kd_points_rows rows;
    kd_points_rows_default(&rows);
    rows.ids64 = ids;
    rows.dist2 = dist2_out;
    rows.counts = counts_out;
    return kd_points_search_nearest(tree, query, k, &rows);
}

static kd_status within64(const kd_points *tree, const kd_points_query *query) {
    kd_points_rows rows;
    kd_points_rows_default(&rows);
    rows.offsets = offsets[1];
    rows.ids64 = within_ids[1];
    rows.dist2 = within_dist2[1];
    return kd_points_search_within(tree, query, &rows);
}

static void compare(const kd_points *one, const kd_points *all, const kd_points_query *query,
                    uint64_t first) {
    uint64_t i;
    EXPECT(kd_points_nearest(one, query, K, one_ids, dist2[0], counts[0]) == KD_OK);
    EXPECT(nearest64(all, query, K, dist2[1], counts[1]) == KD_OK);
    for (i = 0; i < query->points.count * K; ++i)
        EXPECT(ids[i] == (one_ids[i] == KD_NO_POINT ? KD_NO_POINT64 : first + one_ids[i]));
    EXPECT(memcmp(dist2[0], dist2[1], query->points.count * K * sizeof(float)) == 0);
    EXPECT(memcmp(counts[0], counts[1], query->points.count * sizeof(uint32_t)) == 0);
    EXPECT(kd_points_within_count(one, query, offsets[0]) == KD_OK);
    EXPECT(kd_points_within_count(all, query, offsets[1]) == KD_OK);
    EXPECT(memcmp(offsets[0], offsets[1], (query->points.count + 1) * sizeof(uint64_t)) == 0);
    EXPECT(offsets[0][query->points.count] <= WITHIN_MAX);
    EXPECT(kd_points_within(one, query, offsets[0], within_one, within_dist2[0]) == KD_OK);
    EXPECT(within64(all, query) == KD_OK);
    for (i = 0; i < offsets[0][query->points.count]; ++i)
        EXPECT(within_ids[1][i] == first + within_one[i] &&
               within_dist2[0][i] == within_dist2[1][i]);
}

static void answers(uint64_t first) {
    int begin = 0, end = 0;
    kd_points *one = NULL, *all = NULL;
    kd_points_options options;
    kd_points_query query;
    kd_points_info info;
    kd_point_array part, whole = kd_point_array_make(cloud, COUNT, 3, KD_FLOAT);
    slice(rank, &begin, &end);
    part = kd_point_array_make(cloud + begin, (uint64_t)(end - begin), 3, KD_FLOAT);
    kd_points_options_default(&options);
    strcpy(options.device, "cpu");
    EXPECT(kd_points_open(&one, &whole, &options) == KD_OK);
    options.first_id = first;
    EXPECT(kd_points_open_distributed(&all, &part, &options, MPI_COMM_WORLD) == KD_OK);
    kd_points_describe(all, &info);
    EXPECT(info.count == COUNT && (int)info.parts == size && kd_points_count(all) == COUNT);
    kd_points_query_default(&query);
    query.max_radius = 0.12;
    query.points = kd_point_array_make(queries, QUERIES, 3, KD_FLOAT);
    compare(one, all, &query, first);
    query.max_radius = INFINITY;
    query.points.count = rank == 0 ? 0 : 40; /* rank 0 has no queries */
    compare(one, all, &query, first);
    /* if one rank has an error, all report it, and the tree remains usable */
    query.points.count = QUERIES;
    if (rank == size - 1) queries[7][1] = NAN;
    EXPECT(nearest64(all, &query, K, NULL, NULL) == KD_ERROR_INPUT);
    make(1);
    if (size > 1) EXPECT(nearest64(all, &query, rank == 1 ? 2 : 3, NULL, NULL) == KD_ERROR_USAGE);
    query.max_radius = 0.05;
    compare(one, all, &query, first);
    EXPECT(kd_points_download(all, NULL, one_ids, NULL) == KD_ERROR_USAGE);
    kd_points_close(one);
    kd_points_close(all);
}

/* A NaN on one process, or different devices: no rank gets a tree, and none hangs. */
static void failures(void) {
    kd_points *tree = NULL;
    kd_point_array part = kd_point_array_make(cloud, 50, 3, KD_FLOAT);
    kd_points_options options;
    kd_points_options_default(&options);
    strcpy(options.device, "cpu");
    if (rank == size - 1) cloud[3][2] = NAN;
    EXPECT(kd_points_open_distributed(&tree, &part, &options, MPI_COMM_WORLD) == KD_ERROR_INPUT);
    EXPECT(!tree && strstr(kd_last_error(), "point 3"));
    make(2);
    if (rank == 0) strcpy(options.device, "cuda:99");
    EXPECT(kd_points_open_distributed(&tree, &part, &options, MPI_COMM_WORLD) == KD_ERROR_DEVICE);
    if (rank == 0) strcpy(options.device, "cpu");
    if (rank == size - 1) part.dims = 2;
    EXPECT(size == 1 ||
           kd_points_open_distributed(&tree, &part, &options, MPI_COMM_WORLD) == KD_ERROR_USAGE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make(1);
    answers(0);
    make(1);
    answers((uint64_t)1 << 40);
    failures();
    if (rank == 0) printf("ok %d\n", size);
    MPI_Finalize();
    return 0;
}
