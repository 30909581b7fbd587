/* Renders on a CUDA device and on the CPU, and expects the same picture. */
#ifndef KD_TESTS_PHOTON_DEVICE_MATCHES_CPU_H
#define KD_TESTS_PHOTON_DEVICE_MATCHES_CPU_H
#include "render/api/render.h"
#include "tests/gpu.h"

typedef struct run_result {
    frame_statistics frame;
    uint64_t image;
    int32_t samples;
    kd_status status;
} run_result;

static inline run_result run_on_device(const char *path, const kd_render_options *options,
                                       const char *device, const render_keeping *keeping,
                                       job_control *job) {
    scene *made = NULL;
    kd_render_options from_file, used = *options;
    kd_render_options_default(&from_file);
    assert_int_equal(scene_open(&made, path, &from_file, NULL), KD_OK);
    snprintf(used.device, sizeof used.device, "%s", device);
    render_result result;
    run_result end;
    memset(&end, 0, sizeof end);
    end.status = render_run_kept(&result, made, &used, keeping, job);
    if (end.status == KD_OK || end.status == KD_INTERRUPTED) {
        end.image = result.image_hash;
        end.frame = result.frame;
        end.samples = result.samples_done;
        assert_int_equal(result.device_used.kind,
                         strcmp(device, "cpu") == 0 ? DEVICE_CPU : DEVICE_CUDA);
        render_close(&result);
    } else {
        print_message("%s\n", kd_last_error());
    }
    scene_close(made);
    return end;
}

static inline void expect_equal(const char *path, const kd_render_options *options,
                                const run_result *cpu, const run_result *result) {
    const frame_statistics *a = &cpu->frame, *b = &result->frame;
    assert_int_equal(cpu->status, KD_OK);
    assert_int_equal(result->status, KD_OK);
    if (a->photon_hash != b->photon_hash || a->photons_emitted != b->photons_emitted ||
        a->photon_rays != b->photon_rays)
        fail_msg("%s by %s: photons %016llx of %llu, expected %016llx of %llu", path,
                 options->integrator, (unsigned long long)b->photon_hash,
                 (unsigned long long)b->photons_emitted, (unsigned long long)a->photon_hash,
                 (unsigned long long)a->photons_emitted);
    if (cpu->image != result->image || a->rays != b->rays || a->nan_samples != b->nan_samples)
        fail_msg("%s by %s: image %016llx, %llu rays, expected %016llx, %llu rays", path,
                 options->integrator, (unsigned long long)result->image,
                 (unsigned long long)b->rays, (unsigned long long)cpu->image,
                 (unsigned long long)a->rays);
    assert_true(a->watts_emitted == b->watts_emitted && a->watts_absorbed == b->watts_absorbed);
    assert_true(a->watts_escaped == b->watts_escaped && a->watts_ended == b->watts_ended);
    assert_true(a->watts_media == b->watts_media && a->volume_stored == b->volume_stored);
    assert_true(cpu->samples == result->samples && a->photons_stored == b->photons_stored);
}

static inline void expect_same(const char *path, const kd_render_options *options) {
    const run_result cpu = run_on_device(path, options, "cpu", NULL, NULL);
    const run_result result = run_on_device(path, options, "cuda:0", NULL, NULL);
    expect_equal(path, options, &cpu, &result);
}

#endif
