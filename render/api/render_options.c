#include "core/sized.h"
#include <kandela/render.h>
#include <string.h>

static void fill(kd_render_options *options) {
    memset(options, 0, sizeof *options);
    strcpy(options->integrator, "path");
    strcpy(options->builder, "auto");
    strcpy(options->device, "auto");
    /* the cone filter keeps a caustic's edge sharp where the disc would smear it */
    strcpy(options->kernel, "cone");
    options->width = options->height = 512;
    options->spp = 64;
    options->max_depth = 32;
    options->photons = 200000;
    options->gather = 50;
    options->tonemap = KD_TONEMAP_LINEAR;
    options->sah_traversal_cost = 1.5f;
    options->sah_intersect_cost = 1;
    options->sah_empty_factor = 1;
    options->precompute = 1;
    options->passes = 64;
    options->batches = 1;
    options->maps_ahead = 1;
    options->alpha = 0.7f;
    strcpy(options->channel, "normals");
    strcpy(options->estimator, "nearest");
    strcpy(options->lookup, "auto");
    strcpy(options->media, "points");
    strcpy(options->maps, "auto");
    options->frame = 1;
}

void kd_render_options_default_sized(kd_render_options *options, size_t struct_size) {
    kd_render_options defaults;
    fill(&defaults);
    sized_give(options, struct_size, &defaults, sizeof defaults);
}
