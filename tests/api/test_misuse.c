/* Invalid calls of the public interface other than NULL pointers: each returns KD_ERROR_USAGE with
   a message that names the argument, and reads or writes nothing outside the caller's arrays. */
#include <kandela/points.h>
#include <kandela/render.h>
#include <kandela/triangles.h>

#include "tests/neighbours/searches.h"
#include "tests/test.h"
#include <math.h>

enum { COUNT = 200, QUERIES = 20 };
static float cloud[COUNT * 3 + 4];

static void expect_refused(kd_status status, const char *says) {
    if (status != KD_ERROR_USAGE || !strstr(kd_last_error(), says))
        fail_msg("%s: \"%s\" lacks \"%s\"", kd_status_name(status), kd_last_error(), says);
}

static kd_points *open_points(void) {
    const kd_point_array points = kd_point_array_make(cloud, COUNT, 3, KD_FLOAT);
    kd_points *tree = NULL;
    assert_int_equal(kd_points_open(&tree, &points, NULL), KD_OK);
    return tree;
}

/* The results' memory has exactly the required size, so AddressSanitizer detects a write past the
   end. */
static void offsets_of_no_query(void **state) {
    (void)state;
    kd_points *tree = open_points();
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(cloud, QUERIES, 3, KD_FLOAT);
    query.max_radius = 30;
    uint64_t right[QUERIES + 1], offsets[QUERIES + 1];
    assert_int_equal(kd_points_within_count(tree, &query, right), KD_OK);
    uint32_t *ids = (uint32_t *)malloc(right[QUERIES] * sizeof *ids);
    float *dist2 = (float *)malloc(right[QUERIES] * sizeof *dist2);
    assert_true(ids && dist2);
    assert_int_equal(kd_points_within(tree, &query, right, ids, dist2), KD_OK);
    for (int i = 0; i <= QUERIES; ++i) offsets[i] = right[i] + 1000000;
    expect_refused(kd_points_within(tree, &query, offsets, ids, dist2), "`offsets[0]` is 1000000");
    for (int i = 1; i < QUERIES; ++i) {
        memcpy(offsets, right, sizeof offsets);
        for (int j = i; j < QUERIES; ++j) offsets[j] += 1000000;
        expect_refused(kd_points_within(tree, &query, offsets, ids, dist2), "before it");
        memcpy(offsets, right, sizeof offsets);
        offsets[i] = right[i + 1];
        if (right[i] != right[i + 1])
            expect_refused(kd_points_within(tree, &query, offsets, ids, dist2), "do not match");
    }
    free(ids);
    free(dist2);
    kd_points_close(tree);
}

#define ASKEW(type, pointer) ((type)(void *)((char *)(void *)(pointer) + 1))

static void misaligned_points(void **state) {
    (void)state;
    kd_points *tree = open_points(), *none = NULL;
    static uint32_t ids[COUNT + 1];
    static float dist2[COUNT + 1];
    static uint64_t offsets[COUNT + 2];
    kd_point_array points = kd_point_array_make(ASKEW(float *, cloud), COUNT, 3, KD_FLOAT);
    expect_refused(kd_points_open(&none, &points, NULL), "aligned to 4");
    points = kd_point_array_make(cloud, COUNT, 3, KD_FLOAT);
    points.ids = ASKEW(uint32_t *, ids);
    expect_refused(kd_points_open(&none, &points, NULL), "`points->ids`");
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(ASKEW(float *, cloud), QUERIES, 3, KD_FLOAT);
    expect_refused(kd_points_closest(tree, &query, ids, dist2), "`query.points`");
    query.points.coordinates = cloud;
    query.radii = ASKEW(float *, dist2);
    expect_refused(kd_points_closest(tree, &query, ids, dist2), "radii");
    query.radii = NULL;
    expect_refused(kd_points_closest(tree, &query, ASKEW(uint32_t *, ids), dist2), "`ids`");
    expect_refused(kd_points_closest(tree, &query, ids, ASKEW(float *, dist2)), "dist2");
    expect_refused(kd_points_nearest(tree, &query, 1, ids, dist2, ASKEW(uint32_t *, ids)),
                   "counts");
    expect_refused(kd_points_within_count(tree, &query, ASKEW(uint64_t *, offsets)), "offsets");
    expect_refused(kd_points_within(tree, &query, ASKEW(uint64_t *, offsets), ids, dist2),
                   "offsets");
    expect_refused(kd_points_download(tree, ASKEW(float *, cloud), NULL, NULL), "coordinates");
    expect_refused(kd_points_download(tree, NULL, ASKEW(uint32_t *, ids), NULL), "`ids`");
    kd_points_close(tree);
}

static kd_triangles *open_triangles(void) {
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(cloud, 3 * (COUNT / 3), NULL, COUNT / 3);
    kd_triangles *tree = NULL;
    assert_int_equal(kd_triangles_open(&tree, &mesh, NULL), KD_OK);
    return tree;
}

static void misaligned_triangles(void **state) {
    (void)state;
    static uint32_t indices[4] = {0, 1, 2, 3};
    kd_triangles *tree = open_triangles(), *none = NULL;
    kd_triangle_mesh mesh =
        kd_triangle_mesh_make(cloud, COUNT, ASKEW(const uint32_t *, indices), 1);
    expect_refused(kd_triangles_open(&none, &mesh, NULL), "indices");
    mesh = kd_triangle_mesh_make(ASKEW(const float *, cloud), COUNT, indices, 1);
    expect_refused(kd_triangles_open(&none, &mesh, NULL), "vertices");
    kd_ray rays[2];
    kd_ray_hit hits[2];
    kd_ray_counts counts[2];
    memset(rays, 0, sizeof rays);
    expect_refused(kd_triangles_intersect(tree, ASKEW(kd_ray *, rays), 1, hits, NULL), "rays");
    expect_refused(kd_triangles_intersect(tree, rays, 1, ASKEW(kd_ray_hit *, hits), NULL), "hits");
    expect_refused(kd_triangles_intersect(tree, rays, 1, hits, ASKEW(kd_ray_counts *, counts)),
                   "counts");
    kd_triangles_close(tree);
}

static void rays_of_two_kinds(void **state) {
    (void)state;
    kd_triangles *tree = open_triangles();
    const kd_ray one = {{0, 0, 0}, 0, {0, 0, 1}, 1};
    const float number = 1;
    kd_ray_hit hit;
    kd_ray_batch batch;
    for (int i = 0; i < 8; ++i) {
        kd_ray_batch_default(&batch);
        batch.count = 1;
        batch.rays = &one;
        batch.hits = &hit;
        assert_int_equal(kd_triangles_cast(tree, &batch), KD_OK);
        const float **arrays[8] = {&batch.origin[0],    &batch.origin[1],    &batch.origin[2],
                                   &batch.direction[0], &batch.direction[1], &batch.direction[2],
                                   &batch.tmin,         &batch.tmax};
        *arrays[i] = &number;
        expect_refused(kd_triangles_cast(tree, &batch), "either `rays` or the arrays");
        batch.rays = NULL;
        expect_refused(kd_triangles_cast(tree, &batch), "of the 6 arrays");
    }
    kd_triangles_close(tree);
}

static double stop_visit(void *context, uint64_t query, uint64_t id, double dist2, double bound) {
    (void)context, (void)query, (void)id, (void)dist2, (void)bound;
    return -1;
}

/* Queries that contradict themselves, and arrays that a search does not fill. */
static void contradictory_queries_are_refused(void **state) {
    (void)state;
    static float dist2[COUNT];
    static uint32_t ids[COUNT], counts[COUNT];
    static uint64_t ids64[COUNT], offsets[COUNT + 1];
    kd_points *tree = open_points();
    kd_points_query plain, self, boxes;
    kd_points_query_default(&plain);
    plain.points = kd_point_array_make(cloud, QUERIES, 3, KD_FLOAT);
    self = self_query_of(&plain);
    boxes = box_query_of(&plain.points, &plain.points);
#define NEAREST(query, ...)                                                                        \
    kd_points_search_nearest(                                                                      \
        tree, &(query), 1,                                                                         \
        &(const kd_points_rows){.struct_size = sizeof(kd_points_rows), __VA_ARGS__})
#define COUNTS(query, ...)                                                                         \
    kd_points_search_count(tree, &(query),                                                         \
                           &(const kd_points_rows){.struct_size = sizeof(kd_points_rows),          \
                                                   .offsets = offsets,                             \
                                                   __VA_ARGS__})
    assert_int_equal(NEAREST(self, .ids64 = ids64, .order = ids, .counts = counts), KD_OK);
    assert_int_equal(COUNTS(self, .order = ids), KD_OK);
    assert_int_equal(COUNTS(boxes, .ids = NULL), KD_OK);
    expect_refused(NEAREST(plain, .ids = ids, .ids64 = ids64), "`ids` and `ids64` are both set");
    expect_refused(NEAREST(plain, .offsets = offsets), "`offsets` must be NULL");
    expect_refused(NEAREST(plain, .order = ids), "`order` must be NULL");
    expect_refused(NEAREST(boxes, .ids = ids), "have no nearest points");
    expect_refused(COUNTS(plain, .ids = ids), "only counts");
    expect_refused(COUNTS(plain, .counts = counts), "`counts` must be NULL");
    const kd_points_rows lengths = {
        .struct_size = sizeof lengths, .offsets = offsets, .dist2 = dist2};
    expect_refused(kd_points_search_within(tree, &boxes, &lengths), "have no distances");
    const kd_points_rows unsized = {.struct_size = 0, .ids = ids};
    expect_refused(kd_points_search_nearest(tree, &plain, 1, &unsized), "kd_points_rows_default");
    expect_refused(kd_points_visit(tree, &self, stop_visit, NULL), "supports neither");
    self.points = plain.points;
    expect_refused(NEAREST(self, .ids = ids), "`points` must be empty and `radii` NULL if `self`");
    boxes.max_radius = 1;
    expect_refused(COUNTS(boxes, .ids = NULL), "have no distances");
    boxes.max_radius = (double)INFINITY;
    boxes.radii = dist2;
    expect_refused(COUNTS(boxes, .ids = NULL), "`radii` NULL if a box");
    boxes.radii = NULL;
    boxes.self = 1;
    expect_refused(COUNTS(boxes, .ids = NULL), "set one of them");
    boxes.self = 0;
    memset(&boxes.hi, 0, sizeof boxes.hi);
    expect_refused(COUNTS(boxes, .ids = NULL), "`hi` has 0 dimensions");
#undef NEAREST
#undef COUNTS
    kd_points_close(tree);
}

/* Counts and strides whose product overflows 64 bits or exceeds any memory. */
static void sizes_that_cannot_be(void **state) {
    (void)state;
    static const uint64_t strides[] = {(uint64_t)1 << 63, (uint64_t)1 << 62, (uint64_t)1 << 61,
                                       UINT64_MAX - 3};
    kd_points *tree = open_points(), *none = NULL;
    kd_triangles *no_triangles = NULL;
    uint64_t offsets[9];
    uint32_t ids[8];
    for (size_t i = 0; i < sizeof strides / sizeof *strides; ++i) {
        kd_point_array points = kd_point_array_make(cloud, 8, 3, KD_FLOAT);
        points.stride_bytes = strides[i];
        expect_refused(kd_points_open(&none, &points, NULL), "address space");
        expect_refused(kd_points_update(tree, &points), "address space");
        expect_refused(kd_points_insert(tree, &points, NULL), "address space");
        expect_refused(in_box_count(tree, &points, &points, offsets), "address space");
        kd_points_query query;
        kd_points_query_default(&query);
        query.points = points;
        expect_refused(kd_points_closest(tree, &query, ids, NULL), "address space");
        kd_points_options parts;
        kd_points_options_default(&parts);
        strcpy(parts.device, "cpu,cpu");
        expect_refused(kd_points_open(&none, &points, &parts), "address space");
        kd_triangle_mesh mesh = kd_triangle_mesh_make(cloud, 9, NULL, 3);
        mesh.stride_bytes = strides[i];
        expect_refused(kd_triangles_open(&no_triangles, &mesh, NULL), "address space");
    }
    kd_points_close(tree);
}

#define REFUSED(change, says)                                                                      \
    do {                                                                                           \
        kd_render_options options;                                                                 \
        kd_render_options_default(&options);                                                       \
        options.width = options.height = 2;                                                        \
        options.spp = 1;                                                                           \
        change;                                                                                    \
        kd_image *image = NULL;                                                                    \
        expect_refused(kd_render(&image, scene, &options, NULL, NULL), says);                      \
        assert_null(image);                                                                        \
    } while (0)
#define UNENDED(field)                                                                             \
    REFUSED(memset(options.field, 'x', sizeof options.field), "`" #field "` of `options`")

static void render_options_without_sense(void **state) {
    (void)state;
    kd_scene *scene = NULL, *none = NULL;
    assert_int_equal(kd_scene_load(&scene, "gen:blob:100", NULL), KD_OK);
    UNENDED(integrator);
    UNENDED(builder);
    UNENDED(device);
    UNENDED(kernel);
    UNENDED(channel);
    UNENDED(estimator);
    UNENDED(lookup);
    UNENDED(media);
    UNENDED(maps);
    REFUSED(strcpy(options.kernel, "conic"), "`kernel` is conic; expected disc, cone");
    REFUSED(options.filter = 4, "`filter` is 4; expected box");
    REFUSED(options.gather = 1, "`gather` is 1; expected a whole number from 2");
    REFUSED(options.spp = 0, "`spp` is 0; expected a whole number");
    REFUSED(options.time_seconds = (double)NAN, "`time_seconds` is nan");
    REFUSED(options.time_seconds = -1, "`time_seconds` is -1");
    REFUSED(options.target_error = (double)NAN, "`target_error` is nan");
    REFUSED(options.radius = NAN, "`radius` is nan");
    REFUSED(options.radius = -1, "`radius` is -1");
    REFUSED(options.shutter = NAN, "`shutter` is nan");
    REFUSED(options.clamp = -1, "`clamp` is -1");
    REFUSED(options.frame = INFINITY, "`frame` is inf");
    REFUSED(options.alpha = NAN, "`alpha` is nan");
    REFUSED(options.alpha = 2, "`alpha` is 2");
    REFUSED(options.threads = -1, "`threads` is -1; expected a whole number");
    REFUSED(options.sah_traversal_cost = NAN, "`sah_traversal_cost` is nan");
    REFUSED(options.sah_empty_factor = NAN, "`sah_empty_factor` is nan");
    kd_render_options options;
    kd_render_options_default(&options);
    memset(options.kernel, 'x', sizeof options.kernel);
    expect_refused(kd_scene_load(&none, "gen:blob:100", &options), "`kernel` of `options`");
    kd_image *image = NULL;
    kd_render_options_default(&options);
    options.width = options.height = options.spp = 1;
    assert_int_equal(kd_render(&image, scene, &options, NULL, NULL), KD_OK);
    expect_refused(kd_image_write(image, "/tmp/never.png", 0, (kd_tonemap)7), "`tonemap` is 7");
    kd_image_close(image);
    kd_scene_close(scene);
}

int main(void) {
    for (int i = 0; i < COUNT * 3; ++i) cloud[i] = (float)(i * 7919 % 1009) / 8;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_of_no_query),
        cmocka_unit_test(misaligned_points),
        cmocka_unit_test(misaligned_triangles),
        cmocka_unit_test(sizes_that_cannot_be),
        cmocka_unit_test(contradictory_queries_are_refused),
        cmocka_unit_test(rays_of_two_kinds),
        cmocka_unit_test(render_options_without_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
