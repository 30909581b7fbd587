/* Expands instances to copies if needed, and emits photons without an image. */
#include "accel/builders.h"
#include "core/device/device.h"
#include "core/status.h"
#include "photon/maps/photon_file.h"
#include "photon/maps/photon_map.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "scenes/assembly/scene.h"
#include <string.h>

enum { COPIES_SHARE = 8 }; /* by default, copies may take 1/COPIES_SHARE of the memory */

const char *render_instancing_name(int index) {
    static const char *const names[] = {"auto", "keep", "copy", NULL};
    return names[index];
}

kd_status render_resolve_instances(scene *scene, const kd_render_options *options, uint64_t maximum,
                                   render_instancing instancing) {
    const uint32_t count = scene_instance_count(scene);
    const integrator *method = integrator_find(options->integrator);
    device device_used;
    if (count == 0) return KD_OK;
    KD_REQUIRE(method, KD_ERROR_USAGE, "no integrator is called \"%s\"", options->integrator);
    device_cpu_describe(&device_used);
    const uint64_t bytes = scene_copies_bytes(scene),
                   capacity = maximum ? maximum : device_used.memory_bytes;
    KD_REQUIRE(method->instances || instancing != RENDER_INSTANCING_KEEP, KD_ERROR_USAGE,
               "integrator %s does not support instances without copies", method->name);
    KD_REQUIRE(method->instances || capacity == 0 || bytes <= capacity, KD_ERROR_USAGE,
               "integrator %s needs copies of the %u instances: about %llu bytes, but only %llu "
               "are available; some integrators, such as path, need no copies",
               method->name, count, (unsigned long long)bytes, (unsigned long long)capacity);
    const bool small = bytes <= capacity / COPIES_SHARE;
    if (method->instances && (instancing == RENDER_INSTANCING_KEEP ||
                              (instancing == RENDER_INSTANCING_AUTO && !small))) {
        log_message(LOG_INFO, "%u instances, without copies", count);
        return KD_OK;
    }
    log_message(LOG_INFO, "%u instances, copied: about %llu bytes with their tree", count,
                (unsigned long long)bytes);
    return scene_copy_instances(scene);
}

kd_status photons_emit(photon_file *out, scene *scene, const kd_render_options *render_options,
                       job_control *job) {
    kd_status status = KD_OK;
    kd_render_options method = *render_options;
    strcpy(method.integrator, "photon");
    KD_TRY(render_resolve_instances(scene, &method, 0, RENDER_INSTANCING_AUTO));
    scene_view view = scene_get_view(scene);
    scene_report_default_light(scene);
    tritree tree;
    memset(&tree, 0, sizeof tree);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options tree_options = tritree_options_default();
    job_stage_begin(job, "build", view.mesh.triangle_count);
    KD_TRY_GOTO(tritree_open(&tree, &input, &tree_options, "auto", job));
    view.tree = tritree_get_view(&tree);
    photon_options options = photon_options_default();
    options.seed = render_options->seed;
    options.photons = render_options->photons;
    options.caustics =
        render_options->caustic_photons ? render_options->caustic_photons : render_options->photons;
    options.volume_photons =
        render_options->media_photons ? render_options->media_photons : render_options->photons;
    options.max_depth = (uint32_t)render_options->max_depth;
    options.max_specular = (uint32_t)render_options->max_specular;
    out->scene = scene_hash(&view);
    memcpy(out->origin, view.origin, sizeof out->origin);
    KD_TRY_GOTO(photon_lists_open(out->lists, &view, &options, job));
done:
    tritree_close(&tree);
    return status;
}
