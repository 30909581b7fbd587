#include "photon/maps/photon_map.h"
#include "core/hash.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "photon/density/estimators.h"
#include "photon/emission/emit.h"
#include "photon/emission/photon.h"
#include "photon/maps/distributed_photons.h"
#include "points/select/builders.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { ORDER_GRAIN = 1 << 14 };

photon_options photon_options_default(void) {
    photon_options options;
    memset(&options, 0, sizeof options);
    options.photons = options.caustics = options.volume_photons = PHOTONS_DEFAULT;
    options.max_depth = MAX_DEPTH_DEFAULT;
    options.max_specular = MAX_SPECULAR_DEFAULT;
    options.gather = GATHER_DEFAULT;
    options.kernel = PHOTON_KERNEL_CONE;
    options.tiles = true;
    return options;
}

/* --- one map ---------------------------------------------------------------------------------- */

typedef struct photon_ordering {
    const photon *from;
    photon *to;
    const uint32_t *ids;
    vec3 *positions;
} photon_ordering;

static void take_positions(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const photon_ordering *work = (const photon_ordering *)context;
    for (int64_t i = begin; i < end; ++i) work->positions[i] = work->from[i].position;
}

static void order_photons(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const photon_ordering *work = (const photon_ordering *)context;
    for (int64_t i = begin; i < end; ++i) work->to[i] = work->from[work->ids[i]];
}

/* Upper bound of the distance to the k-th photon from the previous lookup, rounding included;
   INFINITY if there is none. */
static float bound_by_last(const photon_last *last, vec3 query, uint32_t k) {
    if (!last || last->k < k) return INFINITY;
    return (last->distance + vec3_length(vec3_sub(query, last->position))) * 1.00001f;
}

/* Searches within the bound of the previous lookup, then, if that found too few (only possible for
   coordinates whose squares overflow), within the radius. */
static uint32_t map_nearest(const void *index, vec3 query, uint32_t k, float max_radius,
                            bool any_order, photon_last *last, neighbour *out) {
    uint64_t keys[2 * ESTIMATE_GATHER_MAX + 3 * LEAF_POINTS]; /* leafindex_capacity */
    assert(leafindex_capacity(k) <= sizeof keys / sizeof *keys);
    const leafindex *leaves = (const leafindex *)index;
    const float near = bound_by_last(last, query, k);
    uint32_t *place = last && k > 1 ? &last->place : NULL, count = 0;
    if (near < max_radius)
        count = leafindex_nearest_some(leaves, query, k, near, !any_order, place, keys, out);
    if (count < k)
        count = leafindex_nearest_some(leaves, query, k, max_radius, !any_order, place, keys, out);
    if (place && count == k && k >= last->k)
        *last = (photon_last){query, sqrtf(out[k - 1].dist2), k, last->place};
    return count;
}

/* Builds the tree and sorts the photons into tree order, so that neighbours in space are neighbours
   in memory. */
static kd_status map_build_tree(photon_map *out, const photon_list *list, photon_lookup lookup,
                                job_control *job) {
    kd_status status = KD_OK;
    photon_ordering work = {list->photons, NULL, NULL, NULL};
    KD_TRY_GOTO(KD_RESERVE(work.positions, list->count));
    parallel_for((int64_t)list->count, ORDER_GRAIN, take_positions, &work);
    out->built = list->nodes == NULL;
    if (out->built)
        KD_TRY_GOTO(pointtree_open(&out->tree, work.positions, list->count, NULL, NULL, job));
    else
        KD_TRY_GOTO(pointtree_adopt(&out->tree, work.positions, list->count, list->nodes));
    KD_TRY_GOTO(KD_RESERVE(out->photons, list->count));
    const pointtree_nd_view tree = pointtree_get_nd_view(&out->tree);
    if (!photon_lookups[lookup].walks) KD_TRY_GOTO(leafindex_open(&out->index, &tree, true));
    work.to = out->photons;
    work.ids = out->tree.ids;
    parallel_for((int64_t)list->count, ORDER_GRAIN, order_photons, &work);
done:
    memory_free(work.positions);
    return status;
}

uint64_t photon_map_bytes_max(uint64_t photons) {
    if (photons == 0) return 0;
    const uint64_t tree = sizeof(vec3) + sizeof(uint32_t) + sizeof(uint8_t);
    /* the positions, during construction; afterwards the irradiance */
    const uint64_t making = photons * sizeof(vec3) + pointtree_builders[0]->scratch_bytes(photons);
    const uint64_t computed = photons * sizeof(irradiance_record);
    return photons * (sizeof(photon) + tree) + leafindex_bytes_of(photons, true) +
           (making > computed ? making : computed);
}

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

float photon_radius_of(float *distances, uint64_t count, bool fixed) {
    qsort(distances, count, sizeof *distances, compare_floats);
    return fixed ? distances[count / 2] : 2 * distances[count / 2];
}

/* Sets the radius to twice the median distance to the k-th neighbour, measured at photons: the disc
   has the right size where light is dense, and sparse light far from all photons is not spread over
   the scene. For a fixed radius, to the median itself. */
static kd_status choose_radius(float *radius, const pointtree *points,
                               const photon_options *options) {
    const uint32_t gather = options->gather;
    const uint64_t all = points->count;
    if (all == 0) return KD_OK;
    neighbour *neighbours = NULL;
    KD_TRY(KD_RESERVE(neighbours, gather));
    const pointtree_view tree = pointtree_get_view(points);
    float distances[RADIUS_PROBES];
    const uint64_t probes = all < RADIUS_PROBES ? all : RADIUS_PROBES;
    for (uint64_t i = 0; i < probes; ++i) {
        const vec3 at = tree.points[i * all / probes];
        const uint32_t count = pointtree_nearest_k(&tree, at, gather, INFINITY, neighbours);
        distances[i] = sqrtf(neighbours[count - 1].dist2);
    }
    memory_free(neighbours);
    *radius = photon_radius_of(distances, probes, photon_estimators[options->estimator].one_radius);
    return KD_OK;
}

typedef struct list_reading {
    const photon_list *list;
    atomic_ullong hash;
    atomic_uint strongest; /* bits of a non-negative float, which compare as the float does */
} list_reading;

static void read_photons(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    list_reading *work = (list_reading *)context;
    uint64_t hash = 0;
    float strongest = 0;
    const photon_list *list = work->list;
    for (int64_t i = begin; i < end; ++i) {
        const photon *landed = &list->photons[i];
        hash += photon_hash(landed, photon_run_place(list->runs, list->run_count, (uint64_t)i));
        strongest = float_max(vec3_largest(landed->power), strongest);
    }
    atomic_fetch_add(&work->hash, hash);
    uint32_t before = atomic_load(&work->strongest);
    while (before < float_bits(strongest) &&
           !atomic_compare_exchange_weak(&work->strongest, &before, float_bits(strongest))) {
    }
}

/* `comm`: the ranks over which the map is distributed, or NULL. */
static kd_status map_read_list(photon_map *map, const photon_list *list, ranks *comm) {
    list_reading work;
    memset(&work, 0, sizeof work);
    work.list = list;
    parallel_for((int64_t)list->count, ORDER_GRAIN, read_photons, &work);
    uint32_t strongest = atomic_load(&work.strongest);
    map->hash = atomic_load(&work.hash);
    if (comm) KD_TRY(distributed_photons_agree(comm, &map->hash, &strongest));
    map->scale = flux_scale(float_from_bits(strongest));
    return KD_OK;
}

static kd_status emit_list(photon_list *out, const scene_view *scene, const photon_order *order,
                           const char *name, job_control *job) {
    job_stage_begin(job, "emit", (int64_t)order->target);
    KD_TRY(photon_list_open(out, scene, order, job));
    photon_map_say_missing(out, name, order);
    return KD_OK;
}

static void map_take_figures(photon_map *out, photon_list *list) {
    out->count = list->count + list->remote_count;
    out->runs = list->runs;
    out->run_count = list->run_count;
    list->runs = NULL;
    out->emitted = list->emitted;
    out->rays = list->rays;
    out->ledger = list->ledger;
    out->complete = list->complete;
    out->cut = list->cut;
}

/* Builds a map, and closes the list. */
static kd_status map_open(photon_map *out, photon_list *list, const photon_options *options,
                          bool is_distributed, job_control *job) {
    kd_status status = KD_OK;
    ranks *comm = is_distributed && ranks_shared(options->comm) ? options->comm : NULL;
    pointtree whole;
    memset(&whole, 0, sizeof whole);
    map_take_figures(out, list);
    list->runs = out->runs; /* borrowed for the call only */
    status = map_read_list(out, list, comm);
    list->runs = NULL;
    KD_TRY_GOTO(status);
    job_stage_begin(job, "photon_tree", (int64_t)list->count);
    KD_TRY_GOTO(map_build_tree(out, list, options->lookup, job));
    out->radius = options->radius;
    if (out->radius > 0) goto done;
    if (comm)
        KD_TRY_GOTO(distributed_photons_whole_tree(&whole, comm, list, out->runs, out->run_count));
    KD_TRY_GOTO(choose_radius(&out->radius, comm ? &whole : &out->tree, options));
    if (comm) KD_TRY_GOTO(ranks_broadcast(comm, &out->radius, sizeof out->radius));
done:
    pointtree_close(&whole);
    job_stage_end(job);
    photon_list_close(list);
    return status;
}

/* Builds a media map of beams, kept in `beams`, and closes the list. */
static kd_status map_open_beams(photon_map *out, beam_set *beams, photon_list *list,
                                const scene_view *scene, const photon_options *options,
                                job_control *job) {
    map_take_figures(out, list);
    kd_status status = map_read_list(out, list, NULL);
    job_stage_begin(job, "photon_tree", (int64_t)list->count);
    if (status == KD_OK)
        status = beam_set_open(beams, list->photons, list->count, scene, options->gather, job);
    job_stage_end(job);
    out->radius = options->radius > 0 ? options->radius : beams->radius;
    photon_list_close(list);
    return status;
}

static void map_close(photon_map *owned) {
    memory_free(owned->photons);
    memory_free(owned->irradiance);
    memory_free(owned->runs);
    pointtree_close(&owned->tree);
    leafindex_close(&owned->index);
    memset(owned, 0, sizeof *owned);
}

/* --- all maps --------------------------------------------------------------------------------- */

kd_status photon_lists_open(photon_list out[PHOTON_LISTS], const scene_view *scene,
                            const photon_options *options, job_control *job) {
    kd_status status = KD_OK;
    photon_order orders[PHOTON_LISTS];
    memset(out, 0, PHOTON_LISTS * sizeof *out);
    KD_TRY_GOTO(photon_orders_make(orders, scene, options));
    for (int l = 0; l < PHOTON_LISTS; ++l)
        KD_TRY_GOTO(emit_list(&out[l], scene, &orders[l], photon_list_names[l], job));
done:
    job_stage_end(job);
    for (int i = 0; i < PHOTON_LISTS && status != KD_OK; ++i) photon_list_close(&out[i]);
    return status;
}

kd_status photon_options_check(const photon_options *options) {
    KD_REQUIRE(options->gather >= 2 && options->gather <= ESTIMATE_GATHER_MAX, KD_ERROR_USAGE,
               "`gather` is %u photons; expected 2 to %u", options->gather, ESTIMATE_GATHER_MAX);
    KD_REQUIRE(
        options->radius >= 0 && options->radius <= FLT_MAX, KD_ERROR_USAGE,
        "`radius` is %g; expected a length above 0, or 0 to derive it from the photon density",
        (double)options->radius);
    return KD_OK;
}

kd_status photon_maps_open(photon_maps *out, const scene_view *scene, const photon_options *options,
                           job_control *job) {
    photon_list lists[PHOTON_LISTS];
    memset(out, 0, sizeof *out);
    KD_TRY(photon_options_check(options));
    KD_TRY(photon_lists_open(lists, scene, options, job));
    return photon_maps_build_trees(out, scene, lists, options, job);
}

kd_status photon_maps_build_trees(photon_maps *out, const scene_view *scene,
                                  photon_list lists[PHOTON_LISTS], const photon_options *options,
                                  job_control *job) {
    memset(out, 0, sizeof *out);
    kd_status status = KD_OK;
    KD_TRY_GOTO(photon_options_check(options));
    out->comm = options->comm;
    out->gather = options->gather;
    out->kernel = options->kernel;
    out->estimator = options->estimator;
    out->lookup = options->lookup;
    KD_TRY_GOTO(
        map_open(&out->global, &lists[PHOTON_LIST_GLOBAL], options, options->distributed, job));
    KD_TRY_GOTO(
        map_open(&out->caustic, &lists[PHOTON_LIST_CAUSTIC], options, options->distributed, job));
    photon_list *volume_photons = &lists[PHOTON_LIST_MEDIA];
    status = photon_media_rows[options->media].beams
                 ? map_open_beams(&out->media, &out->beams, volume_photons, scene, options, job)
                 : map_open(&out->media, volume_photons, options, false, job);
    KD_TRY_GOTO(status);
    const float radius = float_max(out->global.radius, out->caustic.radius);
    if (radius > 0 && options->tiles) {
        job_stage_begin(job, "surface", 0);
        KD_TRY_GOTO(tile_set_open(&out->tiles, scene, NULL, radius, true, job));
    }
done:
    job_stage_end(job);
    for (int i = 0; i < PHOTON_LISTS; ++i) photon_list_close(&lists[i]);
    if (status != KD_OK) photon_maps_close(out);
    return status;
}

void photon_maps_close(photon_maps *owned) {
    map_close(&owned->global);
    map_close(&owned->caustic);
    map_close(&owned->media);
    beam_set_close(&owned->beams);
    tile_set_close(&owned->tiles);
    memset(owned, 0, sizeof *owned);
}

static photon_map_view view_of(const photon_maps *maps, const photon_map *map) {
    photon_map_view view;
    view.photons = map->photons;
    view.tree = pointtree_get_view(&map->tree);
    view.radius = map->radius;
    view.gather = photon_estimators[maps->estimator].one_radius ? 0 : maps->gather;
    view.adaptive = photon_estimators[maps->estimator].adaptive;
    view.kernel = maps->kernel;
    view.scale = map->scale;
    view.walks = photon_lookups[maps->lookup].walks;
    view.finder = map->tree.count && !view.walks ? map_nearest : NULL;
    view.index = &map->index;
    view.any_order = false;
    view.last = NULL;
    view.irradiance = map->irradiance;
    return view;
}

photon_map_view photon_map_followed(const photon_map_view *map, photon_last *last) {
    photon_map_view view = *map;
    memset(last, 0, sizeof *last);
    view.any_order = !map->adaptive;
    view.last = last;
    return view;
}

photon_map_view photon_maps_global(const photon_maps *maps) {
    return view_of(maps, &maps->global);
}

photon_map_view photon_maps_caustic(const photon_maps *maps) {
    return view_of(maps, &maps->caustic);
}

photon_map_view photon_maps_media(const photon_maps *maps) {
    return view_of(maps, &maps->media);
}

beam_view photon_maps_beams(const photon_maps *maps) {
    beam_view view = beam_set_get_view(&maps->beams, maps->kernel, maps->media.scale);
    view.radius = maps->media.radius;
    return view;
}

tile_view photon_maps_tiles(const photon_maps *maps) {
    return tile_set_get_view(&maps->tiles);
}

void photon_options_limit(photon_options *options, double end) {
    const uint64_t targets[PHOTON_LISTS] = {options->photons, options->caustics,
                                            options->volume_photons};
    const double now = timing_now();
    int lists = 0, done = 0;
    for (int i = 0; i < PHOTON_LISTS; ++i) lists += targets[i] > 0;
    for (int i = 0; i < PHOTON_LISTS; ++i) {
        done += targets[i] > 0;
        options->deadlines[i] = end > 0 ? now + (end - now) * done / (lists ? lists : 1) : 0;
    }
}

bool photon_maps_cut(const photon_maps *maps) {
    return maps->global.cut || maps->caustic.cut || maps->media.cut;
}

uint64_t photon_maps_hash(const photon_maps *maps) {
    const uint64_t hash =
        hash_combine(maps->global.hash, &maps->caustic.hash, sizeof maps->caustic.hash);
    if (maps->media.count == 0) return hash;
    return hash_combine(hash, &maps->media.hash, sizeof maps->media.hash);
}
