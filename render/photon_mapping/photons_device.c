/* Host code of the photon integrators on a CUDA device. */
#include "render/frame/waves.h"
#include "render/photon_mapping/photon.h"

void photon_cuda_drop_requests(photon_cuda *device_photons) {
    device_photons->capacity = 0;
    device_buffer_free(&device_photons->requests);
    device_buffer_free(&device_photons->packets);
    device_buffer_free(&device_photons->alone);
    for (int m = 0; m < 2; ++m) {
        device_buffer_free(&device_photons->sums[m]);
        device_buffer_free(&device_photons->radii[m]);
        device_buffer_free(&device_photons->integrals[m]);
    }
}

void photon_cuda_close(photon_cuda *owned) {
    photon_cuda_drop_marks(owned);
    photon_maps_cuda_close(&owned->maps);
    photon_cuda_drop_requests(owned);
    device_buffer_free(&owned->request_counts);
    device_buffer_free(&owned->received.requests);
    device_buffer_free(&owned->received.packets);
    device_buffer_free(&owned->received.alone);
    device_buffer_free(&owned->received.sums);
    device_buffer_free(&owned->received.radii);
    memset(owned, 0, sizeof *owned);
}

bool photon_cuda_gathers_by_waves(const scene_view *scene) {
    if (waves_are_general(scene) || photon_scene_scatters(scene)) return false;
    for (uint32_t i = 0; i < scene->material_count; ++i) {
        const material *made = &scene->materials[i];
        const principled *layers = scene->layers ? &scene->layers[i] : NULL;
        if (material_holds_photons(made, layers) && material_passes_on(made, layers)) return false;
    }
    return true;
}

uint32_t photon_cuda_gathers_together(uint64_t pixels, uint32_t final_gather, uint64_t paths) {
    uint64_t maximum = pixels ? paths / pixels : 1;
    if (maximum < 1) maximum = 1;
    if (maximum > GATHERS_TOGETHER) maximum = GATHERS_TOGETHER;
    return maximum < final_gather ? (uint32_t)maximum : final_gather;
}

uint64_t photon_cuda_lookup_bytes(uint64_t pixels, uint32_t final_gather, uint64_t paths) {
    const uint64_t maximum = paths < LAUNCH_SAMPLES ? paths : LAUNCH_SAMPLES,
                   taken = pixels < maximum ? pixels : maximum;
    const uint64_t request = sizeof(eye_request) + sizeof(eye_packet) + sizeof(uint32_t);
    /* slots of whole tiles; launches with one thread per path need fewer */
    const uint64_t slots = taken + taken / 16 + 4096;
    const uint64_t sums = 2 * (sizeof(flux_sum) + 2 * sizeof(float));
    uint64_t slot = waves_sample_bytes() + sizeof(uint32_t), path = waves_path_bytes(false);
    const uint32_t group_size = photon_cuda_gathers_together(taken, final_gather, paths);
    if (group_size) {
        slot += 6 * 16 + 16; /* a path in the store, and a sum */
        /* the end of a gather ray */
        path += 16 + 5 * 16 + 16 /* a note */ + sizeof(eye_request) + 2 * sizeof(uint32_t) + sums;
        path *= group_size;
    }
    return slots * (slot + path) + (taken + taken / 8) * (request + sums);
}

void photon_cuda_renew_orders(photon_cuda *device_photons, const photon_options *options) {
    photon_orders_renew(device_photons->orders, options);
    device_photons->orders[PHOTON_LIST_GLOBAL].distributed =
        device_photons->orders[PHOTON_LIST_CAUSTIC].distributed = device_photons->distributed;
    if (options->photons == 0) device_photons->orders[PHOTON_LIST_GLOBAL].target = 0;
    if (options->caustics == 0) device_photons->orders[PHOTON_LIST_CAUSTIC].target = 0;
    if (options->volume_photons == 0) device_photons->orders[PHOTON_LIST_MEDIA].target = 0;
}

kd_status photon_cuda_make_maps(photon_cuda *device_photons, const frame *frame,
                                const photon_options *options, bool ordered) {
    KD_TRY(photon_options_check(options));
    if (!device_photons->has_orders)
        KD_TRY(photon_orders_make(device_photons->orders, frame->scene, options));
    device_photons->has_orders = true;
    photon_cuda_renew_orders(device_photons, options);
    KD_TRY(frame_cuda_pack(frame->device_frame));
    KD_TRY(photon_maps_cuda_emit(&device_photons->maps, &frame->device_frame->scene.view,
                                 device_photons->orders, frame->job));
    KD_TRY(photon_maps_cuda_build_trees(&device_photons->maps, options, ordered, frame->job));
    return photon_maps_cuda_find_beams(&device_photons->maps, frame->scene, options, frame->job);
}

kd_status photon_cuda_take_lists(photon_cuda *device_photons, const photon_list lists[PHOTON_LISTS],
                                 const photon_options *options, bool ordered, job_control *job) {
    KD_TRY(photon_maps_cuda_take(&device_photons->maps, lists));
    return photon_maps_cuda_build_trees(&device_photons->maps, options, ordered, job);
}

static kd_status build_tiles(photon_cuda *device_photons, const frame *frame, float radius) {
    tile_set tiles;
    device_photons->lookups_bounded += photon_maps_cuda_lookups_bounded(&device_photons->maps);
    kd_status status = tile_set_open(&tiles, frame->scene, &frame->device_frame->scene.view, radius,
                                     true, frame->job);
    if (status == KD_OK)
        status =
            photon_maps_cuda_tile(&device_photons->maps, &tiles, &frame->device_frame->scene.view);
    tile_set_close(&tiles);
    return status;
}

kd_status photon_cuda_find_tiles(photon_cuda *device_photons, const frame *frame, float radius) {
    job_stage_begin(frame->job, "surface", 0);
    const kd_status status = build_tiles(device_photons, frame, radius);
    job_stage_end(frame->job);
    return status;
}

photon_figures photon_cuda_figures(const photon_cuda *device_photons) {
    const photon_list_cuda *global = &device_photons->maps.map[PHOTON_LIST_GLOBAL].list,
                           *caustic = &device_photons->maps.map[PHOTON_LIST_CAUSTIC].list;
    const photon_list_cuda *media = &device_photons->maps.map[PHOTON_LIST_MEDIA].list;
    photon_figures figures;
    figures.emitted = global->emitted + caustic->emitted + media->emitted;
    figures.rays = global->rays + caustic->rays + media->rays;
    figures.stored = global->count;
    figures.caustics = caustic->count;
    figures.volume_photons = media->count;
    figures.hash = photon_maps_cuda_hash(&device_photons->maps);
    figures.ledger = global->ledger;
    return figures;
}

void photon_cuda_report_figures(const photon_cuda *device_photons, frame_statistics *statistics) {
    statistics->lookup_seconds = device_photons->seconds[PHOTON_CUDA_LOOKUP];
    statistics->gather_seconds = device_photons->seconds[PHOTON_CUDA_GATHER];
    statistics->film_seconds = device_photons->seconds[PHOTON_CUDA_FILM];
    statistics->lookups_bounded +=
        device_photons->lookups_bounded + photon_maps_cuda_lookups_bounded(&device_photons->maps);
}

uint64_t distributed_lookups_device_sent(uint64_t pixels, int32_t rank_count) {
    const uint64_t request = sizeof(eye_request) + sizeof(eye_packet) / 16,
                   sums = 2 * sizeof(flux_sum) * 2;
    return pixels * (request + sums * ((uint64_t)rank_count - 1)) / (uint64_t)rank_count;
}

uint64_t distributed_lookups_device_bytes(uint64_t pixels) {
    const uint64_t taken = pixels < LAUNCH_SAMPLES ? pixels : LAUNCH_SAMPLES;
    return taken * (sizeof(eye_request) + sizeof(eye_packet) / 16 + 2 * sizeof(flux_sum) +
                    sizeof(float) + sizeof(uint32_t));
}
