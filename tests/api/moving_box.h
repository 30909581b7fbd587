/* A description in memory of a box that moves, made of a mesh that the caller gives. */
#ifndef KD_TESTS_API_MOVING_BOX_H
#define KD_TESTS_API_MOVING_BOX_H
#include "test.h"
#include <kandela/render.h>

/* Opens a room in which a triangle moves for 8 frames, from a copy of the arrays that the caller
   overwrites afterwards. */
static kd_scene *moving_open(kd_render_options *options) {
    static const char text[] =
        "{\"kandela\": 1, \"meshes\": [{\"file\": \"gen:cornell\"}, {\"file\": \"mesh:sail\", "
        "\"transform\": [{\"keys\": [{\"frame\": 1, \"translate\": [-0.5, 0.2, 0.5]}, "
        "{\"frame\": 9, \"translate\": [0.5, 0.4, 0.5]}]}]}], "
        "\"camera\": {\"eye\": [0, 1, 4], \"look_at\": [0, 1, 0]}}";
    float vertices[9] = {0, 0, 0, 0.5f, 0, 0, 0, 0.5f, 0};
    uint32_t indices[3] = {0, 1, 2};
    char name[8] = "sail";
    const kd_scene_mesh mesh = {name, vertices, 3, indices, 1, NULL, NULL};
    kd_scene *opened = NULL;
    kd_render_options_default(options);
    if (kd_scene_parse(&opened, text, sizeof text - 1, NULL, &mesh, 1, options) != KD_OK)
        fail_msg("%s", kd_last_error());
    memset(vertices, 0, sizeof vertices);
    memset(indices, 0, sizeof indices);
    memset(name, 0, sizeof name);
    options->width = options->height = 24;
    options->spp = options->passes = 6;
    options->photons = 500;
    return opened;
}

static uint64_t moving_hash(const kd_scene *opened, const kd_render_options *options) {
    kd_image *image = NULL;
    if (kd_render(&image, opened, options, NULL, NULL) != KD_OK) fail_msg("%s", kd_last_error());
    const uint64_t hash = kd_image_hash(image);
    kd_image_close(image);
    return hash;
}

#endif
