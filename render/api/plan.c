/* Predicts the memory of a rendering, and changes the options so that it fits (plan.h). */
#include "render/api/plan.h"
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/wide/compressed_form.h"
#include "core/device/device_memory.h"
#include "core/names.h"
#include "core/status.h"
#include "photon/density/tile_set.h"
#include "photon/maps/distributed_photons.h"
#include "photon/maps/photon_map.h"
#include "render/api/render.h"
#include "render/frame/film.h"
#include "render/frame/waves.h"
#include "render/integrators/integrators.h"
#include "render/photon_mapping/distributed_lookups.h"
#include "render/photon_mapping/photon.h"
#include "render/photon_mapping/pilot.h"
#include "scenes/assembly/scene_cuda.h"
#include <stdio.h>
#include <string.h>

/* PLANNED_REFERENCES: references, and equally nodes, per triangle of a tree on a device; fewer for
   COMPRESSED_MANY triangles, which are small. SMALL_TREE: allowance for small trees. */
enum { PLANNED_REFERENCES = 8, PLANNED_REFERENCES_MANY = 5, SMALL_TREE = 1 << 16 };

/* Pools of paths take at most POOL_BYTES by default, or one part of POOL_PARTS of the free memory
   if that is more; they are not reduced to fewer paths than POOL_PATHS_MIN unless their allocation
   fails. On an H200, pools of 1 GB cost `path` in Sponza 15 % and `photon` a factor of 3. */
enum { POOL_BYTES = 1 << 30, POOL_PARTS = 8, POOL_PATHS_MIN = 1 << 17 };

/* If a plan does not fit with so many batches, there are fewer paths in flight instead. */
enum { FEW_BATCHES = 256 };

static const char BUILDER_ROW[] = "tree builder";

static void add_to(render_plan *plan, bool on_device, const char *name, uint64_t bytes) {
    if (bytes == 0) return;
    plan->rows[plan->count].name = name;
    plan->rows[plan->count].bytes = bytes;
    plan->rows[plan->count].on_device = on_device;
    ++plan->count;
    *(on_device ? &plan->device_total : &plan->total) += bytes;
}

static void add(render_plan *plan, const char *name, uint64_t bytes) {
    add_to(plan, false, name, bytes);
}

static uint64_t pixels_of(const kd_render_options *options) {
    const int32_t *crop = options->crop;
    if (crop[2] > 0) return (uint64_t)(crop[2] - crop[0]) * (uint64_t)(crop[3] - crop[1]);
    return (uint64_t)options->width * (uint64_t)options->height;
}

static uint64_t state_bytes(const kd_render_options *options) {
    return integrator_state_bytes(integrator_find(options->integrator), options);
}

/* Photons to store per batch in each map: global, caustic, media. */
static void photons_of(uint64_t photons[PHOTON_LISTS], const scene_view *view,
                       const kd_render_options *options) {
    const uint64_t batches = (uint64_t)options->batches, same = options->photons;
    const uint64_t per_list[PHOTON_LISTS] = {same, options->caustic_photons,
                                             options->media_photons};
    uint32_t maps = integrator_maps(integrator_find(options->integrator), options);
    if (!photon_scene_scatters(view)) maps &= ~(1u << PHOTON_LIST_MEDIA);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const uint64_t total = maps & 1u << l ? (per_list[l] ? per_list[l] : same) : 0;
        photons[l] = (total + batches - 1) / batches;
    }
}

/* k of estimates with distributed photons; 0: fixed radius. */
static uint32_t distributed_gather(const kd_render_options *options) {
    const bool fixed = integrator_find(options->integrator)->pass ||
                       photon_estimator_named(options->estimator)->one_radius;
    return fixed ? 0 : (uint32_t)options->gather;
}

static const char *const map_names[PHOTON_LISTS] = {"global photon map", "caustic photon map",
                                                    "media photon map"};

/* Bytes of the bounding boxes of instances and of their order, which are built after planning. */
static uint64_t instance_bytes(const instance_view *view) {
    return (uint64_t)view->count * (2 * sizeof(instance_node) + sizeof(uint32_t));
}

/* Bytes of the trees of instanced meshes: nodes and references. */
static uint64_t instance_tree_bytes(const scene_view *view) {
    const uint64_t triangles = view->mesh.stored_count - view->mesh.triangle_count;
    return triangles * PLANNED_REFERENCES * (sizeof(uint32_t) + sizeof(tritree_node));
}

/* Upper bound on the number of discs with the estimation radius that are needed to cover the lit
   surfaces: one for each k photons, since the disc of an estimate from the k nearest photons
   contains k. UINT64_MAX if the radius does not depend on k. */
static uint64_t discs_of(const uint64_t photons[PHOTON_LISTS], const kd_render_options *options) {
    const integrator *method = integrator_find(options->integrator);
    const uint64_t global = photons[PHOTON_LIST_GLOBAL], caustic = photons[PHOTON_LIST_CAUSTIC];
    const uint64_t maximum = global > caustic ? global : caustic;
    if (method->pass || photon_estimator_named(options->estimator)->one_radius) return UINT64_MAX;
    return options->gather > 0 ? maximum / (uint64_t)options->gather : UINT64_MAX;
}

/* Bytes of a photon map; if photons are distributed, those of the rank's share, and of the tree on
   rank 0 that determines the radius. */
static uint64_t map_bytes(uint64_t photons, bool distributed, const kd_render_options *options,
                          int32_t rank_count) {
    if (!distributed) return photon_map_bytes_max(photons);
    const uint64_t keepers = (uint64_t)rank_count;
    const uint64_t list_bytes = photon_map_bytes_max((photons + keepers - 1) / keepers);
    return list_bytes + (options->radius > 0 ? 0 : distributed_photons_tree_bytes(photons));
}

/* Bytes of the media map. With beams, photons are freed before the first lookup. */
static uint64_t media_bytes(uint64_t photons, const kd_render_options *options) {
    return photon_media_named(options->media)->beams ? beam_set_bytes_max(photons)
                                                     : photon_map_bytes_max(photons);
}

static kd_status plan_cpu(render_plan *out, const scene_view *view,
                          const kd_render_options *options, int32_t rank_count) {
    const tritree_builder *builder = NULL;
    KD_TRY(tritree_builder_choose(&builder, options->builder));
    add(out, "triangle tree", builder->scratch_bytes(view->mesh.stored_count));
    add(out, "placements", instance_bytes(&view->instances));
    add(out, "tree for rays", tritree_widen_bytes_max(builder, view->mesh.stored_count));
    add(out, "splats", state_bytes(options));
    uint64_t photons[PHOTON_LISTS], lists = 0, batch = 0, all = 0;
    const bool all_distributed = rank_count > 1 && rank_maps_distributed(options->maps);
    photons_of(photons, view, options);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const bool distributed = all_distributed && l != PHOTON_LIST_MEDIA;
        add(out, map_names[l],
            l == PHOTON_LIST_MEDIA ? media_bytes(photons[l], options)
                                   : map_bytes(photons[l], distributed, options, rank_count));
        lists += photon_list_bytes(distributed ? photons[l] / (uint64_t)rank_count : photons[l]);
        if (photon_batch_bytes(photons[l]) > batch) batch = photon_batch_bytes(photons[l]);
        all += photons[l];
    }
    add(out, "emission", lists + batch);
    if (all && all_distributed) /* the trial's photons are not distributed */
        add(out, "trial of emission", pilot_bytes_max(photons));
    if (all && all_distributed)
        add(out, "map lookups", distributed_lookups_bytes(distributed_gather(options)));
    if (all)
        add(out, "surface tiles",
            tile_set_bytes_max(view->mesh.triangle_count, discs_of(photons, options)));
    return KD_OK;
}

/* Plans the tree while it is built, and its copy as compressed wide nodes, for batches of rays. */
static kd_status plan_device_tree(render_plan *out, const mesh_view *mesh,
                                  const kd_render_options *options) {
    const tritree_builder_cuda *builder = tritree_builder_cuda_find(options->builder);
    const uint64_t each = mesh->triangle_count < COMPRESSED_MANY ? PLANNED_REFERENCES
                                                                 : PLANNED_REFERENCES_MANY,
                   references = each * mesh->triangle_count + SMALL_TREE;
    const uint32_t maximum = (uint32_t)(references < UINT32_MAX / 2 ? references : UINT32_MAX / 2);
    add_to(out, true, "triangle tree",
           tritree_cuda_bytes(maximum, maximum, mesh->triangle_count, mesh->position_count));
    if (!builder) {
        const tritree_builder *on_cpu = NULL;
        return tritree_builder_choose(&on_cpu, options->builder);
    }
    add_to(out, true, BUILDER_ROW,
           tritree_build_memory_bytes(builder, mesh->position_count, mesh->triangle_count));
    return KD_OK;
}

/* Bytes of a photon map; distributed maps are complete on each rank until their radius is known. */
static uint64_t map_device_bytes(uint64_t photons, bool ordered, const kd_render_options *options,
                                 int32_t rank_count) {
    const bool distributed =
        rank_count > 1 && rank_maps_distributed(options->maps) && options->radius > 0;
    const uint64_t keepers = distributed ? (uint64_t)rank_count : 1;
    return photon_map_cuda_bytes((photons + keepers - 1) / keepers, ordered);
}

/* Bytes of the media map on a device. The host builds beams, and frees its scratch memory before
   the first lookup. */
static uint64_t media_device_bytes(uint64_t photons, const kd_render_options *options) {
    return photon_media_named(options->media)->beams
               ? photon_list_cuda_bytes(photons) + beam_set_bytes_kept(photons)
               : photon_map_cuda_bytes(photons, true);
}

/* Returns true if the next pass's maps are built during this pass's samples (progressive.c). */
static bool emits_ahead(const kd_render_options *options, int32_t rank_count) {
    const integrator *integrator = integrator_find(options->integrator);
    return options->maps_ahead && integrator->pass && rank_count == 1 &&
           integrator_samples(integrator, options) > 1 && !(options->time_seconds > 0) &&
           !photon_media_named(options->media)->beams;
}

/* Returns the bytes of the builder, if it runs on the device. */
static uint64_t builder_bytes(const render_plan *plan) {
    const int last = plan->count - 1;
    return strcmp(plan->rows[last].name, BUILDER_ROW) == 0 ? plan->rows[last].bytes : 0;
}

/* Plans what is held while the tree is built, and the builder. */
static kd_status plan_device_scene(render_plan *out, const scene_view *view,
                                   const kd_render_options *options) {
    uint64_t scene_bytes = 0;
    KD_TRY(scene_cuda_measure(&scene_bytes, view));
    scene_bytes += instance_bytes(&view->instances) + instance_tree_bytes(view);
    add_to(out, true, "scene", scene_bytes);
    return plan_device_tree(out, &view->mesh, options);
}

/* Bytes of wavefronts of paths, and of lookups into photon maps. */
static uint64_t pool_bytes(const scene_view *view, const kd_render_options *options) {
    const integrator *integrator = integrator_find(options->integrator);
    const bool by_waves = photon_cuda_gathers_by_waves(view);
    const uint64_t paths = integrator_launch_bytes(integrator, view, options);
    if (!integrator_maps(integrator, options)) return paths;
    return paths + photon_cuda_lookup_bytes(pixels_of(options),
                                            by_waves ? (uint32_t)options->final_gather : 0,
                                            waves_paths(options));
}

static uint64_t pool_limit(void) {
    uint64_t available = 0;
    if (device_memory_free_bytes(&available) != KD_OK) status_clear();
    return available / POOL_PARTS > POOL_BYTES ? available / POOL_PARTS : POOL_BYTES;
}

/* Returns the paths in flight: those of the options, or as many as fit into the limit. Several
   ranks, whose launches must agree, use those of the options, or the default if these are 0. */
static uint64_t pooled_paths(const scene_view *view, const kd_render_options *options,
                             int32_t rank_count) {
    kd_render_options tried = *options;
    if (options->device_paths || rank_count > 1) return options->device_paths;
    const uint64_t limit = pool_limit();
    tried.device_paths = WAVE_PATHS;
    while (pool_bytes(view, &tried) > limit && tried.device_paths > POOL_PATHS_MIN)
        tried.device_paths /= 2;
    return tried.device_paths;
}

/* Plans what is allocated after the tree has been built. */
static kd_status plan_device_work(render_plan *out, const scene_view *view,
                                  const kd_render_options *options, int32_t rank_count) {
    uint64_t photons[PHOTON_LISTS], all = 0, ahead = 0;
    /* Integrators that need the global map only look it up inline. */
    const uint32_t maps = integrator_maps(integrator_find(options->integrator), options);
    const bool ordered = options->final_gather > 0 || photon_scene_scatters(view) ||
                         photon_estimator_named(options->estimator)->adaptive ||
                         photon_lookup_named(options->lookup)->walks || maps == MAPS_GLOBAL;
    add_to(out, true, "film", film_bytes_of(pixels_of(options)));
    add_to(out, true, "splats", state_bytes(options));
    kd_render_options pooled = *options;
    pooled.device_paths = pooled_paths(view, options, rank_count);
    add_to(out, true, maps ? "map lookups" : "paths", pool_bytes(view, &pooled));
    photons_of(photons, view, options);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        KD_REQUIRE(photons[l] <= POINTTREE_COUNT_MAX / 2, KD_ERROR_USAGE,
                   "%llu photons in one map on a device exceed the limit of %u: increase --batches",
                   (unsigned long long)photons[l], POINTTREE_COUNT_MAX / 2);
        const uint64_t bytes = l == PHOTON_LIST_MEDIA
                                   ? media_device_bytes(photons[l], options)
                                   : map_device_bytes(photons[l], ordered, options, rank_count);
        add_to(out, true, map_names[l], bytes);
        ahead += bytes;
        all += photons[l];
    }
    if (emits_ahead(options, rank_count)) add_to(out, true, "the next pass's maps", ahead);
    if (all && rank_count > 1 && rank_maps_distributed(options->maps))
        add_to(out, true, "looks of all ranks",
               distributed_lookups_device_bytes(pixels_of(options)));
    if (all)
        add_to(out, true, "surface tiles",
               tile_set_bytes_there_max(view->mesh.triangle_count, discs_of(photons, options)));
    return KD_OK;
}

/* The builder's memory is released before anything else is allocated: the peak is that of either.
 */
static kd_status plan_device(render_plan *out, const scene_view *view,
                             const kd_render_options *options, int32_t rank_count) {
    const integrator *integrator = integrator_find(options->integrator);
    uint64_t photons[PHOTON_LISTS];
    KD_TRY(plan_device_scene(out, view, options));
    const uint64_t building = out->device_total, builder = builder_bytes(out);
    if (integrator->launch_bytes || integrator_maps(integrator, options))
        add_to(out, true, "tree for rays",
               compressed_bytes_max(view->mesh.triangle_count,
                                    view->mesh.triangle_count >= COMPRESSED_MANY));
    KD_TRY(plan_device_work(out, view, options, rank_count));
    photons_of(photons, view, options);
    add(out, "trial of emission", options->photon_map ? 0 : pilot_bytes_max(photons));
    out->device_total -= builder;
    if (out->device_total < building) out->device_total = building;
    return KD_OK;
}

kd_status render_plan_pools(kd_render_options *options, const scene_view *view,
                            uint64_t available) {
    const integrator *integrator = integrator_find(options->integrator);
    render_plan plan;
    if (!integrator->launch_bytes && !integrator_maps(integrator, options)) return KD_OK;
    options->device_paths = pooled_paths(view, options, 1);
    for (;;) {
        memset(&plan, 0, sizeof plan);
        KD_TRY(plan_device_work(&plan, view, options, 1));
        if (plan.device_total <= available) return KD_OK;
        if (emits_ahead(options, 1))
            options->maps_ahead = 0;
        else if (options->device_paths > POOL_PATHS_MIN)
            options->device_paths /= 2;
        else
            return KD_OK; /* an upper bound: it may fit nevertheless */
    }
}

uint64_t render_plan_sent(const scene_view *view, const kd_render_options *options,
                          int32_t rank_count, bool on_devices) {
    const integrator *integrator = integrator_find(options->integrator);
    const uint64_t passes = integrator->pass ? (uint64_t)integrator_samples(integrator, options)
                                             : (uint64_t)options->batches;
    uint64_t photons[PHOTON_LISTS], each = 0;
    if (rank_count < 2) return 0;
    photons_of(photons, view, options);
    for (int l = 0; l < PHOTON_LISTS; ++l) each += photons[l] * sizeof(photon);
    const uint64_t sums = pixels_of(options) * sizeof(film_pixel);
    if (rank_maps_distributed(options->maps))
        return (uint64_t)integrator_samples(integrator, options) *
                   (on_devices ? distributed_lookups_device_sent(pixels_of(options), rank_count)
                               : distributed_lookups_sent(
                                     pixels_of(options), distributed_gather(options), rank_count)) +
               sums / (uint64_t)rank_count;
    return passes * (each / (uint64_t)rank_count + state_bytes(options)) +
           sums / (uint64_t)rank_count;
}

kd_status render_plan_make_among(render_plan *out, const scene_view *view,
                                 const kd_render_options *options, int32_t rank_count) {
    device device;
    memset(out, 0, sizeof *out);
    KD_TRY(render_choose_device(&device, options));
    add(out, "film", film_bytes_of(pixels_of(options)));
    add(out, "picture", film_picture_bytes(pixels_of(options)));
    return device.kind == DEVICE_CUDA ? plan_device(out, view, options, rank_count)
                                      : plan_cpu(out, view, options, rank_count);
}

/* Returns the device builder that needs the least memory for this mesh; NULL if there is none. */
static const tritree_builder_cuda *smallest_builder(const mesh_view *mesh) {
    const tritree_builder_cuda *minimum = NULL;
    uint64_t min_bytes = UINT64_MAX;
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row) {
        const uint64_t bytes =
            tritree_build_memory_bytes(*row, mesh->position_count, mesh->triangle_count);
        if (bytes < min_bytes) {
            min_bytes = bytes;
            minimum = *row;
        }
    }
    return minimum;
}

static bool fits(const render_plan *plan, uint64_t maximum) {
    return plan->total <= maximum && plan->device_total <= maximum;
}

/* Halves the number of paths in flight until the plan fits, but not below `minimum`. */
static kd_status fit_paths(render_plan *out, const scene_view *view, kd_render_options *options,
                           uint64_t maximum, uint64_t minimum) {
    const integrator *integrator = integrator_find(options->integrator);
    if (!integrator->launch_bytes && !integrator_maps(integrator, options)) return KD_OK;
    uint64_t paths = pooled_paths(view, options, 1);
    while (out->device_total > maximum && paths > minimum) {
        paths /= 2;
        options->device_paths = paths;
        KD_TRY(render_plan_make_among(out, view, options, 1));
    }
    return KD_OK;
}

kd_status render_plan_fit(render_plan *out, const scene_view *view, kd_render_options *options,
                          uint64_t maximum) {
    if (maximum > 0) options->maps_ahead = 0; /* no maps are built before they are needed */
    KD_TRY(render_plan_make_among(out, view, options, 1));
    if (maximum == 0 || fits(out, maximum)) return KD_OK;
    const integrator *integrator = integrator_find(options->integrator);
    KD_TRY(fit_paths(out, view, options, maximum, WAVE_PATHS / 8));
    const tritree_builder_cuda *smallest = smallest_builder(&view->mesh);
    if (out->device_total > maximum && name_is_auto(options->builder) && smallest) {
        snprintf(options->builder, sizeof options->builder, "%s", smallest->name);
        KD_TRY(render_plan_make_among(out, view, options, 1));
    }
    KD_TRY(fit_paths(out, view, options, maximum, POOL_PATHS_MIN));
    const int32_t last = integrator_batches_max(integrator, options), requested = options->batches;
    if (options->batches < FEW_BATCHES && out->device_total > maximum) {
        options->batches = last < FEW_BATCHES ? last : FEW_BATCHES;
        KD_TRY(render_plan_make_among(out, view, options, 1));
        KD_TRY(fit_paths(out, view, options, maximum, WAVE_PATHS_MIN));
        options->batches = requested;
        KD_TRY(render_plan_make_among(out, view, options, 1));
    }
    while (!fits(out, maximum) && options->batches < last) {
        ++options->batches;
        KD_TRY(render_plan_make_among(out, view, options, 1));
    }
    KD_TRY(fit_paths(out, view, options, maximum, WAVE_PATHS_MIN));
    const bool by_gather = integrator->batches_max && !integrator->pass && last < options->spp;
    const bool on_device = out->device_total > out->total;
    KD_REQUIRE(
        fits(out, maximum), KD_ERROR_MEMORY,
        "rendering needs %llu bytes%s%s, but only %llu are allowed: use %sa smaller --resolution "
        "or a --crop%s",
        (unsigned long long)(on_device ? out->device_total : out->total),
        on_device ? " on the device" : "",
        last > 1 ? " even in as many batches as the options allow" : "",
        (unsigned long long)maximum,
        by_gather  ? "a larger --gather or --estimator fixed (both allow more batches), fewer "
                     "--photons, "
        : last > 1 ? "fewer --photons, "
                   : "",
        on_device ? ", or --device cpu" : "");
    return KD_OK;
}

/* Returns true if this assignment of photons to ranks fits; records the bytes sent. */
static bool spread_fits(const scene_view *view, const kd_render_options *options, rank_maps maps,
                        uint64_t maximum, maps_choice *choice) {
    render_plan plan;
    kd_render_options tried = *options;
    const integrator *integrator = integrator_find(options->integrator);
    choice->sent[maps] = 0;
    snprintf(tried.maps, sizeof tried.maps, "%s", rank_maps_name((int)maps));
    if (maps == RANK_MAPS_DISTRIBUTED &&
        !(integrator->maps && integrator_can_distribute(integrator, options)))
        return false;
    if (render_plan_make_among(&plan, view, &tried, choice->rank_count) != KD_OK) {
        status_clear();
        return false;
    }
    choice->sent[maps] = render_plan_sent(view, &tried, choice->rank_count, choice->on_devices);
    return maximum == 0 || fits(&plan, maximum);
}

kd_status render_plan_fit_among(render_plan *out, const scene_view *view,
                                kd_render_options *options, uint64_t maximum, maps_choice *choice) {
    const int32_t requested = options->batches;
    device device;
    if (choice->rank_count < 2) return render_plan_fit(out, view, options, maximum);
    choice->chosen = rank_maps_find(options->maps);
    KD_TRY(render_choose_device(&device, options));
    const bool whole = spread_fits(view, options, RANK_MAPS_WHOLE, maximum, choice);
    bool distributed = spread_fits(view, options, RANK_MAPS_DISTRIBUTED, maximum, choice);
    const bool on_device = device.kind == DEVICE_CUDA,
               on_devices = choice->on_devices &&
                            integrator_find(options->integrator)->device_distributed &&
                            !photon_lookup_named(options->lookup)->walks;
    /* Distributed photons would move the rendering from the device to the CPU, so they are used
       only if nothing else fits. */
    if (on_device && !on_devices && (whole || !name_is_auto(options->device))) distributed = false;
    if (choice->chosen == RANK_MAPS_AUTO)
        choice->chosen = maps_choice_of(choice, whole, distributed);
    snprintf(options->maps, sizeof options->maps, "%s", rank_maps_name((int)choice->chosen));
    if (choice->chosen == RANK_MAPS_DISTRIBUTED) {
        KD_TRY(render_plan_make_among(out, view, options, choice->rank_count));
        KD_REQUIRE(maximum == 0 || fits(out, maximum), KD_ERROR_MEMORY,
                   "rendering with distributed photon maps needs %llu bytes, but only %llu are "
                   "allowed: use more ranks, fewer --photons or a --radius",
                   (unsigned long long)out->total, (unsigned long long)maximum);
        return KD_OK;
    }
    KD_TRY(render_plan_fit(out, view, options, maximum));
    KD_REQUIRE(options->batches == requested || choice->inexact, KD_ERROR_MEMORY,
               "the photons fit into %llu bytes only in %d batches, which change the image: allow "
               "this by --ranks-inexact or --batches %d, or use more ranks",
               (unsigned long long)maximum, options->batches, options->batches);
    return KD_OK;
}
