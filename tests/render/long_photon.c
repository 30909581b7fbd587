/* Photon maps against path tracing: the error of pictures, and the flux of a caustic. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "core/image_processing/compare.h"
#include "core/parallel/parallel.h"
#include "photon/maps/photon_map.h"
#include "render/api/render.h"
#include "test.h"

static double block_relmse(const image *a, const image *b, int32_t block) {
    double value = (double)INFINITY;
    assert_int_equal(compare_images(&value, a, b, COMPARE_RELMSE, block, NULL), KD_OK);
    return value;
}

/* Returns the relMSE of means of 4 x 4 pixels between photon mapping with 1M photons per map and
   path tracing with 512 samples per pixel. */
static double picture_error(const char *path, int32_t size) {
    scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, path, &options, NULL), KD_OK);
    options.width = options.height = size;
    render_result reference, seen;
    strcpy(options.integrator, "path");
    options.spp = 512;
    assert_int_equal(render_run(&reference, made, &options, NULL), KD_OK);
    strcpy(options.integrator, "photon");
    options.spp = 16;
    options.photons = options.caustic_photons = 1000000;
    assert_int_equal(render_run(&seen, made, &options, NULL), KD_OK);
    assert_int_equal(seen.frame.nan_samples, 0);
    const double end =
        seen.frame.watts_absorbed + seen.frame.watts_escaped + seen.frame.watts_ended;
    expect_near(end, seen.frame.watts_emitted, 1e-6 * seen.frame.watts_emitted);
    const double error = block_relmse(&seen.picture, &reference.picture, 4);
    print_message("%s: relmse %.5f\n", path, error);
    render_close(&reference);
    render_close(&seen);
    scene_close(made);
    return error;
}

static void test_diffuse_box(void **state) {
    (void)state;
    const char *path = test_model("cornellbox/CornellBox-Original.obj");
    if (!path) {
        print_message("KANDELA_MODELS has no cornellbox/CornellBox-Original.obj\n");
        skip();
    }
    assert_true(picture_error(path, 64) <= 0.005);
}

/* --- the flux of a caustic -------------------------------------------------------------------- */

enum { FLOOR_POINTS = 1 << 21, FLOOR_GRAIN = 1 << 14 };

typedef struct floor_flux {
    const scene_view *room;
    double sums[FLOOR_POINTS / FLOOR_GRAIN];
} floor_flux;

/* Returns the radiance of the lamp along a ray with at least one specular surface before it: L S+ D
   in Heckbert's notation. */
static double caustic_radiance(const scene_view *room, ray ray, rng_key key) {
    vec3 throughput = vec3_all(1);
    for (uint32_t depth = 1; depth <= 32; ++depth) {
        const ray_hit hit = tritree_closest(&room->tree, ray);
        if (hit.triangle == KD_NONE) return 0;
        const surface at = surface_at(room, &ray, hit);
        if (surface_holds_photons(&at))
            return depth == 1 ? 0 : photon_watts(vec3_mul(throughput, at.emission));
        const bsdf_sample drawn =
            bsdf_draw(&at, vec3_negate(ray.direction), rng_draw(key, depth, 0), BSDF_RADIANCE);
        if (vec3_is_zero(drawn.weight)) return 0;
        throughput = vec3_mul(throughput, drawn.weight);
        ray = surface_leave(&at, drawn.direction, INFINITY);
    }
    return 0;
}

static void sum_floor(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    floor_flux *flux = (floor_flux *)context;
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
        const rng_key key = rng_key_make(11, 0, (uint64_t)i);
        const rng_block random = rng_draw(key, 0, 0);
        const vec3 down = vec3_make(2 * random.value[0] - 1, 0.001f, 2 * random.value[1] - 1);
        const ray drop = ray_make(down, vec3_make(0, -1, 0), 0, INFINITY);
        const ray_hit hit = tritree_closest(&flux->room->tree, drop);
        if (hit.triangle == KD_NONE) continue;
        const surface at = surface_at(flux->room, &drop, hit);
        const vec3 local = sample_cosine_hemisphere(random.value[2], random.value[3]);
        const vec3 direction = vec3_make(local.x, local.z, local.y);
        sum += caustic_radiance(flux->room, surface_leave(&at, direction, INFINITY), key);
    }
    flux->sums[begin / FLOOR_GRAIN] = sum;
}

/* The demo's floor, 2 m x 2 m at y = 0: the flux of its caustic photons equals that of path
   tracing. */
static void test_caustic_flux(void **state) {
    (void)state;
    scene *made = NULL;
    kd_render_options unused;
    kd_render_options_default(&unused);
    assert_int_equal(
        scene_open(&made, KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json", &unused, NULL), KD_OK);
    scene_view room = scene_get_view(made);
    const tritree_input input = {room.mesh.positions, room.mesh.triangles, room.mesh.position_count,
                                 room.mesh.triangle_count};
    const tritree_options tree_options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &input, &tree_options, "auto", NULL), KD_OK);
    room.tree = tritree_get_view(&tree);

    photon_options options = photon_options_default();
    options.photons = 0;
    options.caustics = 300000;
    photon_maps maps;
    assert_int_equal(photon_maps_open(&maps, &room, &options, NULL), KD_OK);
    double landed = 0, expected = 0;
    for (uint64_t i = 0; i < maps.caustic.count; ++i)
        if (fabsf(maps.caustic.photons[i].position.y) < 1e-3f)
            landed += photon_watts(maps.caustic.photons[i].power);
    photon_maps_close(&maps);

    static floor_flux flux;
    flux.room = &room;
    parallel_for(FLOOR_POINTS, FLOOR_GRAIN, sum_floor, &flux);
    for (int i = 0; i < FLOOR_POINTS / FLOOR_GRAIN; ++i) expected += flux.sums[i];
    expected *= 4 * M_PI / FLOOR_POINTS;
    print_message("caustic flux on the floor: %.5f W, by paths %.5f W\n", landed, expected);
    assert_true(expected > 0);
    expect_near(landed, expected, 0.02 * expected);
    tritree_close(&tree);
    scene_close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caustic_flux),
        cmocka_unit_test(test_diffuse_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
