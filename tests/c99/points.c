/* The public header is valid C99, and a C99 program gets correct results: the k nearest points of a
   grid. */
#include <kandela/points.h>
#include <math.h>
#include <stdio.h>

enum { SIDE = 20, K = 7 };

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s (%s)\n", __LINE__, #condition, kd_last_error());                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(void) {
    /* four floats per point: the stride skips the fourth, w */
    static float grid[SIDE * SIDE * SIDE][4];
    const float queries[2][3] = {{3.25F, 4.125F, 5.0F}, {-100, -100, -100}};
    uint32_t ids[2 * K], counts[2];
    float dist2[2 * K];
    uint64_t offsets[3];
    kd_points *tree = NULL;
    kd_points_query query;
    kd_point_array points = kd_point_array_make(grid, SIDE * SIDE * SIDE, 3, KD_FLOAT);
    int i;
    for (i = 0; i < SIDE * SIDE * SIDE; ++i) {
        grid[i][0] = (float)(i % SIDE);
        grid[i][1] = (float)(i / SIDE % SIDE);
        grid[i][2] = (float)(i / (SIDE * SIDE));
        grid[i][3] = (float)NAN;
    }
    points.stride_bytes = sizeof grid[0];
    EXPECT(kd_points_open(&tree, &points, NULL) == KD_OK);
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries, 2, 3, KD_FLOAT);
    EXPECT(kd_points_nearest(tree, &query, K, ids, dist2, counts) == KD_OK);
    EXPECT(counts[0] == K && counts[1] == K);
    EXPECT(ids[0] == 3 + 4 * SIDE + 5 * SIDE * SIDE && dist2[0] == 0.25F * 0.25F + 0.125F * 0.125F);
    EXPECT(ids[K] == 0 && dist2[K] == 30000);
    for (i = 1; i < K; ++i) EXPECT(dist2[i - 1] <= dist2[i]);
    query.max_radius = 1;
    EXPECT(kd_points_within_count(tree, &query, offsets) == KD_OK);
    EXPECT(offsets[0] == 0 && offsets[1] == offsets[2] && offsets[1] <= K);
    EXPECT(kd_points_within(tree, &query, offsets, ids, dist2) == KD_OK);
    EXPECT(ids[0] == 3 + 4 * SIDE + 5 * SIDE * SIDE);
    query.max_radius = -1;
    EXPECT(kd_points_closest(tree, &query, ids, dist2) == KD_ERROR_INPUT);
    EXPECT(kd_last_error()[0] != '\0' && kd_status_name(KD_ERROR_INPUT)[0] != '\0');
    kd_points_close(tree);
    return 0;
}
