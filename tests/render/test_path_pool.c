/* Paths of a pool are those that are followed one by one: all that the film takes of each sample,
   bit for bit, whatever the pool is given at a time; through cut-outs, media, coloured glass. */
#include "accel/builders.h"
#include "render/frame/integrator.h"
#include "render/integrators/pixel_methods.h"
#include "render/waves/path_pool.h"
#include "scenes/assembly/scene.h"
#include "tests/scenes/files.h"

enum { WIDTH = 40, HEIGHT = 24, EACH = 3, COUNT = WIDTH * HEIGHT * EACH };

/* Cut-outs before cut-outs, in fog, with glass that disperses and a mirror. */
static const char *const curtains =
    "{\"kandela\": 1, \"media\": {\"fog\": {\"absorption\": 0.03, \"scattering\": [0.2, 0.15, "
    "0.1], \"g\": -0.3}}, \"fog\": \"fog\", \"materials\": {"
    "\"veil\": {\"diffuse\": [0.3, 0.5, 0.6], \"opacity\": 0.3},"
    "\"flint\": {\"kind\": \"glass\", \"cauchy\": [1.6, 0.012, 0]},"
    "\"mirror\": {\"kind\": \"mirror\"},"
    "\"lamp\": {\"diffuse\": 0, \"emission\": [7, 8, 9], \"two_sided\": true}},"
    "\"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]]},"
    "{\"quad\": [[-2, 0, 2], [1, 0, 2], [1, 2, 2], [-2, 2, 2]], \"material\": \"veil\"},"
    "{\"quad\": [[-1, 0, 1], [1, 0, 1], [1, 2, 1], [-1, 2, 1]], \"material\": \"veil\"},"
    "{\"quad\": [[-2, 3, -1], [-1, 3, -1], [-1, 3, 0], [-2, 3, 0]], \"material\": \"lamp\"},"
    "{\"box\": {\"lo\": [1, 0, 0], \"hi\": [2, 1, 1]}, \"material\": \"mirror\"},"
    "{\"sphere\": {\"centre\": [-0.6, 0.6, 0], \"radius\": 0.6, \"triangles\": 200}, "
    "\"material\": \"flint\"}],"
    "\"camera\": {\"eye\": [0, 1.5, 5], \"look_at\": [0, 0.6, 0], \"fov\": 45}}";

static int files_make(void **state) {
    if (folder_make(state)) return 1;
    file_put_text("curtains.json", curtains);
    return 0;
}

static void same_sample(const pixel_sample *got, const pixel_sample *want, const char *name,
                        const pixel_request *at) {
    if (memcmp(got, want, sizeof *got) != 0)
        fail_msg("%s, pixel %d %d, sample %u: %.9g by %u rays, expected %.9g by %u", name, at->x,
                 at->y, at->sample, (double)got->radiance.x, got->rays, (double)want->radiance.x,
                 want->rays);
}

static uint32_t compare_pool(const pixel_view *of, const path_options *options, const char *name) {
    static pixel_request asked[COUNT];
    static pixel_sample got[COUNT];
    uint32_t count = 0, seen = 0;
    for (int32_t y = 0; y < HEIGHT; ++y)
        for (int32_t x = 0; x < WIDTH; ++x)
            for (uint32_t s = 0; s < EACH; ++s)
                asked[count++] = (pixel_request){x, y, s + (uint32_t)x % 2};
    memset(got, 0x55, sizeof got);
    path_pool_take(of, options, asked, 0, got);
    path_pool_take(of, options, asked, 1, got);
    path_pool_take(of, options, asked + 1, COUNT - 2, got + 1);
    path_pool_take(of, options, asked + COUNT - 1, 1, got + COUNT - 1);
    for (uint32_t i = 0; i < COUNT; ++i) {
        const pixel_sample want = path_pixel(of, options, asked[i].x, asked[i].y, asked[i].sample);
        same_sample(got + i, &want, name, asked + i);
        seen += vec3_largest(want.radiance) > 0;
    }
    return seen;
}

static void prove(const char *path) {
    kd_render_options options;
    scene *made = NULL;
    tritree tree;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, path, &options, NULL), KD_OK);
    scene_view view = scene_get_view(made);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options build = tritree_options_default();
    assert_int_equal(tritree_open(&tree, &input, &build, "auto", NULL), KD_OK);
    view.tree = tritree_get_view(&tree);
    const pixel_view of = {&view, scene_camera(made), WIDTH, HEIGHT, 7};
    const bool cutouts = integrator_has_cutouts(&view);
    const path_options ways[] = {
        {20, INT32_MAX, cutouts}, {1, INT32_MAX, cutouts}, {9, 1, cutouts}};
    assert_true(compare_pool(&of, &ways[0], path) > COUNT / 20);
    for (int i = 1; i < 3; ++i) compare_pool(&of, &ways[i], path);
    tritree_close(&tree);
    scene_close(made);
}

static void pools_follow_paths_as_one_by_one(void **state) {
    (void)state;
    prove(KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json");
    prove(KD_TEST_SOURCE_DIR "/scenes/cornell_fog.json");
    prove(KD_TEST_SOURCE_DIR "/scenes/prism.json");
    prove(KD_TEST_SOURCE_DIR "/scenes/glass_of_water.json");
    prove(file_in("curtains.json"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pools_follow_paths_as_one_by_one)};
    return cmocka_run_group_tests(tests, files_make, folder_remove);
}
