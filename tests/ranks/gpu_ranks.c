/* A picture rendered by a CUDA device and the CPU together has the bits of the CPU alone: with
   replicated maps, and with photons traced by both. */
#include "core/files/file.h"
#include "core/hash.h"
#include "gpu.h"
#include "render/api/render.h"
#include "test.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

static uint64_t run(const scene *scene, kd_render_options options, const char *devices) {
    render_result result;
    file_view file;
    const render_keeping keeping = {.state = "ranks.state"};
    strcpy(options.device, devices);
    if (render_run_kept(&result, scene, &options, &keeping, NULL) != KD_OK)
        fail_msg("%s", kd_last_error());
    render_close(&result);
    assert_int_equal(file_open(&file, keeping.state), KD_OK);
    const uint64_t hash = hash_bytes(file.bytes, file.count);
    file_close(&file);
    remove(keeping.state);
    return hash;
}

static scene *open_small(kd_render_options *options) {
    scene *made = NULL;
    kd_render_options_default(options);
    assert_int_equal(
        scene_open(&made, KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json", options, NULL), KD_OK);
    options->width = options->height = 16;
    options->spp = options->passes = 3;
    options->photons = 700;
    options->caustic_photons = 500;
    if (gpu_is_emulated()) strcpy(options->builder, "sweep"); /* the CPU builds the tree faster */
    return made;
}

static void test_mixed_ranks(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "sppm", "photon", "light", "vcm"};
    static const char *const mixes[] = {"cpu,cuda:0", "cuda:0,cpu,cuda:0"};
    kd_render_options options;
    scene *made = open_small(&options);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        strcpy(options.integrator, methods[m]);
        options.final_gather =
            strcmp(methods[m], "photon") == 0 ? 2 : 0; /* 2 also tests precomputed irradiance */
        const uint64_t alone = run(made, options, "cpu");
        for (size_t i = 0; i < sizeof mixes / sizeof *mixes; ++i)
            if (!test_leaves_out((uint32_t)(m + i), 2) && run(made, options, mixes[i]) != alone)
                fail_msg("%s on %s: other bits", methods[m], mixes[i]);
    }
    scene_close(made);
}

/* Photon maps distributed over the devices that traced them give the same bits, whether the radius
   is given (distributed from the first pass on) or estimated from all photons of the first pass; if
   a rank has no rows or no photons; with media, whose map is replicated; and with crops. */
static void expect_distributed(const char *name, kd_render_options options, const char *devices) {
    scene *made = NULL;
    char path[256];
    kd_render_options read;
    kd_render_options_default(&read);
    snprintf(path, sizeof path, KD_TEST_SOURCE_DIR "/scenes/%s.json", name);
    assert_int_equal(scene_open(&made, path, &read, NULL), KD_OK);
    static uint32_t calls;
    ++calls;
    for (uint32_t with_parts = 0; with_parts < 2; ++with_parts) {
        if (test_leaves_out(calls + with_parts, 2)) continue;
        options.radius = with_parts ? 0.4f : 0; /* a large radius needs few tiles */
        strcpy(options.maps, "whole");
        const uint64_t alone = run(made, options, "cpu");
        strcpy(options.maps, "apart");
        if (run(made, options, devices) != alone)
            fail_msg("%s of %s apart on %s, radius %s: other bits", options.integrator, name,
                     devices, with_parts ? "given" : "chosen");
    }
    scene_close(made);
}

static void test_distributed_photons(void **state) {
    (void)state;
    kd_render_options options;
    setenv("KANDELA_NCCL", "off", 1); /* NCCL rejects two ranks of one device anyway */
    scene_close(open_small(&options));
    options.width = options.height = 8;
    /* with an estimated radius, the first pass uses replicated maps, the second distributed ones */
    options.passes = 2;
    options.photons = 300;
    options.caustic_photons = 200;
    strcpy(options.integrator, "sppm");
    expect_distributed("prism", options, "cuda:0,cuda:0,cuda:0");
    expect_distributed("cornell_fog", options, "cuda:0,cuda:0");
    options.photons = 3; /* fewer photons than ranks */
    expect_distributed("cornell_diffuse", options, "cuda:0,cuda:0,cuda:0,cuda:0");
    options.photons = 300;
    options.height = 2; /* fewer rows than ranks */
    expect_distributed("cornell_diffuse", options, "cuda:0,cuda:0,cuda:0");
    options.height = 8;
    const int32_t crop[4] = {3, 1, 7, 6};
    memcpy(options.crop, crop, sizeof crop);
    expect_distributed("prism", options, "cuda:0,cuda:0");
    unsetenv("KANDELA_NCCL");
}

static void test_distributed_photons_refused(void **state) {
    (void)state;
    static const struct {
        const char *integrator, *lookup, *devices;
        kd_status status;
    } cases[] = {{"sppm", "auto", "cpu,cuda:0", KD_ERROR_USAGE},
                 {"sppm", "walk", "cuda:0,cuda:0", KD_ERROR_USAGE},
                 {"photon", "auto", "cuda:0,cuda:0", KD_ERROR_DEVICE}};
    kd_render_options options;
    scene *made = open_small(&options);
    setenv("KANDELA_NCCL", "off", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        render_result result;
        options.final_gather = 0;
        strcpy(options.integrator, cases[i].integrator);
        strcpy(options.lookup, cases[i].lookup);
        strcpy(options.device, cases[i].devices);
        strcpy(options.maps, "apart");
        assert_int_equal(render_run(&result, made, &options, NULL), cases[i].status);
    }
    unsetenv("KANDELA_NCCL");
    scene_close(made);
}

#ifdef KD_TEST_NCCL
/* Devices exchange data by a library with NCCL's functions, or through the host if that library
   fails or is missing: the same bits. */
static void test_nccl_ranks(void **state) {
    (void)state;
    static const char *const methods[] = {"sppm", "photon", "light"};
    void *library = dlopen(KD_TEST_NCCL, RTLD_NOW);
    assert_non_null(library);
    atomic_ullong *bytes = (atomic_ullong *)dlsym(library, "stand_in_bytes");
    assert_non_null(bytes);
    kd_render_options options;
    scene *made = open_small(&options);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
        strcpy(options.integrator, methods[m]);
        const uint64_t alone = run(made, options, "cpu");
        for (int form = 0; form < 4; ++form) {
            if (form > 1 && gpu_leaves_out((uint32_t)m + (uint32_t)form, 3)) continue;
            const char *devices = form ? "cuda:0,cuda:0" : "cuda:0,cuda:0,cuda:0";
            const bool linked = form < 2;
            setenv("KANDELA_NCCL", form == 3 ? "/nowhere/libnccl.so" : KD_TEST_NCCL, 1);
            if (form == 2) setenv("KANDELA_STAND_IN_REFUSES", "1", 1);
            for (int distributed = 0; distributed <= (m == 0 && form == 0); ++distributed) {
                const uint64_t before = atomic_load(bytes);
                strcpy(options.maps, distributed ? "apart" : "auto");
                if (run(made, options, devices) != alone)
                    fail_msg("%s on %s, way %d, apart %d: other bits", methods[m], devices, form,
                             distributed);
                assert_true((atomic_load(bytes) > before) == linked);
            }
            strcpy(options.maps, "auto");
            unsetenv("KANDELA_STAND_IN_REFUSES");
        }
        setenv("KANDELA_NCCL", KD_TEST_NCCL, 1); /* one of the ranks is a CPU */
        const uint64_t before = atomic_load(bytes);
        assert_true(run(made, options, "cuda:0,cpu,cuda:0") == alone);
        assert_true(atomic_load(bytes) == before);
        setenv("KANDELA_NCCL", "off", 1);
        assert_true(run(made, options, "cuda:0,cuda:0") == alone);
        unsetenv("KANDELA_NCCL");
    }
    scene_close(made);
    dlclose(library);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mixed_ranks),
                                       cmocka_unit_test(test_distributed_photons),
                                       cmocka_unit_test(test_distributed_photons_refused),
#ifdef KD_TEST_NCCL
                                       cmocka_unit_test(test_nccl_ranks)
#endif
    };
    if (gpu_is_missing()) return TEST_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
