/* <kandela/triangles.h>: results equal brute force, rejected calls give a reason, and reading a
   damaged file returns the original tree or an error. */
#include "accel/triangles.h"
#include "core/files/file.h"
#include "core/hash.h"
#include "core/parallel/parallel.h"
#include "triangle_sets.h"
#include <kandela/triangles.h>
#include <unistd.h>

enum { RAYS = 3000 };

static kd_triangle_mesh mesh_of(const triangle_set *set) {
    return kd_triangle_mesh_make(&set->positions[0].x, set->input.position_count, set->triangles,
                                 set->input.triangle_count);
}

static kd_triangles *open_set(const triangle_set *set, const kd_triangles_options *options) {
    kd_triangles *tree = NULL;
    const kd_triangle_mesh mesh = mesh_of(set);
    assert_int_equal(kd_triangles_open(&tree, &mesh, options), KD_OK);
    assert_non_null(tree);
    return tree;
}

static kd_ray public_ray(ray ray) {
    kd_ray made;
    memcpy(&made, &ray, sizeof made);
    return made;
}

static ray_hit brute_force(const tritree_input *input, ray ray) {
    ray_hit best = {ray.tmax, 0, 0, KD_NONE};
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const uint32_t *index = input->triangles + 3 * id;
        const vec3 a = input->positions[index[0]], b = input->positions[index[1]],
                   c = input->positions[index[2]];
        float t = 0, u = 0, v = 0;
        if (triangle_is_degenerate(a, b, c)) continue;
        if (triangle_intersect(&precomputed, a, b, c, &t, &u, &v) && t > ray.tmin && t < best.t)
            best = (ray_hit){t, u, v, id};
    }
    return best;
}

static void test_results_match_brute_force(void **state) {
    (void)state;
    static kd_ray rays[RAYS];
    static kd_ray_hit hits[RAYS], counted[RAYS];
    static kd_ray_counts counts[RAYS];
    static uint8_t blocked[RAYS];
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        triangle_set set = triangle_set_make((case_triangles)which, 300);
        kd_triangles *tree = open_set(&set, NULL);
        for (uint32_t i = 0; i < RAYS; ++i) rays[i] = public_ray(triangle_set_ray(&set, i));
        assert_int_equal(kd_triangles_intersect(tree, rays, RAYS, hits, NULL), KD_OK);
        assert_int_equal(kd_triangles_intersect(tree, rays, RAYS, counted, counts), KD_OK);
        assert_int_equal(kd_triangles_occluded(tree, rays, RAYS, blocked, NULL), KD_OK);
        assert_memory_equal(hits, counted, sizeof hits);
        kd_triangles_info info;
        kd_triangles_describe(tree, &info);
        assert_string_equal(info.form, info.references ? "wide" : "nodes");
        for (uint32_t i = 0; i < RAYS; ++i) {
            const ray_hit expected = brute_force(&set.input, triangle_set_ray(&set, i));
            assert_memory_equal(&hits[i], &expected, sizeof expected);
            assert_int_equal(blocked[i], expected.triangle != KD_NONE);
            assert_true(counts[i].nodes <= info.nodes && counts[i].leaves <= counts[i].nodes);
            if (expected.triangle != KD_NONE) assert_true(counts[i].triangles >= 1);
        }
        kd_triangles_close(tree);
        triangle_set_close(&set);
    }
}

/* Rays and hits as separate arrays give the same results as structs; so does each array alone. */
static void test_arrays_match_structs(void **state) {
    (void)state;
    static kd_ray rays[RAYS];
    static kd_ray_hit hits[RAYS];
    static float number[8][RAYS], t[RAYS], u[RAYS], v[RAYS];
    static uint32_t ids[RAYS];
    static uint8_t blocked[RAYS], other[RAYS];
    triangle_set set = triangle_set_make(CASE_SOUP, 300);
    kd_triangles *tree = open_set(&set, NULL);
    kd_ray_batch batch;
    kd_ray_batch_default(&batch);
    for (int k = 0; k < 3; ++k) {
        batch.origin[k] = number[k];
        batch.direction[k] = number[4 + k];
    }
    for (uint32_t i = 0; i < RAYS; ++i) {
        rays[i] = public_ray(triangle_set_ray(&set, i));
        for (int k = 0; k < 8; ++k) memcpy(&number[k][i], (float *)&rays[i] + k, sizeof(float));
    }
    batch.count = RAYS;
    batch.tmin = number[3];
    batch.tmax = number[7];
    batch.t = t;
    batch.u = u;
    assert_int_equal(kd_triangles_intersect(tree, rays, RAYS, hits, NULL), KD_OK);
    assert_int_equal(kd_triangles_occluded(tree, rays, RAYS, blocked, NULL), KD_OK);
    assert_int_equal(kd_triangles_cast(tree, &batch), KD_OK);
    batch.t = batch.u = NULL;
    batch.v = v;
    batch.triangles = ids;
    assert_int_equal(kd_triangles_cast(tree, &batch), KD_OK);
    for (uint32_t i = 0; i < RAYS; ++i) {
        const kd_ray_hit hit = {t[i], u[i], v[i], ids[i]};
        assert_memory_equal(&hit, &hits[i], sizeof hit);
    }
    batch.blocked = other;
    assert_int_equal(kd_triangles_cast(tree, &batch), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "2 kinds of results"));
    batch.v = NULL;
    batch.triangles = NULL;
    assert_int_equal(kd_triangles_cast(tree, &batch), KD_OK);
    assert_memory_equal(blocked, other, sizeof other);
    batch.blocked = NULL;
    assert_int_equal(kd_triangles_cast(tree, &batch), KD_ERROR_USAGE);
    batch.blocked = other;
    batch.direction[1] = NULL;
    assert_int_equal(kd_triangles_cast(tree, &batch), KD_ERROR_USAGE);
    kd_triangles_close(tree);
    triangle_set_close(&set);
}

/* The tree's copy of the mesh depends neither on the stride of the caller's arrays nor on whether
   there are indices, and the arrays may be changed afterwards. */
static void test_input_is_copied(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 200);
    kd_triangles *compressed = open_set(&set, NULL);
    static float strided[600][5];
    for (int i = 0; i < 600; ++i) {
        memcpy(strided[i], &set.positions[i], sizeof(vec3));
        strided[i][3] = strided[i][4] = NAN;
    }
    kd_triangle_mesh mesh = kd_triangle_mesh_make(strided[0], 600, NULL, 200);
    mesh.stride_bytes = sizeof strided[0];
    kd_triangles *copied = NULL;
    assert_int_equal(kd_triangles_open(&copied, &mesh, NULL), KD_OK);
    memset(strided, 0, sizeof strided);
    kd_triangles_info a, b;
    kd_triangles_describe(compressed, &a);
    kd_triangles_describe(copied, &b);
    assert_true(a.hash == b.hash && a.bytes == b.bytes);
    for (uint32_t i = 0; i < 100; ++i) {
        const kd_ray ray = public_ray(triangle_set_ray(&set, i));
        kd_ray_hit one, other;
        assert_int_equal(kd_triangles_intersect(compressed, &ray, 1, &one, NULL), KD_OK);
        assert_int_equal(kd_triangles_intersect(copied, &ray, 1, &other, NULL), KD_OK);
        assert_memory_equal(&one, &other, sizeof one);
    }
    kd_triangles_close(compressed);
    kd_triangles_close(copied);
    triangle_set_close(&set);
}

static void test_options_reach_the_builder(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 500);
    uint64_t hashes[4];
    kd_triangles_info info;
    for (int i = 0; i < 4; ++i) {
        kd_triangles_options options;
        kd_triangles_options_default(&options);
        if (i == 1) strcpy(options.builder, "median");
        if (i == 2) options.traversal_cost = 20;
        if (i == 3) options.max_depth = 3;
        parallel_set_threads(1 + i % 2);
        kd_triangles *tree = open_set(&set, &options);
        kd_triangles_describe(tree, &info);
        hashes[i] = info.hash;
        for (int j = 0; j < i; ++j) assert_true(hashes[j] != info.hash);
        if (i == 1) assert_string_equal(info.builder, "median");
        if (i == 3) assert_int_equal(info.depth, 3);
        kd_triangles_close(tree);
    }
    parallel_set_threads(0);
    triangle_set_close(&set);
}

static void test_invalid_rays_hit_nothing(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_LONG_SOUP, 200);
    kd_triangles *tree = open_set(&set, NULL);
    const kd_ray sound = {{0.5f, 0.5f, -1}, 0, {0, 0, 1}, INFINITY};
    kd_ray rays[9];
    for (int i = 0; i < 9; ++i) rays[i] = sound;
    rays[1].origin[1] = NAN;
    rays[2].origin[0] = INFINITY;
    rays[3].direction[2] = NAN;
    rays[4].direction[2] = INFINITY;
    rays[5].direction[2] = 0;
    rays[6].tmin = NAN;
    rays[7].tmin = 2;
    rays[7].tmax = 1;
    rays[8].tmax = NAN;
    kd_ray_hit hits[9];
    uint8_t blocked[9];
    assert_int_equal(kd_triangles_intersect(tree, rays, 9, hits, NULL), KD_OK);
    assert_int_equal(kd_triangles_occluded(tree, rays, 9, blocked, NULL), KD_OK);
    for (int i = 0; i < 9; ++i) {
        assert_int_equal(blocked[i], i == 0);
        assert_true((hits[i].triangle != KD_NO_TRIANGLE) == (i == 0));
        if (i) assert_memory_equal(&hits[i].t, &rays[i].tmax, sizeof(float));
    }
    kd_triangles_close(tree);
    triangle_set_close(&set);
}

static void expect_refused(const kd_triangle_mesh *mesh, const kd_triangles_options *options,
                           kd_status expected, const char *says) {
    kd_triangles *tree = (kd_triangles *)1;
    assert_int_equal(kd_triangles_open(&tree, mesh, options), expected);
    assert_null(tree);
    if (!strstr(kd_last_error(), says)) fail_msg("\"%s\" lacks \"%s\"", kd_last_error(), says);
}

static void test_invalid_arguments_are_rejected(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 20);
    const kd_triangle_mesh good = mesh_of(&set);
    kd_triangle_mesh mesh = good;
    expect_refused(NULL, NULL, KD_ERROR_USAGE, "NULL");
    mesh.vertices = NULL;
    expect_refused(&mesh, NULL, KD_ERROR_USAGE, "`vertices` must not be NULL");
    mesh = good;
    mesh.stride_bytes = 8;
    expect_refused(&mesh, NULL, KD_ERROR_USAGE, "`stride_bytes` is 8");
    mesh.stride_bytes = 13;
    expect_refused(&mesh, NULL, KD_ERROR_USAGE, "`stride_bytes` is 13");
    mesh = good;
    mesh.vertex_count = 59;
    expect_refused(&mesh, NULL, KD_ERROR_INPUT, "triangle 19 has vertex index 59");
    mesh.indices = NULL;
    expect_refused(&mesh, NULL, KD_ERROR_USAGE, "need 60 vertices; `vertex_count` is 59");
    mesh = good;
    mesh.triangle_count = UINT32_MAX;
    expect_refused(&mesh, NULL, KD_ERROR_USAGE, "`triangle_count` is 4294967295");
    set.positions[31].y = NAN;
    expect_refused(&good, NULL, KD_ERROR_INPUT, "triangle 10 has the vertex");
    set.positions[31].y = 0;
    static const struct {
        float ct, ci, empty;
        int32_t depth;
        const char *builder, *device, *says;
        kd_status expected;
    } options[] = {
        {-1, 1, 1, 0, "", "cpu", "`traversal_cost` is -1", KD_ERROR_USAGE},
        {1, 0, 1, 0, "", "cpu", "`intersect_cost` is 0", KD_ERROR_USAGE},
        {1, 1, 2, 0, "", "cpu", "`empty_factor` is 2", KD_ERROR_USAGE},
        {1, 1, 1, -4, "", "cpu", "`max_depth` is -4", KD_ERROR_USAGE},
        {1, 1, 1, 0, "swap", "cpu", "\"swap\"", KD_ERROR_USAGE},
        {1, 1, 1, 0, "", "abacus", "\"abacus\"", KD_ERROR_DEVICE},
        {1, 1, 1, 0, "", "cuda:99", "\"cuda:99\"", KD_ERROR_DEVICE},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        kd_triangles_options o;
        kd_triangles_options_default(&o);
        o.traversal_cost = options[i].ct;
        o.intersect_cost = options[i].ci;
        o.empty_factor = options[i].empty;
        o.max_depth = options[i].depth;
        strcpy(o.builder, options[i].builder);
        strcpy(o.device, options[i].device);
        expect_refused(&good, &o, options[i].expected, options[i].says);
    }
    kd_triangles_close(NULL);
    triangle_set_close(&set);
}

static void write_bytes(const char *path, const char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static kd_status load_bytes(const char *path, const char *bytes, size_t count) {
    kd_triangles *tree = (kd_triangles *)1;
    write_bytes(path, bytes, count);
    const kd_status status = kd_triangles_load(&tree, path, NULL);
    assert_true((status == KD_OK) == (tree != NULL));
    kd_triangles_close(tree);
    return status;
}

/* Recomputes the checksum over changed bytes, as an attacker would. */
static void sign(char *bytes, size_t count) {
    uint32_t sizes[4]; /* vertices, triangles, nodes, references */
    memcpy(sizes, bytes + 12, sizeof sizes);
    const uint64_t parts[4] = {12ull * sizes[0], 12ull * sizes[1], 8ull * sizes[2],
                               4ull * sizes[3]};
    if (112 + parts[0] + parts[1] + parts[2] + parts[3] + 8 != count) return;
    uint64_t hash = hash_bytes(bytes, 112);
    const char *at = bytes + 112;
    for (int i = 0; i < 4; at += parts[i++])
        if (parts[i]) hash = hash_combine(hash, at, parts[i]);
    memcpy(bytes + count - 8, &hash, sizeof hash);
}

static void expect_same_tree(const kd_triangles *tree, const kd_triangles *loaded,
                             const triangle_set *set) {
    kd_triangles_info a, b;
    kd_triangles_describe(tree, &a);
    kd_triangles_describe(loaded, &b);
    assert_memory_equal(&a, &b, sizeof a);
    for (uint32_t i = 0; i < 500; ++i) {
        const kd_ray ray = public_ray(triangle_set_ray(set, i));
        kd_ray_hit one, other;
        assert_int_equal(kd_triangles_intersect(tree, &ray, 1, &one, NULL), KD_OK);
        assert_int_equal(kd_triangles_intersect(loaded, &ray, 1, &other, NULL), KD_OK);
        assert_memory_equal(&one, &other, sizeof one);
    }
}

/* Reads the file truncated at every byte, one byte longer, and with every byte changed, with the
   old checksum and with a matching one. */
static void expect_no_other(const char *path, const char *whole, size_t bytes) {
    char *changed = (char *)malloc(bytes + 1);
    assert_non_null(changed);
    for (size_t cut = 0; cut < bytes; ++cut)
        assert_int_equal(load_bytes(path, whole, cut), KD_ERROR_INPUT);
    memcpy(changed, whole, bytes);
    changed[bytes] = 0;
    assert_int_equal(load_bytes(path, changed, bytes + 1), KD_ERROR_INPUT);
    size_t taken = 0;
    for (size_t at = 0; at < 2 * (bytes - 8); ++at) {
        const size_t place = at / 2;
        memcpy(changed, whole, bytes);
        changed[place] = (char)(changed[place] ^ (at % 2 ? 128 : 1));
        assert_int_equal(load_bytes(path, changed, bytes), KD_ERROR_INPUT);
        sign(changed, bytes);
        const kd_status status = load_bytes(path, changed, bytes);
        assert_true(status == KD_OK || status == KD_ERROR_INPUT);
        taken += status == KD_OK;
        /* the reader always verifies version, sizes, depth and the counts of leaves */
        if ((place >= 8 && place < 28) || (place >= 44 && place < 64))
            assert_int_equal(status, KD_ERROR_INPUT);
    }
    assert_true(taken > 0 &&
                taken < bytes); /* the builder's name may change, most other bytes may not */
    free(changed);
}

static void test_file_round_trip_and_damage(void **state) {
    (void)state;
    char path[] = "/tmp/test_triangles_XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    for (uint32_t count = 0; count <= 24; count += 12) {
        triangle_set set = triangle_set_make(CASE_SOUP, count);
        kd_triangles *tree = open_set(&set, NULL), *loaded = NULL;
        assert_int_equal(kd_triangles_save(tree, path), KD_OK);
        assert_int_equal(kd_triangles_load(&loaded, path, NULL), KD_OK);
        expect_same_tree(tree, loaded, &set);
        file_view file;
        assert_int_equal(file_open(&file, path), KD_OK);
        char *whole = (char *)malloc(file.count);
        assert_non_null(whole);
        memcpy(whole, file.bytes, file.count);
        const size_t bytes = file.count;
        file_close(&file);
        expect_no_other(path, whole, bytes);
        free(whole);
        kd_triangles_close(tree);
        kd_triangles_close(loaded);
        triangle_set_close(&set);
    }
    unlink(path);
    kd_triangles *none = NULL;
    assert_int_equal(kd_triangles_load(&none, path, NULL), KD_ERROR_INPUT);
    assert_int_equal(kd_triangles_load(&none, NULL, NULL), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_save(NULL, path), KD_ERROR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_match_brute_force),
        cmocka_unit_test(test_arrays_match_structs),
        cmocka_unit_test(test_input_is_copied),
        cmocka_unit_test(test_options_reach_the_builder),
        cmocka_unit_test(test_invalid_rays_hit_nothing),
        cmocka_unit_test(test_invalid_arguments_are_rejected),
        cmocka_unit_test(test_file_round_trip_and_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
