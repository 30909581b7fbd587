/* render/photon_mapping/pilot.c: emission ends where an image needs no more photons, it is guided
   towards what the camera sees, and the result is the same for any number of threads. All limits
   are numbers of paths. */
#include "photon/maps/photon_map.h"
#include "render/api/render.h"
#include "render/photon_mapping/pilot.h"
#include "tests/scenes/files.h"

/* A box on a small floor, both lit by a lamp from which most light misses them. */
#define OPEN(albedo)                                                                               \
    "{\"kandela\": 1, \"meshes\": ["                                                               \
    "{\"quad\": [[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]], \"material\": "                  \
    "{\"diffuse\": " albedo "}},"                                                                  \
    "{\"box\": {\"lo\": [-0.2, 0, -0.2], \"hi\": [0.2, 0.4, 0.2]}, \"material\": "                 \
    "{\"diffuse\": " albedo "}}],"                                                                 \
    "\"lights\": [{\"kind\": \"point\", \"position\": [2, 4, 1], \"intensity\": 10}],"             \
    "\"camera\": {\"eye\": [0, 2, 4], \"look_at\": [0, 0.2, 0], \"fov\": 40}}"

/* A room with a window in a plain under the sky, seen from inside. */
static const char *const room =
    "{\"kandela\": 1, \"materials\": {\"white\": {\"diffuse\": 0.7}}, \"meshes\": ["
    "{\"quad\": [[-30, 0, 30], [30, 0, 30], [30, 0, -30], [-30, 0, -30]], \"material\": "
    "{\"diffuse\": 0.4}},"
    "{\"box\": {\"lo\": [-2.2, 2.6, -2.2], \"hi\": [2.2, 2.8, 2.2]}, \"material\": \"white\"},"
    "{\"box\": {\"lo\": [-2.2, 0, -2.2], \"hi\": [-2, 2.6, 2.2]}, \"material\": \"white\"},"
    "{\"box\": {\"lo\": [2, 0, -2.2], \"hi\": [2.2, 2.6, 2.2]}, \"material\": \"white\"},"
    "{\"box\": {\"lo\": [-2, 0, 2], \"hi\": [2, 2.6, 2.2]}, \"material\": \"white\"},"
    "{\"box\": {\"lo\": [-2, 0, -2.2], \"hi\": [-0.5, 2.6, -2]}, \"material\": \"white\"},"
    "{\"box\": {\"lo\": [0.5, 0, -2.2], \"hi\": [2, 2.6, -2]}, \"material\": \"white\"},"
    "{\"box\": {\"lo\": [-0.5, 0, -2.2], \"hi\": [0.5, 1, -2]}, \"material\": \"white\"},"
    "{\"box\": {\"lo\": [-0.5, 2, -2.2], \"hi\": [0.5, 2.6, -2]}, \"material\": \"white\"}],"
    "\"environment\": {\"radiance\": 1.0},"
    "\"camera\": {\"eye\": [-1.2, 1.5, 1.8], \"look_at\": [0.3, 1, -1], \"fov\": 70}}";

static int files_make(void **state) {
    if (folder_make(state)) return 1;
    file_put_text("open.json", OPEN("0.7"));
    file_put_text("dark.json", OPEN("0.05"));
    file_put_text("room.json", room);
    return 0;
}

static kd_render_options options_for(const char *method) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, method);
    strcpy(options.device, "cpu");
    options.width = 24;
    options.height = 18;
    options.spp = options.passes = 2;
    options.photons = 100000;
    options.gather = 20;
    return options;
}

static render_result render(const char *name, const kd_render_options *options) {
    scene *made = NULL;
    render_result result;
    kd_render_options unused;
    kd_render_options_default(&unused);
    assert_int_equal(scene_open(&made, file_in(name), &unused, NULL), KD_OK);
    if (render_run(&result, made, options, NULL) != KD_OK) fail_msg("%s", kd_last_error());
    scene_close(made);
    return result;
}

static void test_paths_are_bounded_by_the_image(void **state) {
    (void)state;
    static const char *const methods[] = {"photon", "sppm"};
    for (int i = 0; i < 2; ++i) {
        const kd_render_options options = options_for(methods[i]);
        render_result result = render("open.json", &options);
        const uint64_t maps = i ? (uint64_t)options.passes : 1;
        assert_in_range(result.frame.photons_emitted, maps * PILOT_PATHS / 2, maps * PILOT_PATHS);
        assert_true(result.frame.photons_stored > maps * 1000);
        render_close(&result);
    }
}

/* The limit is a number of paths per lookup, times the share of the image's light that the map
   holds: nearly all in the room, little in the open. */
static void test_a_larger_image_has_more_paths(void **state) {
    (void)state;
    kd_render_options options = options_for("photon");
    options.width = options.height = 32;
    options.photons = 400000;
    options.spp = 1;
    render_result result = render("open.json", &options);
    assert_int_equal(result.frame.photons_emitted, PILOT_PATHS);
    const uint64_t photons = result.frame.photon_hash;
    render_close(&result);
    options.spp = 3; /* the maps do not depend on the number of samples */
    result = render("open.json", &options);
    assert_true(result.frame.photon_hash == photons);
    render_close(&result);
    options.spp = 1;
    result = render("room.json", &options);
    /* guided, since the sky is outside of what the camera sees */
    const uint64_t most = PATHS_PER_GUIDED * 8 * 32 * 32;
    assert_in_range(result.frame.photons_emitted, most * 3 / 4, most);
    render_close(&result);
}

static void test_faint_maps_end_early(void **state) {
    (void)state;
    kd_render_options options = options_for("photon");
    options.width = options.height = 64;
    options.spp = 1;
    render_result result = render("dark.json", &options);
    assert_int_equal(result.frame.photons_emitted, PILOT_PATHS);
    render_close(&result);
}

/* Without guides, one in 1100 paths leaves a photon. */
static void test_photons_are_guided_into_a_room(void **state) {
    (void)state;
    const kd_render_options options = options_for("sppm");
    render_result result = render("room.json", &options);
    assert_true(result.frame.photons_emitted <= (uint64_t)options.passes * PILOT_PATHS);
    assert_true(result.frame.photons_stored * 100 > result.frame.photons_emitted);
    render_close(&result);
}

static void test_threads_do_not_matter(void **state) {
    (void)state;
    static const char *const scenes[] = {"room.json", "open.json"};
    for (int i = 0; i < 2; ++i) {
        kd_render_options options = options_for(i ? "sppm" : "photon");
        uint64_t images[2], photons[2];
        for (int t = 0; t < 2; ++t) {
            options.threads = t ? 3 : 1;
            render_result result = render(scenes[i], &options);
            images[t] = result.image_hash;
            photons[t] = result.frame.photon_hash;
            render_close(&result);
        }
        assert_true(images[0] == images[1] && photons[0] == photons[1]);
    }
}

/* Maps without an image, as `kandela photons` makes them, have no further limit. */
static void test_no_image_no_limit(void **state) {
    (void)state;
    scene *made = NULL;
    kd_render_options unused;
    photon_order orders[PHOTON_LISTS];
    kd_render_options_default(&unused);
    assert_int_equal(scene_open(&made, file_in("room.json"), &unused, NULL), KD_OK);
    const scene_view view = scene_get_view(made);
    const photon_options options = photon_options_default();
    assert_int_equal(photon_orders_make(orders, &view, &options), KD_OK);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        assert_true(emit_paths_max(&orders[l]) == emit_paths_per_photons(&orders[l]));
        assert_true(orders[l].emission.guided <= 0);
    }
    scene_close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_bounded_by_the_image),
        cmocka_unit_test(test_a_larger_image_has_more_paths),
        cmocka_unit_test(test_faint_maps_end_early),
        cmocka_unit_test(test_photons_are_guided_into_a_room),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_no_image_no_limit),
    };
    return cmocka_run_group_tests(tests, files_make, folder_remove);
}
