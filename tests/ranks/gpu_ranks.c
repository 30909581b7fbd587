/* A CUDA device and the CPU render a picture together, with the bits of the CPU alone: of whole
   films, and of photons that both have emitted. */
#include "core/files/file.h"
#include "core/hash.h"
#include "gpu.h"
#include "render/api/render.h"
#include "test.h"

static uint64_t run(const scene *from, kd_render_options options, const char *devices) {
    render_result result;
    file_view file;
    const render_keeping keeping = {.state = "ranks.state"};
    strcpy(options.device, devices);
    if (render_run_kept(&result, from, &options, &keeping, NULL) != KD_OK)
        fail_msg("%s", kd_last_error());
    render_close(&result);
    assert_int_equal(file_open(&file, keeping.state), KD_OK);
    const uint64_t hash = hash_bytes(file.bytes, file.count);
    file_close(&file);
    return hash;
}

static void test_mixed_ranks(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "sppm", "photon", "light"};
    static const char *const mixes[] = {"cpu,cuda:0", "cuda:0,cpu,cuda:0"};
    kd_render_options options;
    scene *made = NULL;
    kd_render_options_default(&options);
    assert_int_equal(
        scene_open(&made, KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json", &options, NULL),
        KD_OK);
    options.width = options.height = 16;
    options.spp = options.passes = 3;
    options.photons = 700;
    options.caustic_photons = 500;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        strcpy(options.integrator, methods[m]);
        options.final_gather = strcmp(methods[m], "photon") == 0 ? 2 : 0; /* irradiance, too */
        const uint64_t alone = run(made, options, "cpu");
        for (size_t i = 0; i < sizeof mixes / sizeof *mixes; ++i)
            if (run(made, options, mixes[i]) != alone)
                fail_msg("%s on %s: other bits", methods[m], mixes[i]);
    }
    scene_close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mixed_ranks)};
    if (gpu_is_missing()) return TEST_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
