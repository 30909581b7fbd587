/* The table of integrators: a new one is a file, its functions in integrators.h and a row here. */
#include "render/integrators.h"

const integrator integrators[] = {
    {"path", "Kajiya 1986; Veach 1997", path_prepare, path_sample, path_close, NULL, path_launch},
    {"direct", "Veach 1997, chapter 9", direct_prepare, path_sample, path_close, NULL, path_launch},
    {"photon", "Jensen 2001", photon_prepare, photon_sample, photon_close, NULL, photon_launch},
    {"sppm", "Hachisuka and Jensen 2009; Knaus and Zwicker 2011", progressive_prepare, sppm_sample,
     progressive_close, progressive_pass, sppm_launch},
    {"ppm", "Hachisuka, Ogaki and Jensen 2008; Knaus and Zwicker 2011", progressive_prepare,
     ppm_sample, progressive_close, progressive_pass, ppm_launch},
    {"light", "Dutre, Lafortune and Willems 1993", light_prepare, light_sample_pixel, light_close,
     light_pass, light_launch},
    {"whitted", "Whitted 1980", whitted_prepare, whitted_sample, whitted_close, NULL,
     whitted_launch},
    {"ao", "Zhukov, Iones and Kronin 1998", whitted_prepare, ambient_sample, whitted_close, NULL,
     ambient_launch},
    {"debug", "what an estimate works with", debug_prepare, debug_sample, debug_close, NULL,
     debug_launch},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL}};

bool integrator_takes_batches(const integrator *of) {
    static const char *const names[] = {"photon", "sppm", "ppm"};
    for (int i = 0; i < 3; ++i)
        if (strcmp(of->name, names[i]) == 0) return true;
    return false;
}

int32_t integrator_samples(const integrator *of, const kd_render_options *options) {
    if (!of->pass) return options->spp;
    return integrator_takes_batches(of) ? options->passes * options->batches : options->passes;
}

const integrator *integrator_find(const char *name) {
    for (const integrator *row = integrators; row->name; ++row)
        if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

pixel_view integrator_view(const frame *of) {
    pixel_view view;
    view.scene = of->scene;
    view.eye = of->view;
    view.width = of->options->width;
    view.height = of->options->height;
    view.seed = of->options->seed;
    return view;
}

bool integrator_has_cutouts(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (scene->materials[i].opacity < 1 || scene->materials[i].opacity_map != KD_NONE)
            return true;
    return false;
}
