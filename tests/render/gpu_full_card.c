/* A device whose memory is full: photon queries run in parts; "auto" falls back to the next
   builder, then to the CPU, with the same picture; a device requested by name gives an error. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "core/device/device_memory.h"
#include "render/api/render.h"
#include "tests/gpu.h"

static scene *made;
static kd_render_options options;

static uint64_t render_with(uint64_t capacity, const char *device, render_result *out,
                            kd_status expected) {
    uint64_t available = 0;
    void *held = NULL;
    assert_int_equal(device_memory_free_bytes(&available), KD_OK);
    if (capacity) assert_int_equal(device_memory_reserve(&held, available - capacity), KD_OK);
    strcpy(options.device, device);
    const kd_status status = render_run(out, made, &options, NULL);
    if (status != expected) fail_msg("%d, not %d: %s", (int)status, (int)expected, kd_last_error());
    const uint64_t hash = out->image_hash;
    if (status == KD_OK) image_close(&out->picture);
    device_memory_free(held);
    return hash;
}

/* Returns a number of bytes that is less than the film needs. */
static uint64_t insufficient_bytes(void) {
    return gpu_size(16 << 20, 16 << 10);
}

static uint64_t bytes_needed(const char *builder) {
    const scene_view view = scene_get_view(made);
    return tritree_build_memory_bytes(tritree_builder_cuda_find(builder), view.mesh.position_count,
                                      view.mesh.triangle_count);
}

static void test_full_device_falls_back_to_cpu(void **state) {
    (void)state;
    render_result result;
    strcpy(options.builder, "auto");
    const uint64_t on_device = render_with(0, "auto", &result, KD_OK);
    assert_int_equal(result.device_used.kind, DEVICE_CUDA);
    const uint64_t on_cpu = render_with(insufficient_bytes(), "auto", &result, KD_OK);
    assert_int_equal(result.device_used.kind, DEVICE_CPU);
    assert_int_equal(on_cpu, on_device);
    render_with(insufficient_bytes(), "cuda:0", &result, KD_ERROR_MEMORY);
    strcpy(options.builder, "binned"); /* exists on devices only */
    assert_int_equal(render_with(insufficient_bytes(), "auto", &result, KD_OK), on_device);
    assert_int_equal(result.device_used.kind, DEVICE_CPU);
}

/* Memory that is too small for the first builder, but suffices for the second or for a tree built
   on the host. */
static void test_builders_fall_back(void **state) {
    (void)state;
    render_result result;
    const uint64_t first = bytes_needed("binned");
    strcpy(options.builder, "auto");
    const uint64_t on_device = render_with(0, "cuda:0", &result, KD_OK);
    assert_string_equal(result.tree_builder, "binned");
    assert_true(first > UINT64_C(8) << 20);
    assert_int_equal(render_with(first - (UINT64_C(4) << 20), "cuda:0", &result, KD_OK), on_device);
    assert_int_equal(result.device_used.kind, DEVICE_CUDA);
    assert_string_not_equal(result.tree_builder, "binned");
}

/* Memory that is too small for the samples of all rows at once, so they run in parts, with the same
   result. This test must be the first, because the peak of memory use is per process. */
static void test_lookups_run_in_parts(void **state) {
    (void)state;
    static const uint64_t spared = 400; /* bytes per pixel withheld, of about 640 needed */
    render_result result;
    const kd_render_options before = options;
    const uint32_t across = gpu_size(1024, 96);
    strcpy(options.integrator, "sppm");
    strcpy(options.builder, "sweep");
    options.width = options.height = (int32_t)across;
    options.photons = options.caustic_photons = gpu_size(100000, 500);
    options.passes = 1;
    options.max_depth = 3;
    options.final_gather = 0;
    const uint64_t whole = render_with(0, "cuda:0", &result, KD_OK);
    const uint64_t taken = device_memory_peak_bytes();
    const uint64_t parts = render_with(taken - spared * across * across, "cuda:0", &result, KD_OK);
    assert_int_equal(result.device_used.kind, DEVICE_CUDA);
    assert_int_equal(parts, whole);
    options = before;
}

/* Pools of any size give the same bits: with few paths in flight, and on a small card. */
static void test_pools_of_any_size(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "direct", "light", "photon", "sppm"};
    const kd_render_options before = options;
    strcpy(options.builder, "auto");
    options.width = options.height = (int32_t)gpu_size(512, 24);
    options.photons = options.caustic_photons = gpu_size(100000, 500);
    options.passes = options.spp = 2;
    options.max_depth = 3;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        render_result result;
        strcpy(options.integrator, methods[m]);
        options.final_gather = m == 3 ? 2 : 0;
        options.device_paths = 0;
        const uint64_t whole = render_with(0, "cuda:0", &result, KD_OK);
        assert_string_equal(result.tree_builder, "binned");
        options.device_paths = 1;
        if (render_with(0, "cuda:0", &result, KD_OK) != whole)
            fail_msg("%s differs with few paths in flight", methods[m]);
        options.device_paths = 0;
        assert_int_equal(setenv("KANDELA_DEVICE_MEMORY", "300M", 1), 0);
        if (render_with(0, "cuda:0", &result, KD_OK) != whole)
            fail_msg("%s differs on a small card", methods[m]);
        assert_int_equal(unsetenv("KANDELA_DEVICE_MEMORY"), 0);
        assert_int_equal(result.device_used.kind, DEVICE_CUDA);
        assert_string_not_equal(result.tree_builder, "binned");
    }
    options = before;
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    kd_render_options_default(&options);
    if (scene_open(&made, KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json", &options, NULL) !=
        KD_OK)
        return 1;
    options.width = options.height = (int32_t)gpu_size(1024, 24);
    options.crop[2] = 0;
    options.spp = 1;
    strcpy(options.integrator, "path");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups_run_in_parts),
        cmocka_unit_test(test_full_device_falls_back_to_cpu),
        cmocka_unit_test(test_builders_fall_back),
        cmocka_unit_test(test_pools_of_any_size),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_close(made);
    return failed;
}
