/* Host code of photon maps on a device. */
#include "photon/maps/maps_device.h"
#include "core/device/async.h"
#include "core/hash.h"
#include "core/memory.h"
#include "photon/maps/distributed_photons.h"

const char *const photon_list_names[PHOTON_LISTS] = {"global", "caustic", "media"};

static void map_close(photon_map_cuda *owned) {
    photon_list_cuda_close(&owned->list);
    photon_emitter_cuda_close(&owned->emitter);
    device_buffer_free(&owned->ids);
    device_buffer_free(&owned->scratch);
    device_buffer_free(&owned->index);
    device_buffer_free(&owned->ordered);
    device_buffer_free(&owned->ordered_points);
    device_buffer_free(&owned->irradiance);
}

void photon_maps_cuda_close(photon_maps_cuda *owned) {
    for (int m = 0; m < PHOTON_LISTS; ++m) map_close(&owned->map[m]);
    device_buffer_free(&owned->tile_memory);
    device_buffer_free(&owned->beam_memory);
    memset(owned, 0, sizeof *owned);
}

/* Reduces the hash and the strongest power of a distributed list over the ranks. */
static kd_status exchange_list(photon_list_cuda *list, ranks *comm) {
    uint32_t strongest = float_bits(list->strongest);
    KD_TRY(distributed_photons_agree(comm, &list->hash, &strongest));
    list->strongest = float_from_bits(strongest);
    return KD_OK;
}

/* One of the lists that are emitted concurrently. */
typedef struct list_emission {
    photon_map_cuda *map;
    const scene_view *device_scene;
    const photon_order *order;
    job_control *job; /* shared by all of them */
} list_emission;

static kd_status emit_list(void *context, job_control *discarded) {
    const list_emission *emission = (const list_emission *)context;
    (void)discarded;
    emission->map->has_tree = false;
    KD_TRY(photon_list_cuda_emit(&emission->map->list, &emission->map->emitter,
                                 emission->device_scene, emission->order, emission->job));
    if (emission->order->distributed && ranks_shared(emission->order->comm))
        KD_TRY(exchange_list(&emission->map->list, emission->order->comm));
    return KD_OK;
}

/* Emits the lists concurrently: when a list is emitted alone, most of the device is idle at the
   end, when few paths are left. */
static kd_status emit_side_by_side(list_emission lists[PHOTON_LISTS]) {
    async_task *tasks[PHOTON_LISTS] = {NULL};
    kd_status status = KD_OK;
    for (int l = 1; l < PHOTON_LISTS; ++l)
        if (lists[l].order->target && async_begin(&tasks[l], emit_list, &lists[l]) != KD_OK)
            status_clear(); /* it is emitted after the first list instead */
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const kd_status local_status = tasks[l]          ? async_end(tasks[l], NULL)
                                       : status == KD_OK ? emit_list(&lists[l], NULL)
                                                         : KD_OK;
        if (status == KD_OK) status = local_status;
    }
    return status;
}

static void say_missing(const photon_map_cuda *map, const char *name, const photon_order *order) {
    photon_list host_list;
    memset(&host_list, 0, sizeof host_list);
    host_list.count = map->list.count;
    host_list.emitted = map->list.emitted;
    host_list.complete = map->list.complete;
    host_list.cut = map->list.cut;
    photon_map_say_missing(&host_list, name, order);
}

kd_status photon_maps_cuda_emit(photon_maps_cuda *out, const scene_view *device_scene,
                                const photon_order orders[PHOTON_LISTS], job_control *job) {
    list_emission lists[PHOTON_LISTS];
    kd_status status = KD_OK;
    bool alone = true;
    int64_t total = 0;
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        lists[l] = (list_emission){&out->map[l], device_scene, &orders[l], job};
        alone = alone && !ranks_shared(orders[l].comm);
        total += (int64_t)orders[l].target;
    }
    job_stage_begin(job, "emit", total);
    if (alone)
        status = emit_side_by_side(lists);
    else
        for (int l = 0; l < PHOTON_LISTS && status == KD_OK; ++l)
            status = emit_list(&lists[l], NULL);
    job_stage_end(job);
    for (int l = 0; l < PHOTON_LISTS && status == KD_OK; ++l)
        say_missing(&out->map[l], photon_list_names[l], &orders[l]);
    return status;
}

kd_status photon_maps_cuda_take(photon_maps_cuda *out, const photon_list lists[PHOTON_LISTS]) {
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        photon_map_cuda *map = &out->map[l];
        const uint64_t bytes = lists[l].count * sizeof(uint32_t);
        KD_TRY(photon_list_cuda_upload(&map->list, &lists[l]));
        map->has_tree = lists[l].nodes != NULL;
        if (!map->has_tree) continue;
        KD_TRY(device_buffer_reserve(&map->ids, bytes));
        KD_TRY(device_memory_upload(map->ids.memory, lists[l].nodes, bytes));
    }
    return KD_OK;
}

/* Appends an array to a block of device memory. */
static kd_status append(device_buffer *buffer, uint64_t *used, const void *from, uint64_t bytes,
                        const void **placed) {
    *placed = (char *)buffer->memory + *used;
    *used += (bytes + 255) / 256 * 256;
    return bytes ? device_memory_upload((void *)(uintptr_t)*placed, from, bytes) : KD_OK;
}

kd_status photon_maps_cuda_tile(photon_maps_cuda *maps, const tile_set *tiles,
                                const scene_view *device_scene) {
    const uint64_t bytes = tiles->count * sizeof *tiles->tiles,
                   box_bytes = tiles->box_count * sizeof *tiles->boxes, parts = tiles->wide_count,
                   patch_bytes = parts ? device_scene->mesh.triangle_count * sizeof(uint32_t) : 0;
    uint64_t used = 0, none = 0;
    tile_view *out = &maps->tiles;
    memset(&maps->tiles, 0, sizeof maps->tiles);
    *out = tile_set_get_view(tiles);
    KD_TRY(device_buffer_reserve(&maps->tile_memory, bytes + box_bytes + parts + patch_bytes +
                                                         sizeof none + sizeof *device_scene +
                                                         6 * 256));
    KD_TRY(append(&maps->tile_memory, &used, tiles->tiles, bytes, (const void **)&out->tiles));
    KD_TRY(append(&maps->tile_memory, &used, device_scene, sizeof *device_scene,
                  (const void **)&out->scene));
    if (parts) {
        KD_TRY(append(&maps->tile_memory, &used, tiles->wide, parts, (const void **)&out->wide));
        KD_TRY(append(&maps->tile_memory, &used, tiles->patches, patch_bytes,
                      (const void **)&out->patches));
    }
    const void *bounded = NULL;
    KD_TRY(append(&maps->tile_memory, &used, &none, sizeof none, &bounded));
    out->bounded = (uint64_t *)(uintptr_t)bounded;
    return append(&maps->tile_memory, &used, tiles->boxes, box_bytes, (const void **)&out->boxes);
}

/* Copies beams to the device. */
static kd_status upload_beams(photon_maps_cuda *maps, const beam_set *beams) {
    device_buffer *to = &maps->beam_memory;
    beam_view *out = &maps->beams;
    const uint64_t whole = beams->count * sizeof *beams->beams,
                   pieces = beams->piece_count * sizeof *beams->pieces,
                   nodes = beams->node_count * sizeof *beams->nodes;
    uint64_t used = 0;
    *out = beam_set_get_view(beams, maps->kernel, maps->map[PHOTON_LIST_MEDIA].scale);
    out->radius = maps->map[PHOTON_LIST_MEDIA].radius;
    KD_TRY(device_buffer_reserve(to, whole + pieces + nodes + 3 * 256));
    KD_TRY(append(to, &used, beams->beams, whole, (const void **)&out->beams));
    KD_TRY(append(to, &used, beams->pieces, pieces, (const void **)&out->pieces));
    return append(to, &used, beams->nodes, nodes, (const void **)&out->nodes);
}

kd_status photon_maps_cuda_find_beams(photon_maps_cuda *maps, const scene_view *scene,
                                      const photon_options *options, job_control *job) {
    photon_map_cuda *map = &maps->map[PHOTON_LIST_MEDIA];
    photon_list list;
    beam_set beams;
    memset(&maps->beams, 0, sizeof maps->beams);
    if (!photon_media_rows[options->media].beams || map->list.count == 0) return KD_OK;
    KD_TRY(photon_list_cuda_download(&list, &map->list));
    job_stage_begin(job, "photon_tree", (int64_t)list.count);
    kd_status status = beam_set_open(&beams, list.photons, list.count, scene, options->gather, job);
    job_stage_end(job);
    photon_list_close(&list);
    if (status != KD_OK) return status;
    if (!(options->radius > 0)) map->radius = beams.radius;
    status = upload_beams(maps, &beams);
    beam_set_close(&beams);
    return status;
}

uint64_t photon_maps_cuda_lookups_bounded(const photon_maps_cuda *maps) {
    uint64_t count = 0;
    const uint64_t *device_count = maps->tiles.bounded;
    return device_count && device_memory_download(&count, device_count, sizeof count) == KD_OK
               ? count
               : 0;
}

photon_map_view photon_maps_cuda_view(const photon_maps_cuda *maps, int which) {
    const photon_map_cuda *map = &maps->map[which];
    photon_map_view view;
    memset(&view, 0, sizeof view);
    const bool beams = which == PHOTON_LIST_MEDIA && photon_media_rows[maps->media].beams;
    if (map->list.local_count && !beams) {
        view.photons = (const photon *)map->ordered.memory;
        view.tree.points = (const vec3 *)map->ordered_points.memory;
        view.tree.ids = (const uint32_t *)map->ids.memory;
        view.tree.count = (uint32_t)map->list.local_count;
    }
    view.radius = map->radius;
    view.gather = photon_estimators[maps->estimator].one_radius ? 0 : maps->gather;
    view.adaptive = photon_estimators[maps->estimator].adaptive;
    view.walks = photon_lookups[maps->lookup].walks;
    view.kernel = maps->kernel;
    view.scale = map->scale;
    view.irradiance =
        map->has_irradiance ? (const irradiance_record *)map->irradiance.memory : NULL;
    return view;
}

bool photon_maps_cuda_cut(const photon_maps_cuda *maps) {
    return maps->map[PHOTON_LIST_GLOBAL].list.cut || maps->map[PHOTON_LIST_CAUSTIC].list.cut ||
           maps->map[PHOTON_LIST_MEDIA].list.cut;
}

uint64_t photon_maps_cuda_hash(const photon_maps_cuda *maps) {
    const photon_list_cuda *caustic = &maps->map[PHOTON_LIST_CAUSTIC].list,
                           *media = &maps->map[PHOTON_LIST_MEDIA].list;
    const uint64_t hash =
        hash_combine(maps->map[PHOTON_LIST_GLOBAL].list.hash, &caustic->hash, sizeof caustic->hash);
    if (media->count == 0) return hash;
    return hash_combine(hash, &media->hash, sizeof media->hash);
}

kd_status photon_maps_cuda_irradiance(photon_maps_cuda *maps, job_control *job) {
    photon_map_cuda *map = &maps->map[PHOTON_LIST_GLOBAL];
    return photon_irradiance_exchange(maps->comm, (irradiance_record *)map->irradiance.memory,
                                      map->list.count, ranks_device_gather, job);
}
