/* Outlier detection in a scanned point cloud: computes the mean distance from each point to its 8
   nearest neighbours, and counts as outliers the points where it exceeds 4 times the median.
       cloud_neighbours FILE       FILE has lines "x y z" or "v x y z" (OBJ); others are skipped */
#include <kandela/points.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NEIGHBOURS = 8 };

/* Returns the points of a file, which the caller frees; NULL if there are none. */
static float *read_cloud(const char *path, uint64_t *count) {
    char line[256];
    float *xyz = NULL;
    uint64_t capacity = 0;
    FILE *file = fopen(path, "r");
    *count = 0;
    while (file && fgets(line, sizeof line, file)) {
        float p[3];
        const char *numbers = line[0] == 'v' && line[1] == ' ' ? line + 2 : line;
        if (sscanf(numbers, "%f %f %f", &p[0], &p[1], &p[2]) != 3) continue;
        if (*count == capacity) {
            float *more = realloc(xyz, (capacity = capacity * 2 + 1024) * 3 * sizeof(float));
            if (!more) break;
            xyz = more;
        }
        for (int axis = 0; axis < 3; ++axis) xyz[3 * *count + axis] = p[axis];
        ++*count;
    }
    if (file) fclose(file);
    return xyz;
}

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    uint64_t count, i, distant = 0;
    float *xyz = argc == 2 ? read_cloud(argv[1], &count) : NULL;
    if (!xyz) return fprintf(stderr, "usage: %s FILE with lines \"x y z\"\n", argv[0]), 2;
    kd_point_array cloud = kd_point_array_make(xyz, count, 3, KD_FLOAT);
    kd_points *tree = NULL;
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = cloud;
    float *dist2 = malloc(count * (NEIGHBOURS + 1) * sizeof *dist2); /* each is its own first */
    float *mean = malloc(2 * count * sizeof *mean), *sorted = mean + count;
    if (!dist2 || !mean || kd_points_open(&tree, &cloud, NULL) != KD_OK ||
        kd_points_nearest(tree, &query, NEIGHBOURS + 1, NULL, dist2, NULL) != KD_OK)
        return fprintf(stderr, "%s\n", kd_last_error()), 1;
    for (i = 0; i < count; ++i) {
        mean[i] = 0;
        for (int j = 1; j <= NEIGHBOURS; ++j)
            mean[i] += sqrtf(dist2[i * (NEIGHBOURS + 1) + j]) / NEIGHBOURS;
        sorted[i] = mean[i];
    }
    qsort(sorted, count, sizeof *sorted, compare);
    for (i = 0; i < count; ++i) distant += mean[i] > 4 * sorted[count / 2];
    printf("%lu points, median distance to %d neighbours %g, %lu points stand apart\n",
           (unsigned long)count, NEIGHBOURS, sorted[count / 2], (unsigned long)distant);
    kd_points_close(tree);
    free(dist2), free(mean), free(xyz);
    return 0;
}
