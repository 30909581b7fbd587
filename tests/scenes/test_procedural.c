/* scenes/mesh/generate.h: counts, closed surfaces, orientation, and the same bits for any number of
   threads. */
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/mesh/generate.h"
#include "scenes/mesh/surfaces.h"
#include "tests/test.h"

static mesh load(const char *path) {
    mesh made;
    const kd_status status = procedural_load(&made, path);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    return made;
}

static void test_triangle_counts(void **state) {
    (void)state;
    static const struct {
        const char *path;
        uint32_t triangles;
    } expected[] = {{"gen:blob:300000", 299568},  {"gen:blob:1000000", 1002252},
                    {"gen:room:1000000", 969084}, {"gen:blob:1", 12},
                    {"gen:blob:48", 48},          {"gen:soup:12345", 12345},
                    {"gen:terrain:20000", 20000}, {"gen:cloth:20000", 20000},
                    {"gen:cornell", 36},          {"gen:wedge:999", 8}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
        mesh made = load(expected[i].path);
        assert_int_equal(made.triangle_count, expected[i].triangles);
        mesh_close(&made);
    }
    /* blob10M is checked by its formula only: 12 k k */
    const double k = nearbyint(sqrt(10e6 / 12));
    assert_true(12 * k * k == 10002828);
}

/* --- closed surfaces: an edge has as many triangles in one direction as in the other ---------- */

typedef struct edge {
    vec3 from, to;
    int kind;
} edge;

static int compare_edges(const void *a, const void *b) {
    return memcmp(a, b, 2 * sizeof(vec3));
}

/* Replaces -0 by 0, so that equal positions have equal bits. */
static vec3 plain(vec3 v) {
    return vec3_make(v.x + 0.0f, v.y + 0.0f, v.z + 0.0f);
}

static uint64_t open_edges(const mesh *mesh) {
    const uint64_t count = 3 * (uint64_t)mesh->triangle_count;
    edge *edges = NULL;
    assert_int_equal(KD_RESERVE_ZEROED(edges, count), KD_OK);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t next = i % 3 == 2 ? i - 2 : i + 1;
        const vec3 a = plain(mesh->positions[mesh->triangles[i]]);
        const vec3 b = plain(mesh->positions[mesh->triangles[next]]);
        const bool forward = memcmp(&a, &b, sizeof a) < 0;
        edges[i].from = forward ? a : b;
        edges[i].to = forward ? b : a;
        edges[i].kind = forward ? 1 : -1;
    }
    qsort(edges, count, sizeof *edges, compare_edges);
    uint64_t open = 0;
    for (uint64_t i = 0, end; i < count; i = end) {
        int sum = 0;
        for (end = i; end < count && compare_edges(&edges[i], &edges[end]) == 0; ++end)
            sum += edges[end].kind;
        open += sum != 0;
    }
    memory_free(edges);
    return open;
}

static double signed_volume(const mesh *mesh) {
    double sum = 0;
    for (uint64_t i = 0; i < mesh->triangle_count; ++i) {
        const vec3 a = mesh->positions[mesh->triangles[3 * i]];
        const vec3 b = mesh->positions[mesh->triangles[3 * i + 1]];
        const vec3 c = mesh->positions[mesh->triangles[3 * i + 2]];
        sum += (double)vec3_dot(a, vec3_cross(b, c)) / 6;
    }
    return sum;
}

static void test_closed_shapes_are_watertight_and_face_outwards(void **state) {
    (void)state;
    for (const procedural_generator *row = procedural_generators; row->name; ++row)
        for (uint64_t triangles = 1; triangles < 20000; triangles = triangles * 7 + 5) {
            char path[64];
            snprintf(path, sizeof path, "gen:%s:%llu", row->name, (unsigned long long)triangles);
            mesh made = load(path);
            if (row->closed) {
                assert_int_equal(open_edges(&made), 0);
                assert_true(signed_volume(&made) > 0);
            }
            mesh_close(&made);
        }
    mesh made = load("gen:sphere:50000");
    assert_true(fabs(signed_volume(&made) - 4.18879) < 0.002);
    mesh_close(&made);
    made = load("gen:soup:1000"); /* shows that the check can fail */
    assert_int_equal(open_edges(&made), 3000);
    mesh_close(&made);
}

/* A glass of water: the glass and its interface with the water have no opening at the axis, and the
   water's surface ends in a circle of the glass. */
static void test_interfaces_of_glass_of_water_meet(void **state) {
    (void)state;
    mesh made = load("gen:glass:5000");
    const uint64_t open = open_edges(&made);
    uint64_t rim = 0;
    for (uint64_t i = 0; i < made.triangle_count; ++i)
        if (made.triangle_materials[i] == 2) ++rim;
    assert_true(rim > 0);
    assert_int_equal(open, rim); /* the waterline: one edge for each spoke of the fan */
    for (uint64_t i = 0; i < made.triangle_count; ++i) {
        const material *record = &made.materials[made.triangle_materials[i]].record;
        assert_int_equal(record->kind, MATERIAL_GLASS);
        const double expected[3] = {1.5, 1.5 / 1.333, 1.333};
        assert_true(fabs((double)record->ior - expected[made.triangle_materials[i]]) < 1e-6);
    }
    mesh_close(&made);
}

static void check_sound(const mesh *mesh) {
    for (uint64_t i = 0; i < mesh->position_count; ++i)
        assert_true(vec3_is_finite(mesh->positions[i]));
    for (uint64_t i = 0; i < mesh->normal_count; ++i)
        assert_true(fabsf(vec3_length2(mesh->normals[i]) - 1) < 1e-4f);
    for (uint64_t i = 0; i < 3 * (uint64_t)mesh->triangle_count; ++i) {
        assert_true(mesh->triangles[i] < mesh->position_count);
        if (mesh->normal_indices && mesh->normal_indices[i] != KD_NONE)
            assert_true(mesh->normal_indices[i] < mesh->normal_count);
        if (mesh->texcoord_indices && mesh->texcoord_indices[i] != KD_NONE)
            assert_true(mesh->texcoord_indices[i] < mesh->texcoord_count);
    }
    for (uint64_t i = 0; i < mesh->triangle_count; ++i)
        assert_true(mesh->triangle_materials[i] < mesh->material_count);
}

/* Returns the fraction of corners whose normal points to the back of their triangle. */
static double turned_normals(const mesh *mesh) {
    uint64_t turned = 0, all = 0;
    for (uint64_t i = 0; i < mesh->triangle_count && mesh->normal_indices; ++i) {
        const uint32_t *t = mesh->triangles + 3 * i;
        const vec3 a = mesh->positions[t[0]];
        const vec3 face =
            vec3_cross(vec3_sub(mesh->positions[t[1]], a), vec3_sub(mesh->positions[t[2]], a));
        for (uint64_t corner = 0; corner < 3; ++corner) {
            const uint32_t index = mesh->normal_indices[3 * i + corner];
            if (index == KD_NONE || vec3_is_zero(face)) continue;
            ++all;
            turned += vec3_dot(mesh->normals[index], face) < 0;
        }
    }
    return all ? (double)turned / (double)all : 0;
}

static void test_all_shapes_are_valid(void **state) {
    (void)state;
    for (const procedural_generator *row = procedural_generators; row->name; ++row)
        for (uint64_t triangles = 1; triangles < 100000; triangles = triangles * 9 + 7) {
            char path[64];
            snprintf(path, sizeof path, "gen:%s:%llu", row->name, (unsigned long long)triangles);
            mesh made = load(path);
            assert_true(made.triangle_count > 0);
            check_sound(&made);
            assert_true(turned_normals(&made) < 0.002);
            mesh_close(&made);
        }
}

static uint64_t mesh_hash(const mesh *mesh) {
    const uint64_t hash = hash_bytes(mesh->positions, mesh->position_count * sizeof(vec3));
    return hash_combine(hash, mesh->triangles, 3 * sizeof(uint32_t) * mesh->triangle_count);
}

static void test_shapes_are_independent_of_threads(void **state) {
    (void)state;
    static const char *const paths[] = {"gen:blob:30000", "gen:room:30000", "gen:soup:30000",
                                        "gen:terrain:30000", "gen:blob:30000:2"};
    uint64_t hashes[5];
    for (int i = 0; i < 5; ++i) {
        for (int threads = 1; threads <= 8; threads *= 2) {
            parallel_set_threads(threads);
            mesh made = load(paths[i]);
            if (threads == 1) hashes[i] = mesh_hash(&made);
            assert_true(mesh_hash(&made) == hashes[i]);
            mesh_close(&made);
        }
        for (int j = 0; j < i; ++j) assert_true(hashes[i] != hashes[j]);
    }
    parallel_set_threads(0);
}

static void test_invalid_names_are_rejected(void **state) {
    (void)state;
    static const char *const paths[] = {
        "gen:",          "gen:blub",      "gen:blo",        "gen:blob:",
        "gen:blob:x",    "gen:blob:0",    "gen:blob:1e6",   "gen:blob:-5",
        "gen:blob:100:", "gen:blob:9:9:", "gen:blob:9:9:9", "gen:blob:99999999999999999999",
        "gen:blob: 5"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        mesh made;
        assert_int_equal(procedural_load(&made, paths[i]), KD_ERROR_INPUT);
        assert_non_null(strstr(kd_last_error(), paths[i]));
        assert_null(made.positions);
    }
}

/* A profile from axis to axis gives twice as many triangles as the rows of the formula. */
static void test_lathe_triangle_counts(void **state) {
    (void)state;
    const lathe_point cone[] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}};
    const lathe shape = {.profile = cone, .point_count = 3, .segments = 64};
    mesh_builder builder;
    mesh made;
    memset(&builder, 0, sizeof builder);
    lathe_turn(&builder, &shape);
    assert_int_equal(mesh_builder_finish(&builder, &made), KD_OK);
    assert_int_equal(made.triangle_count, lathe_triangles(&shape));
    assert_int_equal(made.triangle_count, 128);
    assert_int_equal(open_edges(&made), 0);
    assert_true(fabs(signed_volume(&made) - 2.0944) < 0.01); /* pi r^2 h / 3 */
    mesh_close(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangle_counts),
        cmocka_unit_test(test_closed_shapes_are_watertight_and_face_outwards),
        cmocka_unit_test(test_interfaces_of_glass_of_water_meet),
        cmocka_unit_test(test_all_shapes_are_valid),
        cmocka_unit_test(test_shapes_are_independent_of_threads),
        cmocka_unit_test(test_invalid_names_are_rejected),
        cmocka_unit_test(test_lathe_triangle_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
