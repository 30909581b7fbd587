#include "render/api/flights.h"
#include "render/integrators/vcm.h"

light_source light_source_of(const frame *frame) {
    light_source source = {NULL, NULL, NULL, NULL, NULL};
    if (frame->integrator->show_light) frame->integrator->show_light(frame, &source);
    return source;
}

light_numbers light_source_count(const light_source *source, bool on_device) {
    light_numbers counts = {.pass = source->options ? source->options->pass : 0};
    if (source->vcm) counts.paths[FLIGHTS_VCM] = source->vcm->paths;
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

kd_status flights_open(flights *out, const frame *frame, int set) {
    const light_source source = light_source_of(frame);
    const light_numbers counts = light_source_count(&source, frame->device_frame != NULL);
    photon_order orders[PHOTON_LISTS];
    memset(out, 0, sizeof *out);
    KD_REQUIRE(counts.paths[set] > 0, KD_ERROR_USAGE,
               "the rendering has no light paths for this map");
    KD_REQUIRE(!frame->options->photon_map, KD_ERROR_USAGE,
               "a photon map file contains no light paths");
    out->scene = frame->scene;
    out->paths = counts.paths[set];
    out->vcm = source.vcm;
    if (set == FLIGHTS_VCM) return KD_OK;
    KD_TRY(photon_orders_make(orders, frame->scene, source.options));
    out->order = orders[set];
    return KD_OK;
}

static void begin(flight *out, const emitted_photon *flying) {
    out->points[out->point_count++] =
        (flight_point){flying->ray.origin, flying->power, FLIGHT_LIGHT, 0, KD_NONE, false};
    out->light = flying->light;
}

static void add(flight *out, const emitted_photon *flying, flight_kind kind, vec3 position,
                uint32_t bounce) {
    if (out->point_count == FLIGHT_POINTS) return;
    out->points[out->point_count++] =
        (flight_point){position, flying->power, kind, bounce, KD_NONE, false};
}

static void store(flight *out, const photon *stored) {
    if (out->photon_count < FLIGHT_POINTS) out->photons[out->photon_count++] = *stored;
}

/* Adds the end of a ray, or of a path at a cut-out too many. */
static void escape(flight *out, const scene_view *scene, const photon_path *state) {
    const ray *last = &state->flying.ray;
    const float beyond = last->tmin + vec3_length(box3_size(scene->box));
    add(out, &state->flying, FLIGHT_ESCAPE, ray_at(last, beyond), state->bounce);
}

/* Completes the vertex that was added last. */
static void describe(flight *out, const surface *at, bool stored) {
    flight_point *vertex = &out->points[out->point_count - 1];
    if (at) vertex->material = at->material;
    vertex->stored = stored;
}

/* As photon_path_next, with the points on the way. */
static bool follow(const flights *of, photon_path *state, flight *out) {
    const scene_view *scene = of->scene;
    const photon_filter *filter = &of->order.filter;
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
        add(out, flying, FLIGHT_CUTOUT, ray_at(&flying->ray, flying->ray.tmin), state->bounce);
        return true;
    }
    const photon_turn turn = photon_path_arrive(scene, state, hit, in_volume, &at, &discarded);
    if (turn == PHOTON_ENDS) {
        escape(out, scene, state);
        return false;
    }
    const bool on_surface = turn == PHOTON_SCATTERS;
    const bool stored = photon_path_lands(scene, filter, turn, &at, state, &slot);
    if (stored) store(out, &slot);
    const flight_kind kind = !on_surface                  ? FLIGHT_MEDIUM
                             : surface_holds_photons(&at) ? FLIGHT_SURFACE
                                                          : FLIGHT_SPECULAR;
    add(out, flying, kind, on_surface ? at.position : flying->ray.origin, state->bounce);
    describe(out, on_surface ? &at : NULL, stored);
    return photon_path_go_on(scene, filter, turn, &at, state, &discarded);
}

static void trace_photon(const flights *of, uint64_t path, flight *out) {
    photon_path state;
    photon_ledger discarded;
    if (!photon_path_begin(of->scene, &of->order.emission, path, &state, &discarded)) return;
    begin(out, &state.flying);
    while (follow(of, &state, out)) continue;
}

/* The vertex that a path of vcm has reached. */
static void add_vertex(const flights *of, const vcm_light_path *path, flight *out) {
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
        vertex.triangle = medium_index(of->scene, flying->medium);
    if (stored) store(out, &vertex);
    add(out, flying,
        !at      ? FLIGHT_MEDIUM
        : stored ? FLIGHT_SURFACE
                 : FLIGHT_SPECULAR,
        vertex.position, bounce);
    describe(out, at, stored);
}

static void trace_vcm(const flights *of, uint64_t number, flight *out) {
    const vcm_view *view = of->vcm;
    vcm_light_path path = vcm_light_begin(view, of->scene, number);
    if (path.base.over) return;
    begin(out, &path.base.photon_state.flying);
    bool goes_on = !light_path_is_over(&view->limits, &path.base);
    while (goes_on && vcm_light_next(view, of->scene, &path)) {
        add_vertex(of, &path, out);
        goes_on = vcm_light_go_on(view, of->scene, &path);
    }
    if (goes_on) escape(out, of->scene, &path.base.photon_state);
}

void flights_trace(const flights *of, uint64_t path, flight *out) {
    const float share = (float)(1 / (double)of->paths);
    out->point_count = out->photon_count = 0;
    out->light = KD_NONE;
    if (of->vcm)
        trace_vcm(of, path, out);
    else
        trace_photon(of, path, out);
    for (uint32_t i = 0; i < out->point_count; ++i)
        out->points[i].power = vec3_scale(out->points[i].power, share);
    for (uint32_t i = 0; i < out->photon_count; ++i)
        out->photons[i].power = vec3_scale(out->photons[i].power, share);
}
