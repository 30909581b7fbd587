/* The parts of emission and maps on a device that are no kernels; and a build without CUDA, where
   every call that needs one says so. */
#include "photon/maps/maps_device.h"
#include "core/hash.h"
#include "core/memory.h"

void photon_emitter_cuda_close(photon_emitter_cuda *owned) {
    device_buffer_free(&owned->batch);
    device_buffer_free(&owned->state);
    memset(owned, 0, sizeof *owned);
}

void photon_list_cuda_close(photon_list_cuda *owned) {
    device_buffer_free(&owned->photons);
    device_buffer_free(&owned->positions);
    memset(owned, 0, sizeof *owned);
}

kd_status photon_list_cuda_download(photon_list *out, const photon_list_cuda *from) {
    memset(out, 0, sizeof *out);
    KD_TRY(KD_RESERVE(out->photons, from->count));
    const kd_status status = device_memory_download(out->photons, from->photons.memory,
                                                    from->count * sizeof *out->photons);
    if (status != KD_OK) {
        photon_list_close(out);
        return status_pass(status, __FILE__, __LINE__, "download");
    }
    out->count = from->count;
    out->emitted = from->emitted;
    out->rays = from->rays;
    out->ledger = from->ledger;
    out->complete = from->complete;
    out->cut = from->cut;
    return KD_OK;
}

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
    device_buffer_free(&owned->creases);
    memset(owned, 0, sizeof *owned);
}

static kd_status emit_list(photon_map_cuda *map, const scene_view *device_scene,
                           const photon_order *order, const char *name, job *watched) {
    map->planted = false;
    job_stage_begin(watched, "emit", (int64_t)order->wanted);
    KD_TRY(photon_list_cuda_emit(&map->list, &map->emitter, device_scene, order, watched));
    photon_list told;
    memset(&told, 0, sizeof told);
    told.count = map->list.count;
    told.emitted = map->list.emitted;
    told.complete = map->list.complete;
    told.cut = map->list.cut;
    photon_map_say_missing(&told, name, order);
    return KD_OK;
}

kd_status photon_maps_cuda_emit(photon_maps_cuda *out, const scene_view *device_scene,
                                const photon_order orders[PHOTON_LISTS], job *watched) {
    kd_status status = emit_list(&out->map[0], device_scene, &orders[0], "global", watched);
    if (status == KD_OK)
        status = emit_list(&out->map[1], device_scene, &orders[1], "caustic", watched);
    if (status == KD_OK)
        status = emit_list(&out->map[2], device_scene, &orders[2], "media", watched);
    job_stage_end(watched);
    return status;
}

kd_status photon_maps_cuda_take(photon_maps_cuda *out, const photon_list lists[PHOTON_LISTS]) {
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        photon_map_cuda *map = &out->map[l];
        const uint64_t bytes = lists[l].count * sizeof(uint32_t);
        KD_TRY(photon_list_cuda_upload(&map->list, &lists[l]));
        map->planted = lists[l].nodes != NULL;
        if (!map->planted) continue;
        KD_TRY(device_buffer_reserve(&map->ids, bytes));
        KD_TRY(device_memory_upload(map->ids.memory, lists[l].nodes, bytes));
    }
    return KD_OK;
}

/* Appends an array to the block of device memory that is being filled. */
static kd_status append(device_buffer *to, uint64_t *used, const void *from, uint64_t bytes,
                        const void **placed) {
    *placed = (char *)to->memory + *used;
    *used += (bytes + 255) / 256 * 256;
    return bytes ? device_memory_upload((void *)(uintptr_t)*placed, from, bytes) : KD_OK;
}

kd_status photon_maps_cuda_outline(photon_maps_cuda *maps, const crease_set *from,
                                   uint32_t triangle_count) {
    const crease_view host = crease_set_get_view(from);
    const uint64_t count = host.middles.count;
    crease_view *out = &maps->outlines;
    memset(out, 0, sizeof *out);
    if (!host.flips) return KD_OK;
    const uint64_t each = sizeof(crease) + sizeof(vec3) + sizeof(uint32_t) + 1;
    const uint64_t group_bytes = host.group_count * sizeof *host.groups,
                   order_bytes = host.group_count ? count * sizeof *host.order : 0;
    KD_TRY(device_buffer_reserve(&maps->creases, count * each + group_bytes + order_bytes +
                                                     triangle_count + 7 * 256));
    uint64_t used = 0;
    *out = host;
    KD_TRY(append(&maps->creases, &used, host.pieces, count * sizeof(crease),
                  (const void **)&out->pieces));
    KD_TRY(append(&maps->creases, &used, host.middles.points, count * sizeof(vec3),
                  (const void **)&out->middles.points));
    KD_TRY(append(&maps->creases, &used, host.middles.ids, count * sizeof(uint32_t),
                  (const void **)&out->middles.ids));
    if (host.middles.axes)
        KD_TRY(append(&maps->creases, &used, host.middles.axes, count,
                      (const void **)&out->middles.axes));
    KD_TRY(append(&maps->creases, &used, host.groups, group_bytes, (const void **)&out->groups));
    KD_TRY(append(&maps->creases, &used, host.order, order_bytes, (const void **)&out->order));
    return append(&maps->creases, &used, host.flips, triangle_count, (const void **)&out->flips);
}

photon_map_view photon_maps_cuda_view(const photon_maps_cuda *from, int which) {
    const photon_map_cuda *map = &from->map[which];
    photon_map_view view;
    memset(&view, 0, sizeof view);
    if (map->list.count) {
        view.photons = (const photon *)map->ordered.memory;
        view.tree.points = (const vec3 *)map->ordered_points.memory;
        view.tree.ids = (const uint32_t *)map->ids.memory;
        view.tree.count = (uint32_t)map->list.count;
    }
    view.radius = map->radius;
    view.gather = from->estimator == PHOTON_ESTIMATOR_FIXED ? 0 : from->gather;
    view.adaptive = from->estimator == PHOTON_ESTIMATOR_ADAPTIVE;
    view.kernel = (int32_t)from->kernel;
    view.scale = map->scale;
    view.irradiance = map->known ? (const vec3 *)map->irradiance.memory : NULL;
    return view;
}

bool photon_maps_cuda_cut(const photon_maps_cuda *of) {
    return of->map[0].list.cut || of->map[1].list.cut || of->map[2].list.cut;
}

uint64_t photon_maps_cuda_hash(const photon_maps_cuda *from) {
    const photon_list_cuda *caustic = &from->map[1].list, *media = &from->map[2].list;
    const uint64_t both =
        hash_combine(from->map[0].list.hash, &caustic->hash, sizeof caustic->hash);
    if (media->count == 0) return both;
    return hash_combine(both, &media->hash, sizeof media->hash);
}

#ifndef KD_HAVE_CUDA
static kd_status absent(void) {
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}

kd_status photon_list_cuda_emit(photon_list_cuda *list, photon_emitter_cuda *with,
                                const scene_view *scene, const photon_order *order, job *watched) {
    (void)list, (void)with, (void)scene, (void)order, (void)watched;
    return absent();
}

uint64_t photon_list_cuda_bytes(uint64_t photons) {
    (void)photons;
    return 0;
}

uint64_t photon_map_cuda_bytes(uint64_t photons, bool ordered) {
    (void)photons, (void)ordered;
    return 0;
}

kd_status photon_list_cuda_upload(photon_list_cuda *list, const photon_list *from) {
    (void)list, (void)from;
    return absent();
}

kd_status photon_maps_cuda_plant(photon_maps_cuda *maps, const photon_options *options,
                                 bool ordered, job *watched) {
    (void)maps, (void)options, (void)ordered, (void)watched;
    return absent();
}

kd_status photon_maps_cuda_precompute(photon_maps_cuda *maps, const mesh_view *device_mesh,
                                      job *watched) {
    (void)maps, (void)device_mesh, (void)watched;
    return absent();
}

kd_status photon_maps_cuda_gather(const photon_maps_cuda *maps, int which, uint32_t gather,
                                  float radius, const photon_gather_cuda *asked) {
    (void)maps, (void)which, (void)gather, (void)radius, (void)asked;
    return absent();
}
#endif
