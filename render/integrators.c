/* The table of integrators: a new one is a file, its functions in integrators.h and a row here. */
#include "render/integrators.h"

const integrator integrators[] = {
    {"path", "Kajiya 1986; Veach 1997", path_prepare, path_sample, path_close, NULL},
    {"direct", "Veach 1997, chapter 9", direct_prepare, path_sample, path_close, NULL},
    {"photon", "Jensen 2001", photon_prepare, photon_sample, photon_close, NULL},
    {"sppm", "Hachisuka and Jensen 2009; Knaus and Zwicker 2011", progressive_prepare, sppm_sample,
     progressive_close, progressive_pass},
    {"ppm", "Hachisuka, Ogaki and Jensen 2008; Knaus and Zwicker 2011", progressive_prepare,
     ppm_sample, progressive_close, progressive_pass},
    {"light", "Dutre, Lafortune and Willems 1993", light_prepare, light_sample_pixel, light_close,
     light_pass},
    {"whitted", "Whitted 1980", whitted_prepare, whitted_sample, whitted_close, NULL},
    {"ao", "Zhukov, Iones and Kronin 1998", whitted_prepare, ambient_sample, whitted_close, NULL},
    {"debug", "what an estimate works with", debug_prepare, debug_sample, debug_close, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL}};

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

rng_key integrator_key(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const uint32_t pixel = (uint32_t)y * (uint32_t)of->options->width + (uint32_t)x;
    return rng_key_make(of->options->seed, INTEGRATOR_PASS, sobol_path(pixel, sample));
}

ray integrator_camera_ray(const frame *of, int32_t x, int32_t y, rng_key key) {
    const rng_block random = sobol_draw(key, 0, PATH_DRAW_CAMERA);
    return camera_ray(&of->view, of->options->width, of->options->height, x, y, random);
}

pixel_sample integrator_pixel(const frame *of, const ray *cast, const surface *first, vec3 radiance,
                              uint32_t rays) {
    pixel_sample sample;
    const bool hit = first->triangle != KD_NONE;
    sample.radiance = radiance;
    sample.alpha = hit || of->scene->environment.light != KD_NONE ? 1 : 0;
    sample.depth = INFINITY;
    sample.normal = sample.albedo = vec3_all(0);
    sample.rays = rays;
    if (!hit) return sample;
    const vec3 forward = camera_frame(&of->view).normal;
    sample.depth = vec3_dot(vec3_sub(first->position, of->view.eye), forward);
    const bool towards = vec3_dot(first->geometric, cast->direction) < 0;
    sample.normal = towards ? first->normal : vec3_negate(first->normal);
    sample.albedo = surface_albedo(first);
    return sample;
}

bool integrator_has_cutouts(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (scene->materials[i].opacity < 1 || scene->materials[i].opacity_map != KD_NONE)
            return true;
    return false;
}
