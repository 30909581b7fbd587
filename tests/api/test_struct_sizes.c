/* Programs compiled against an older, smaller or a newer, larger struct: the library accesses no
   struct of the public interface beyond the size that the caller states. The structs end where an
   inaccessible page begins. */
#include <kandela/points.h>
#include <kandela/render.h>
#include <kandela/triangles.h>

#include "tests/test.h"
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NEWER = 64 /* bytes that a later version may add */ };

/* Returns `size` bytes that end at an inaccessible page; the same memory at every call. */
static void *guarded_bytes(size_t size) {
    static char *pages;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!pages) {
        void *made =
            mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(made != MAP_FAILED);
        pages = (char *)made;
        assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    }
    assert_true(size % sizeof(void *) == 0 && size <= page);
    memset(pages, 0x5a, page);
    return pages + page - size;
}

static size_t size_in_message(const void *at) {
    size_t size;
    memcpy(&size, at, sizeof size);
    return size;
}

/* Expects the leading bytes to equal those of the full struct, except for the size, which is the
   caller's, and the remaining bytes to be 0. */
static void expect_part(const void *part, size_t size, const void *full, size_t full_size) {
    const char *bytes = (const char *)part;
    assert_true(size_in_message(part) == size);
    const size_t copied = size < full_size ? size : full_size;
    assert_memory_equal(bytes + sizeof size, (const char *)full + sizeof size,
                        copied - sizeof size);
    for (size_t i = copied; i < size; ++i) assert_int_equal(bytes[i], 0);
}

/* Returns the struct as a program of another version declares it: the leading part of `full`. */
static void *cut(const void *full, size_t full_size, size_t size) {
    char *caller_struct = (char *)guarded_bytes(size);
    memset(caller_struct, 0, size);
    memcpy(caller_struct, full, size < full_size ? size : full_size);
    memcpy(caller_struct, &size, sizeof size);
    return caller_struct;
}

#define CUT(type, full, size) ((type *)cut(full, sizeof(type), size))

#define EACH_SIZE(size, type)                                                                      \
    for (size_t size = sizeof(size_t); size <= sizeof(type) + NEWER; size += sizeof(void *))

#define EXPECT_DEFAULTS(type, filler)                                                              \
    do {                                                                                           \
        type full;                                                                                 \
        filler(&full);                                                                             \
        assert_true(full.struct_size == sizeof full);                                              \
        EACH_SIZE(size, type) {                                                                    \
            type *part = (type *)guarded_bytes(size);                                              \
            filler##_sized(part, size);                                                            \
            expect_part(part, size, &full, sizeof full);                                           \
        }                                                                                          \
    } while (0)

static void test_defaults_fill_given_size(void **state) {
    (void)state;
    EXPECT_DEFAULTS(kd_points_options, kd_points_options_default);
    EXPECT_DEFAULTS(kd_points_query, kd_points_query_default);
    EXPECT_DEFAULTS(kd_triangles_options, kd_triangles_options_default);
    EXPECT_DEFAULTS(kd_ray_batch, kd_ray_batch_default);
    EXPECT_DEFAULTS(kd_render_options, kd_render_options_default);
}

static float cloud[60][3];

static void test_points_structs_of_other_versions(void **state) {
    (void)state;
    const kd_point_array points = kd_point_array_make(cloud, 60, 3, KD_FLOAT);
    kd_points_options options;
    kd_points_options_default(&options);
    kd_points *tree = NULL;
    EACH_SIZE(size, kd_points_options) {
        kd_points_close(tree);
        assert_int_equal(kd_points_open(&tree, &points, CUT(kd_points_options, &options, size)),
                         KD_OK);
    }
    kd_points_info info;
    kd_points_describe(tree, &info);
    EACH_SIZE(size, kd_points_info) {
        kd_points_info *part = (kd_points_info *)guarded_bytes(size);
        kd_points_describe_sized(tree, part, size);
        expect_part(part, size, &info, sizeof info);
    }
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = points;
    for (size_t size = offsetof(kd_points_query, radii); size <= sizeof query + NEWER; size += 8) {
        uint32_t ids[60];
        assert_int_equal(kd_points_closest(tree, CUT(kd_points_query, &query, size), ids, NULL),
                         KD_OK);
        for (uint32_t i = 0; i < 60; ++i) assert_int_equal(ids[i], i);
        (void)kd_points_scratch_bytes(tree, CUT(kd_points_query, &query, size));
    }
    kd_points_close(tree);
}

static void test_triangles_structs_of_other_versions(void **state) {
    (void)state;
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(cloud[0], 60, NULL, 20);
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    kd_triangles *tree = NULL;
    EACH_SIZE(size, kd_triangles_options) {
        kd_triangles_close(tree);
        assert_int_equal(kd_triangles_open(&tree, &mesh, CUT(kd_triangles_options, &options, size)),
                         KD_OK);
    }
    kd_triangles_info info;
    kd_triangles_describe(tree, &info);
    EACH_SIZE(size, kd_triangles_info) {
        kd_triangles_info *part = (kd_triangles_info *)guarded_bytes(size);
        kd_triangles_describe_sized(tree, part, size);
        expect_part(part, size, &info, sizeof info);
    }
    const kd_ray ray = {{0, 0, -1}, 0, {0, 0, 1}, 10};
    kd_ray_hit hit;
    kd_ray_batch batch;
    kd_ray_batch_default(&batch);
    batch.count = 1;
    batch.rays = &ray;
    batch.hits = &hit;
    for (size_t size = offsetof(kd_ray_batch, t); size <= sizeof batch + NEWER; size += 8)
        assert_int_equal(kd_triangles_cast(tree, CUT(kd_ray_batch, &batch, size)), KD_OK);
    kd_triangles_close(tree);
}

static void test_render_options_of_other_versions(void **state) {
    (void)state;
    kd_scene *scene = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    options.width = options.height = 1;
    options.spp = 1;
    assert_int_equal(kd_scene_load(&scene, "gen:blob:20", NULL), KD_OK);
    EACH_SIZE(size, kd_render_options) {
        kd_scene *again = NULL;
        kd_image *image = NULL;
        const int has_depth = size >= offsetof(kd_render_options, max_depth);
        kd_render_options *caller_options = CUT(kd_render_options, &options, size);
        assert_int_equal(kd_scene_load(&again, "gen:blob:20", caller_options), KD_OK);
        assert_true(size_in_message(caller_options) == size);
        if (has_depth)
            assert_int_equal(kd_render(&image, scene, caller_options, NULL, NULL), KD_OK);
        kd_image_close(image);
        kd_scene_close(again);
    }
    kd_scene_close(scene);
}

/* A newer program may leave unknown fields at 0; other values give an error. Invalid sizes are
   rejected. */
static void test_unknown_fields_are_rejected(void **state) {
    (void)state;
    const kd_point_array points = kd_point_array_make(cloud, 60, 3, KD_FLOAT);
    kd_points_options options;
    kd_points *tree = NULL;
    kd_points_options_default(&options);
    char *newer = (char *)cut(&options, sizeof options, sizeof options + NEWER);
    newer[sizeof options + 9] = 1;
    assert_int_equal(kd_points_open(&tree, &points, (kd_points_options *)(void *)newer),
                     KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "struct field at byte"));
    const size_t wrong[] = {0, 4, (size_t)-1, (size_t)1 << 40};
    for (int i = 0; i < 4; ++i) {
        options.struct_size = wrong[i];
        assert_int_equal(kd_points_open(&tree, &points, &options), KD_ERROR_USAGE);
        assert_non_null(strstr(kd_last_error(), "call kd_points_options_default first"));
    }
    kd_points_options_default_sized(&options, 0);
    kd_points_options_default_sized(NULL, sizeof options);
}

int main(void) {
    for (int i = 0; i < 180; ++i) cloud[i / 3][i % 3] = (float)(i * 7919 % 1009) / 64;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_fill_given_size),
        cmocka_unit_test(test_points_structs_of_other_versions),
        cmocka_unit_test(test_triangles_structs_of_other_versions),
        cmocka_unit_test(test_render_options_of_other_versions),
        cmocka_unit_test(test_unknown_fields_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
