#include "render/api/light_paths.h"
#include "core/device/device_memory.h"
#include "core/memory.h"
#include "render/integrators/vcm.h"

light_source light_source_of(const frame *frame) {
    light_source source = {NULL, NULL, NULL, NULL, NULL};
    if (frame->integrator->show_light) frame->integrator->show_light(frame, &source);
    return source;
}

light_numbers light_source_count(const light_source *source, bool on_device) {
    light_numbers counts = {.pass = source->options ? source->options->pass : 0};
    if (source->vcm) counts.paths[LIGHT_PATHS_VCM] = source->vcm->paths;
    if (!source->maps) return counts;
    const photon_map *host[] = {&source->maps->global, &source->maps->caustic,
                                &source->maps->media};
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const photon_list_cuda *list = &source->device_maps->map[l].list;
        counts.photons[l] = on_device ? list->count : host[l]->count;
        counts.paths[l] = on_device ? list->emitted : host[l]->emitted;
    }
    counts.beams = photon_media_rows[source->options->media].beams;
    return counts;
}

kd_status light_source_fetch(photon_maps *out, const light_source *source,
                             const scene_view *scene) {
    photon_list lists[PHOTON_LISTS];
    photon_options options = *source->options;
    kd_status status = KD_OK;
    options.tiles = options.distributed = false;
    options.comm = NULL;
    memset(out, 0, sizeof *out);
    memset(lists, 0, sizeof lists);
    for (int l = 0; l < PHOTON_LISTS && status == KD_OK; ++l)
        status = photon_list_cuda_download(&lists[l], &source->device_maps->map[l].list);
    if (status == KD_OK) return photon_maps_build_trees(out, scene, lists, &options, NULL);
    for (int l = 0; l < PHOTON_LISTS; ++l) photon_list_close(&lists[l]);
    return status;
}

/* --- light paths ------------------------------------------------------------------------------ */

kd_status traced_paths_open(traced_paths *out, const frame *frame, int set) {
    const light_source source = light_source_of(frame);
    const light_numbers counts = light_source_count(&source, frame->device_frame != NULL);
    photon_order orders[PHOTON_LISTS];
    memset(out, 0, sizeof *out);
    KD_REQUIRE(counts.paths[set] > 0, KD_ERROR_USAGE,
               "the rendering has no light paths for this map");
    KD_REQUIRE(!frame->options->photon_map, KD_ERROR_USAGE,
               "a photon map file contains no light paths");
    out->scene = frame->scene;
    out->count = counts.paths[set];
    out->vcm = source.vcm;
    if (set == LIGHT_PATHS_VCM) return KD_OK;
    KD_TRY(photon_orders_make(orders, frame->scene, source.options));
    out->order = orders[set];
    return KD_OK;
}

static void begin(traced_path *out, const emitted_photon *flying) {
    out->vertices[out->vertex_count++] =
        (traced_vertex){flying->ray.origin, flying->power, TRACED_LIGHT, 0, KD_NONE, false};
    out->light = flying->light;
}

static void add(traced_path *out, const emitted_photon *flying, traced_kind kind, vec3 position,
                uint32_t bounce) {
    if (out->vertex_count == TRACED_VERTICES_MAX) return;
    out->vertices[out->vertex_count++] =
        (traced_vertex){position, flying->power, kind, bounce, KD_NONE, false};
}

static void store(traced_path *out, const photon *stored) {
    if (out->photon_count < TRACED_VERTICES_MAX) out->photons[out->photon_count++] = *stored;
}

/* Adds the end of a ray, or of a path at a cut-out too many. */
static void escape(traced_path *out, const scene_view *scene, const photon_path *state) {
    const ray *last = &state->flying.ray;
    const float beyond = last->tmin + vec3_length(box3_size(scene->box));
    add(out, &state->flying, TRACED_ESCAPE, ray_at(last, beyond), state->bounce);
}

/* Completes the vertex that was added last. */
static void describe(traced_path *out, const surface *at, bool stored) {
    traced_vertex *vertex = &out->vertices[out->vertex_count - 1];
    if (at) vertex->material = at->material;
    vertex->stored = stored;
}

/* As photon_path_next, with the vertices. */
static bool follow(const traced_paths *paths, photon_path *state, traced_path *out) {
    const scene_view *scene = paths->scene;
    const photon_filter *filter = &paths->order.filter;
    emitted_photon *flying = &state->flying;
    photon_ledger discarded = {.rays = 0};
    photon slot;
    surface at;
    bool in_volume;
    if (photon_path_is_over(filter, state, &discarded)) return false;
    ++state->step;
    ray_hit hit = tritree_closest(&scene->tree, flying->ray);
    if (photon_path_shines(scene, filter, state, hit, &slot)) store(out, &slot);
    if (photon_passes(scene, flying, state->key, state->step, &hit, &state->layers, &in_volume,
                      &discarded)) {
        add(out, flying, TRACED_CUTOUT, ray_at(&flying->ray, flying->ray.tmin), state->bounce);
        return true;
    }
    const photon_turn turn =
        photon_path_arrive(scene, state, hit, in_volume, SURFACE_ANY, &at, &discarded);
    if (turn == PHOTON_ENDS) {
        escape(out, scene, state);
        return false;
    }
    const bool on_surface = turn == PHOTON_SCATTERS;
    const bool stored = photon_path_lands(scene, filter, turn, &at, state, &slot);
    if (stored) store(out, &slot);
    const traced_kind kind = !on_surface                  ? TRACED_MEDIUM
                             : surface_holds_photons(&at) ? TRACED_SURFACE
                                                          : TRACED_SPECULAR;
    add(out, flying, kind, on_surface ? at.position : flying->ray.origin, state->bounce);
    describe(out, on_surface ? &at : NULL, stored);
    return photon_path_go_on(scene, filter, turn, &at, SURFACE_ANY, state, &discarded);
}

static void trace_photon(const traced_paths *paths, uint64_t path, traced_path *out) {
    photon_path state;
    photon_ledger discarded;
    if (!photon_path_begin(paths->scene, &paths->order.emission, path, &state, &discarded)) return;
    begin(out, &state.flying);
    while (follow(paths, &state, out)) continue;
}

/* The vertex that a path of vcm has reached. */
static void add_vertex(const traced_paths *paths, const vcm_light_path *path, traced_path *out) {
    const photon_path *state = &path->base.photon_state;
    const emitted_photon *flying = &state->flying;
    const surface *at = path->base.turn == PHOTON_SCATTERS ? &path->base.at : NULL;
    const bool stored = !at || !surface_is_specular(at);
    const uint32_t bounce = path->base.landed - 1;
    photon vertex = {.position = flying->ray.origin,
                     .power = flying->power,
                     .direction = flying->ray.direction,
                     .normal = flying->ray.direction,
                     .path = (uint32_t)state->key.path,
                     .light = (uint16_t)flying->light,
                     .bounce = (uint8_t)bounce};
    if (at)
        vertex = photon_landed(at, flying, state->key.path, bounce, state->kind);
    else
        vertex.triangle = medium_index(paths->scene, flying->medium);
    if (stored) store(out, &vertex);
    add(out, flying,
        !at      ? TRACED_MEDIUM
        : stored ? TRACED_SURFACE
                 : TRACED_SPECULAR,
        vertex.position, bounce);
    describe(out, at, stored);
}

static void trace_vcm(const traced_paths *paths, uint64_t number, traced_path *out) {
    const vcm_view *view = paths->vcm;
    vcm_light_path path = vcm_light_begin(view, paths->scene, number);
    if (path.base.over) return;
    begin(out, &path.base.photon_state.flying);
    bool goes_on = !light_path_is_over(&view->limits, &path.base);
    while (goes_on && vcm_light_next(view, paths->scene, &path)) {
        add_vertex(paths, &path, out);
        goes_on = vcm_light_go_on(view, paths->scene, &path);
    }
    if (goes_on) escape(out, paths->scene, &path.base.photon_state);
}

void traced_paths_trace(const traced_paths *paths, uint64_t path, traced_path *out) {
    const float share = (float)(1 / (double)paths->count);
    out->vertex_count = out->photon_count = 0;
    out->light = KD_NONE;
    if (paths->vcm)
        trace_vcm(paths, path, out);
    else
        trace_photon(paths, path, out);
    for (uint32_t i = 0; i < out->vertex_count; ++i)
        out->vertices[i].power = vec3_scale(out->vertices[i].power, share);
    for (uint32_t i = 0; i < out->photon_count; ++i)
        out->photons[i].power = vec3_scale(out->photons[i].power, share);
}

/* --- merging ---------------------------------------------------------------------------------- */

/* Sets *out to the photon of a path that has reached its vertex `landed`; traces it into *path. */
static bool photon_at_vertex(photon *out, const traced_paths *paths, const vcm_photon *landed,
                             traced_path *path) {
    traced_paths_trace(paths, landed->path, path);
    for (uint32_t i = 0; i < path->photon_count; ++i) {
        if (path->photons[i].bounce + 1u != landed->landed) continue;
        *out = path->photons[i];
        return true;
    }
    return false;
}

kd_status traced_paths_merging(photon *out, uint32_t *count, uint32_t limit,
                               const traced_paths *paths, bool on_device, vec3 position,
                               vec3 normal) {
    const vcm_view *view = paths->vcm;
    const vcm_photon *photons = view->grid.photons;
    const uint32_t all = view->merges > 0 ? view->grid.count : 0;
    const float bound2 = pointtree_bound2(view->radius);
    vcm_photon *copied = NULL;
    traced_path *path = NULL; /* too large for the stack */
    kd_status status = KD_OK;
    *count = 0;
    KD_TRY_GOTO(KD_RESERVE(path, 1));
    if (all > 0 && on_device) {
        KD_TRY_GOTO(KD_RESERVE(copied, all));
        KD_TRY_GOTO(device_memory_download(copied, photons, all * sizeof *copied));
        photons = copied;
    }
    for (uint32_t i = 0; i < all && *count < limit; ++i)
        if (pointtree_dist2(position, photons[i].place) <= bound2 &&
            vcm_photon_faces(&photons[i], normal) &&
            photon_at_vertex(out + *count, paths, &photons[i], path))
            ++*count;
done:
    memory_free(path);
    memory_free(copied);
    return status;
}
