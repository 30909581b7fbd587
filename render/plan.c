#include "render/plan.h"
#include "accel/tritree.h"
#include "photon/photon_map.h"
#include "render/film.h"
#include <string.h>

/* of an image: R G B A Z N Albedo */
enum { PICTURE_PLANES = 11, INDEX_BYTES = 30, EMIT_BATCH_BYTES = 10 << 20 };

static void add(render_plan *to, const char *name, uint64_t bytes) {
    if (bytes == 0) return;
    to->rows[to->count].name = name;
    to->rows[to->count].bytes = bytes;
    ++to->count;
    to->total += bytes;
}

/* One map: the list and the ordered copy, positions twice, ids, the index, the builder. */
static uint64_t map_bytes(uint64_t photons) {
    if (photons == 0) return 0;
    const uint64_t each =
        2 * sizeof(photon) + 2 * sizeof(vec3) + sizeof(uint32_t) + 1 + INDEX_BYTES;
    return photons * each + pointtree_builders[0].scratch_bytes(photons);
}

static bool named(const kd_render_options *options, const char *name) {
    return strcmp(options->integrator, name) == 0;
}

kd_status render_plan_make(render_plan *out, const scene_view *from,
                           const kd_render_options *options) {
    memset(out, 0, sizeof *out);
    const bool cropped = options->crop[2] > 0;
    const uint64_t whole = (uint64_t)options->width * (uint64_t)options->height;
    const uint64_t pixels = cropped ? (uint64_t)(options->crop[2] - options->crop[0]) *
                                          (uint64_t)(options->crop[3] - options->crop[1])
                                    : whole;
    const tritree_builder *builder = strcmp(options->builder, "auto") == 0
                                         ? tritree_builders
                                         : tritree_builder_find(options->builder);
    KD_REQUIRE(builder, KD_ERROR_USAGE, "no tree builder is called \"%s\"", options->builder);
    add(out, "film", pixels * sizeof(film_pixel));
    add(out, "picture", pixels * PICTURE_PLANES * sizeof(float));
    add(out, "triangle tree", builder->scratch_bytes(from->mesh.triangle_count));
    if (named(options, "light")) add(out, "splats", 3 * whole * sizeof(int64_t));
    if (!named(options, "photon") && !named(options, "sppm") && !named(options, "ppm"))
        return KD_OK;
    const uint64_t caustics =
        options->caustic_photons ? options->caustic_photons : options->photons;
    add(out, "global photon map", map_bytes(options->photons));
    add(out, "caustic photon map", map_bytes(caustics));
    add(out, "emission", EMIT_BATCH_BYTES);
    return KD_OK;
}
