/* Real models (KANDELA_MODELS): the costs of exact trees against published ones, invariants, rays
   against brute force, and the same hits at any scale. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/tree/tritree.h"
#include "scenes/formats/mesh_formats.h"
#include "triangle_sets.h"

/* SAH costs with C_t = C_i = 1, empty factor 0.8, of another exact builder (sah_kd_tree). */
static const struct {
    const char *name;
    double cost;
} models[] = {{"bunny.obj", 62.50}, {"dragon.obj", 82.31}, {"sponza.obj", 76.37}};
enum { MODELS = sizeof models / sizeof *models, RAYS = 600 };

static bool load(mesh *out, const char *name) {
    const char *path = test_model(name);
    if (!path) return false;
    if (obj_load(out, path, NULL, NULL) != KD_OK) fail_msg("%s: %s", name, kd_last_error());
    return true;
}

static triangle_set set_of(const mesh *mesh) {
    triangle_set set = {mesh->positions, mesh->triangles, {0}, 0, {0, 0, 0}};
    set.input = (tritree_input){mesh->positions, mesh->triangles, mesh->position_count,
                                mesh->triangle_count};
    box3 box = box3_empty();
    for (uint32_t i = 0; i < mesh->position_count; ++i) box3_include(&box, mesh->positions[i]);
    set.size = vec3_largest(box3_size(box));
    set.centre = box3_centre(box);
    return set;
}

static void test_exact_trees_have_lowest_cost(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; ++i) {
        mesh loaded = {0};
        if (!load(&loaded, models[i].name)) skip();
        const triangle_set set = set_of(&loaded);
        tritree_options options = tritree_options_default();
        options.traversal_cost = 1;
        options.empty_factor = 0.8f;
        tritree tree;
        assert_int_equal(tritree_open(&tree, &set.input, &options, "sweep", NULL), KD_OK);
        if (tritree_check(&tree) != KD_OK) fail_msg("%s: %s", models[i].name, kd_last_error());
        print_message("%s: SAH cost %.2f, at most %.2f; %.2f references a triangle\n",
                      models[i].name, tree.statistics.sah_cost, models[i].cost,
                      tree.statistics.references_per_triangle);
        assert_true(tree.statistics.sah_cost <= models[i].cost);
        tritree_close(&tree);
        mesh_close(&loaded);
    }
}

static ray_hit brute_force(const tritree_input *input, ray ray) {
    ray_hit best = {ray.tmax, 0, 0, KD_NONE};
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)id;
        const vec3 a = input->positions[index[0]], b = input->positions[index[1]],
                   c = input->positions[index[2]];
        float t = 0, u = 0, v = 0;
        if (triangle_intersect(&precomputed, a, b, c, &t, &u, &v) && t > ray.tmin && t < best.t &&
            !triangle_is_degenerate(a, b, c))
            best = (ray_hit){t, u, v, id};
    }
    return best;
}

static void test_rays_match_brute_force(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; ++i) {
        mesh loaded = {0};
        if (!load(&loaded, models[i].name)) skip();
        const triangle_set set = set_of(&loaded);
        const tritree_options options = tritree_options_default();
        ray rays[RAYS];
        ray_hit expected[RAYS];
        for (uint32_t k = 0; k < RAYS; ++k) {
            rays[k] = triangle_set_ray(&set, k);
            expected[k] = brute_force(&set.input, rays[k]);
        }
        for (const tritree_builder *const *row = tritree_builders; *row; ++row) {
            tritree tree;
            assert_int_equal(tritree_open(&tree, &set.input, &options, (*row)->name, NULL), KD_OK);
            const tritree_view view = tritree_get_view(&tree);
            for (uint32_t k = 0; k < RAYS; ++k) {
                const ray_hit got = tritree_closest(&view, rays[k]);
                if (got.triangle != expected[k].triangle || got.t != expected[k].t)
                    fail_msg("%s, %s, ray %u: triangle %u at %.9g, expected %u at %.9g",
                             (*row)->name, models[i].name, k, got.triangle, (double)got.t,
                             expected[k].triangle, (double)expected[k].t);
                assert_true(tritree_occluded(&view, rays[k]) == (got.triangle != KD_NONE));
            }
            tritree_close(&tree);
        }
        mesh_close(&loaded);
    }
}

/* Scaling by 2^-20 and 2^20 (about 1e-6 and 1e6) is exact, so every hit stays the same. */
static void test_hits_are_scale_invariant(void **state) {
    (void)state;
    enum { SIDE = 200 };
    mesh loaded = {0};
    if (!load(&loaded, "bunny.obj")) skip();
    static uint32_t triangles[3][SIDE * SIDE];
    /* scale factors from one size to the next */
    static const float steps[3] = {1, 0x1p-20f, 0x1p40f};
    uint32_t hits = 0;
    for (int size = 0; size < 3; ++size) {
        for (uint32_t i = 0; i < loaded.position_count; ++i)
            loaded.positions[i] = vec3_scale(loaded.positions[i], steps[size]);
        const triangle_set set = set_of(&loaded);
        const tritree_options options = tritree_options_default();
        tritree tree;
        assert_int_equal(tritree_open(&tree, &set.input, &options, "sweep", NULL), KD_OK);
        const tritree_view view = tritree_get_view(&tree);
        for (uint32_t i = 0; i < SIDE * SIDE; ++i) {
            const float x = (float)(i % SIDE) / SIDE - 0.5f, y = (float)(i / SIDE) / SIDE - 0.5f;
            const vec3 origin = vec3_along(set.centre, set.size, vec3_make(x, y, 2));
            const ray ray = ray_make(origin, vec3_make(0, 0, -1), 0, INFINITY);
            triangles[size][i] = tritree_closest(&view, ray).triangle;
            hits += triangles[size][i] != KD_NONE;
        }
        assert_memory_equal(triangles[size], triangles[0], sizeof triangles[0]);
        tritree_close(&tree);
    }
    assert_true(hits > 3 * SIDE * SIDE / 10);
    mesh_close(&loaded);
}

int main(void) {
    if (!test_model("bunny.obj")) {
        fprintf(stderr, "KANDELA_MODELS names no folder with bunny.obj: skipped\n");
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact_trees_have_lowest_cost),
                                       cmocka_unit_test(test_rays_match_brute_force),
                                       cmocka_unit_test(test_hits_are_scale_invariant)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
