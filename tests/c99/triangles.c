/* The public header is valid C99, and a C99 program gets correct results: rays from above through
   the centres of a grid of squares. */
#include <kandela/triangles.h>
#include <math.h>
#include <stdio.h>

enum { SIDE = 20 };

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s (%s)\n", __LINE__, #condition, kd_last_error());                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* four floats per vertex: the stride skips the fourth, w */
static float corners[(SIDE + 1) * (SIDE + 1)][4];
static uint32_t indices[2 * SIDE * SIDE][3];
static kd_ray rays[SIDE * SIDE + 1];
static kd_ray_hit hits[SIDE * SIDE + 1];
static uint8_t blocked[SIDE * SIDE + 1];
static kd_ray_counts counts[SIDE * SIDE + 1];

int main(void) {
    kd_triangles *tree = NULL;
    kd_triangles_info info;
    kd_triangle_mesh mesh;
    int i;
    for (i = 0; i < (SIDE + 1) * (SIDE + 1); ++i) {
        corners[i][0] = (float)(i % (SIDE + 1));
        corners[i][1] = (float)(i / (SIDE + 1));
        corners[i][3] = (float)NAN;
    }
    for (i = 0; i < SIDE * SIDE; ++i) {
        const uint32_t first = (uint32_t)(i / SIDE * (SIDE + 1) + i % SIDE);
        const uint32_t square[6] = {first, first + 1,        first + SIDE + 2,
                                    first, first + SIDE + 2, first + SIDE + 1};
        int k;
        for (k = 0; k < 6; ++k) indices[2 * i + k / 3][k % 3] = square[k];
        rays[i].origin[0] = (float)(i % SIDE) + 0.75F;
        rays[i].origin[1] = (float)(i / SIDE) + 0.5F;
        rays[i].origin[2] = 3;
        rays[i].direction[2] = -2;
        rays[i].tmax = INFINITY;
    }
    rays[SIDE * SIDE] = rays[0];
    rays[SIDE * SIDE].tmax = 1; /* this ray ends above the grid */
    mesh = kd_triangle_mesh_make(corners[0], (SIDE + 1) * (SIDE + 1), indices[0], 2 * SIDE * SIDE);
    mesh.stride_bytes = sizeof corners[0];
    EXPECT(kd_triangles_open(&tree, &mesh, NULL) == KD_OK);
    EXPECT(kd_triangles_intersect(tree, rays, SIDE * SIDE + 1, hits, NULL) == KD_OK);
    EXPECT(kd_triangles_occluded(tree, rays, SIDE * SIDE + 1, blocked, counts) == KD_OK);
    for (i = 0; i < SIDE * SIDE; ++i) {
        EXPECT(hits[i].triangle == (uint32_t)(2 * i) && hits[i].t == 1.5F);
        EXPECT(hits[i].u == 0.25F && hits[i].v == 0.5F);
        EXPECT(blocked[i] == 1 && counts[i].triangles >= 1 && counts[i].nodes >= counts[i].leaves);
    }
    EXPECT(hits[i].triangle == KD_NO_TRIANGLE && hits[i].t == 1 && blocked[i] == 0);
    kd_triangles_describe(tree, &info);
    EXPECT(info.triangles == 2 * SIDE * SIDE && info.references >= info.triangles);
    EXPECT(kd_triangles_intersect(tree, NULL, 1, hits, NULL) == KD_ERROR_USAGE);
    EXPECT(kd_last_error()[0] != '\0');
    kd_triangles_close(tree);
    indices[7][1] = (SIDE + 1) * (SIDE + 1);
    EXPECT(kd_triangles_open(&tree, &mesh, NULL) == KD_ERROR_INPUT && tree == NULL);
    return 0;
}
