/* Checks of a request: options that contradict each other, or that integrator or scene do not
   support. */
#include "core/status.h"
#include "render/api/render.h"
#include "render/frame/catcher.h"
#include "render/integrators/integrators.h"
#include "scenes/describe/render_options.h"

kd_status render_request_check(const kd_render_options *options, int32_t crop[4]) {
    KD_TRY(render_options_check(options));
    const bool whole = options->crop[2] == 0;
    const integrator *integrator = integrator_find(options->integrator);
    KD_REQUIRE(options->filter == PIXEL_FILTER_BOX || !integrator->box_alone, KD_ERROR_USAGE,
               "integrator %s supports only the pixel filter box, not %s", integrator->name,
               pixel_filter_name(options->filter));
    const bool apart = rank_maps_distributed(options->maps);
    KD_REQUIRE(options->lens_samples == 1 || (integrator->lens && !apart), KD_ERROR_USAGE,
               "--lens-samples is %d, but %s does not support it; expected 1",
               options->lens_samples, apart ? "--ranks-maps apart" : integrator->name);
    KD_REQUIRE(options->batches == 1 || integrator->batches_max, KD_ERROR_USAGE,
               "--batches is %d, but integrator %s does not support batches; expected 1",
               options->batches, integrator->name);
    KD_REQUIRE(integrator->pass == NULL || options->passes <= INT32_MAX / options->batches,
               KD_ERROR_USAGE, "%d passes of %d batches are too many; lower --passes or --batches",
               options->passes, options->batches);
    KD_REQUIRE(
        !apart || integrator_can_distribute(integrator, options), KD_ERROR_USAGE,
        "integrator %s does not support distributed photon maps with these options; use sppm, or "
        "photon without final gathering, adaptive estimates and photon map files",
        integrator->name);
    crop[0] = whole ? 0 : options->crop[0];
    crop[1] = whole ? 0 : options->crop[1];
    crop[2] = whole ? options->width : options->crop[2];
    crop[3] = whole ? options->height : options->crop[3];
    KD_REQUIRE(crop[0] >= 0 && crop[1] >= 0 && crop[0] < crop[2] && crop[1] < crop[3] &&
                   crop[2] <= options->width && crop[3] <= options->height,
               KD_ERROR_USAGE, "crop %d,%d,%d,%d is empty or exceeds the image of %d x %d pixels",
               crop[0], crop[1], crop[2], crop[3], options->width, options->height);
    return KD_OK;
}

bool render_is_sliced(const scene *scene, const kd_render_options *options) {
    const bool rests = integrator_find(options->integrator)->box_alone;
    return options->shutter > 0 && (scene_moves(scene) || (rests && scene_camera_moves(scene)));
}

kd_status render_scene_check(const scene *scene, const kd_render_options *options,
                             const ranks *comm) {
    const integrator *integrator = integrator_find(options->integrator);
    const bool sliced = render_is_sliced(scene, options);
    KD_REQUIRE(
        !sliced || !ranks_shared(comm), KD_ERROR_USAGE,
        "--shutter is %g frames: motion blur of objects, or by integrator debug, runs on one "
        "device; set one --device, without mpirun, or --shutter 0",
        (double)options->shutter);
    KD_REQUIRE(
        !sliced || !scene_moves(scene) || scene_frame(scene) == (double)options->frame,
        KD_ERROR_USAGE,
        "--shutter is %g frames, but the scene was opened at frame %g, not %g: open it again",
        (double)options->shutter, scene_frame(scene), (double)options->frame);
    KD_REQUIRE(!sliced || !scene_moves(scene) || !options->photon_map, KD_ERROR_USAGE,
               "--shutter is %g frames, but a photon map holds the light of one time; omit "
               "--photon-map, or set --shutter 0",
               (double)options->shutter);
    const scene_view view = scene_get_view(scene);
    KD_REQUIRE(options->lens_samples == 1 || !catcher_exists(&view), KD_ERROR_USAGE,
               "--lens-samples is %d, but the scene has shadow catchers; expected 1",
               options->lens_samples);
    const uint32_t count = scene_instance_count(scene);
    KD_REQUIRE(
        count == 0 || integrator->instances, KD_ERROR_USAGE,
        "the scene has %u instances, but integrator %s needs copies (render_resolve_instances)",
        count, options->integrator);
    return KD_OK;
}
