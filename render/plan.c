#include "render/plan.h"
#include "accel/tritree.h"
#include "photon/photon_map.h"
#include "render/film.h"
#include "render/integrators.h"
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
    if (debug_looks_at_photons(options)) {
        add(out, "global photon map", map_bytes(options->photons));
        add(out, "emission", EMIT_BATCH_BYTES);
    }
    if (!named(options, "photon") && !named(options, "sppm") && !named(options, "ppm"))
        return KD_OK;
    const uint64_t caustics =
        options->caustic_photons ? options->caustic_photons : options->photons;
    const uint64_t batches = (uint64_t)options->batches;
    add(out, "global photon map", map_bytes((options->photons + batches - 1) / batches));
    add(out, "caustic photon map", map_bytes((caustics + batches - 1) / batches));
    const uint64_t strayed = options->media_photons ? options->media_photons : options->photons;
    if (photon_scene_scatters(from))
        add(out, "media photon map", map_bytes((strayed + batches - 1) / batches));
    add(out, "emission", EMIT_BATCH_BYTES);
    return KD_OK;
}

kd_status render_plan_fit(render_plan *out, const scene_view *from, kd_render_options *options,
                          uint64_t most) {
    const integrator *how = integrator_find(options->integrator);
    KD_REQUIRE(how, KD_ERROR_USAGE, "no integrator is called \"%s\"", options->integrator);
    KD_TRY(render_plan_make(out, from, options));
    if (most == 0 || out->total <= most) return KD_OK;
    const int32_t last = integrator_takes_batches(how) ? photon_batches_most(options) : 1;
    while (out->total > most && options->batches < last) {
        ++options->batches;
        KD_TRY(render_plan_make(out, from, options));
    }
    const bool by_gather = named(options, "photon") && last < options->spp;
    KD_REQUIRE(
        out->total <= most, KD_ERROR_MEMORY,
        "%llu bytes are needed%s and %llu allowed: give %sa smaller --resolution or a --crop",
        (unsigned long long)out->total,
        last > 1 ? " even in as many batches as the options allow" : "", (unsigned long long)most,
        by_gather  ? "a larger --gather or --estimator fixed (both allow more batches), fewer "
                     "--photons, "
        : last > 1 ? "fewer --photons, "
                   : "");
    return KD_OK;
}
