/* The stack-free traversal of the left-balanced tree and the leaf index return the same photons:
   pictures are equal bit for bit, for every integrator that queries photon maps and every
   estimator. */
#include "accel/builders.h"
#include "photon/maps/photon_map.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "test.h"
#include <unistd.h>

static const char *const room_path = "lookup.json";

/* Opens a room with a glass sphere in front of its lamp, and fog, so that every map has photons. */
static scene *open_room(void) {
    FILE *file = fopen(room_path, "w");
    scene *made = NULL;
    kd_render_options unused;
    assert_non_null(file);
    fputs("{\"kandela\": 1, \"media\": {\"fog\": {\"scattering\": 0.2}}, \"fog\": \"fog\",\n"
          "\"materials\": {\"lamp\": {\"emission\": 9}, \"glass\": {\"kind\": \"glass\"},\n"
          "\"wall\": {\"diffuse\": 0.6}},\n\"meshes\": [\n"
          "{\"box\": {\"lo\": [-1, -1, -1], \"hi\": [1, 1, 1]}, \"material\": \"wall\"},\n"
          "{\"quad\": [[-0.4, 0.9, -0.4], [0.4, 0.9, -0.4], [0.4, 0.9, 0.4], [-0.4, 0.9, 0.4]],\n"
          "\"material\": \"lamp\"},\n"
          "{\"sphere\": {\"centre\": [0, 0.2, 0], \"radius\": 0.4, \"triangles\": 80},\n"
          "\"material\": \"glass\"}],\n"
          "\"camera\": {\"eye\": [0.1, 0, 0.95], \"look_at\": [0, 0, -1], \"fov\": 70}}\n",
          file);
    fclose(file);
    kd_render_options_default(&unused);
    assert_int_equal(scene_open(&made, room_path, &unused, NULL), KD_OK);
    unlink(room_path);
    return made;
}

static kd_render_options small_options(const char *integrator_name) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, integrator_name);
    strcpy(options.device, "cpu");
    options.width = options.height = 12;
    options.spp = options.passes = 2;
    options.photons = options.caustic_photons = options.media_photons = 600;
    options.gather = 30;
    options.max_depth = 8;
    return options;
}

static void set(char to[16], const char *name) {
    memset(to, 0, 16);
    strcpy(to, name);
}

static uint64_t picture_by(const scene *room, const kd_render_options *base, const char *lookup) {
    kd_render_options options = *base;
    render_result made;
    set(options.lookup, lookup);
    assert_int_equal(render_run(&made, room, &options, NULL), KD_OK);
    const uint64_t hash = made.image_hash;
    render_close(&made);
    return hash;
}

static void test_lookup_methods_give_equal_pictures(void **state) {
    (void)state;
    scene *room = open_room();
    int methods = 0;
    for (const integrator *const *row = integrators; *row; ++row) {
        if (!(*row)->maps) continue;
        ++methods;
        for (int estimator = 0; estimator < PHOTON_ESTIMATORS; ++estimator)
            for (int rays = 0; rays <= 2; rays += 2) {
                kd_render_options options = small_options((*row)->name);
                options.final_gather = rays;
                set(options.estimator, photon_estimator_name(estimator));
                set(options.channel, "density");
                const uint64_t by_index = picture_by(room, &options, "auto");
                for (int l = 0; l < PHOTON_LOOKUPS; ++l)
                    assert_true(picture_by(room, &options, photon_lookup_name(l)) == by_index);
            }
    }
    assert_true(methods >= 3);
    scene_close(room);
}

/* The stack-free traversal needs no index, so none is built. */
static void test_stack_free_lookup_builds_no_index(void **state) {
    (void)state;
    scene *made = open_room();
    scene_view view = scene_get_view(made);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options tree_options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &input, &tree_options, "auto", NULL), KD_OK);
    view.tree = tritree_get_view(&tree);
    for (int l = 0; l < PHOTON_LOOKUPS; ++l) {
        photon_options options = photon_options_default();
        photon_maps maps;
        options.photons = options.caustics = 500;
        options.lookup = (photon_lookup)l;
        assert_int_equal(photon_maps_open(&maps, &view, &options, NULL), KD_OK);
        const photon_map_view global = photon_maps_global(&maps);
        assert_true(global.walks == photon_lookups[l].walks);
        assert_true((global.finder == NULL) == photon_lookups[l].walks);
        assert_true((maps.global.index.boxes == NULL) == photon_lookups[l].walks);
        photon_maps_close(&maps);
    }
    tritree_close(&tree);
    scene_close(made);
}

static void test_unknown_names_are_rejected(void **state) {
    (void)state;
    scene *room = open_room();
    kd_render_options options = small_options("photon");
    render_result made;
    set(options.lookup, "");
    assert_int_equal(render_run(&made, room, &options, NULL), KD_OK);
    render_close(&made);
    set(options.lookup, "walks");
    assert_int_equal(render_run(&made, room, &options, NULL), KD_ERROR_USAGE);
    scene_close(room);
    assert_non_null(strstr(kd_last_error(), "`lookup` is walks; expected auto, leaves or walk"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup_methods_give_equal_pictures),
        cmocka_unit_test(test_stack_free_lookup_builds_no_index),
        cmocka_unit_test(test_unknown_names_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
