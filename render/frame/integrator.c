#include "render/frame/integrator.h"

int32_t integrator_batches_most(const integrator *of, const kd_render_options *options) {
    return of->batches_most ? of->batches_most(options) : 1;
}

bool integrator_may_be_apart(const integrator *of, const kd_render_options *options) {
    return of->take_apart && (!of->may_be_apart || of->may_be_apart(options));
}

uint32_t integrator_maps(const integrator *of, const kd_render_options *options) {
    return of->maps ? of->maps(options) : MAPS_NONE;
}

uint64_t integrator_state_bytes(const integrator *of, const kd_render_options *options) {
    return of->state_bytes ? of->state_bytes(options) : 0;
}

uint64_t integrator_launch_bytes(const integrator *of, const scene_view *scene,
                                 const kd_render_options *options) {
    return of->launch_bytes ? of->launch_bytes(scene, options) : 0;
}

int32_t integrator_samples(const integrator *of, const kd_render_options *options) {
    if (!of->pass) return options->spp;
    return of->batches_most ? options->passes * options->batches : options->passes;
}

pixel_view integrator_view(const frame *of) {
    pixel_view view;
    view.scene = of->scene;
    view.eye = of->view;
    view.eye_end = of->moves ? of->view_end : of->view;
    view.moves = of->moves;
    view.width = of->options->width;
    view.height = of->options->height;
    view.filter = of->options->filter;
    view.seed = of->options->seed;
    return view;
}

bool integrator_has_cutouts(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (scene->materials[i].opacity < 1 || scene->materials[i].opacity_map != KD_NONE)
            return true;
    return false;
}
