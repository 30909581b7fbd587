/* Samples of the photon integrators on a CUDA device.
   Idea: a camera path is a short task for one thread; a photon map lookup is a long one, which a
         warp does better (photon/density/warp_per_surface.cuh). So lookups are deferred: paths only
         record them, in the order of image tiles; then all lookups are performed; then each pixel
         adds the results of its path (eye_waves.cu, gather_waves.cu). Lookups run inline
         (inline_lookup.cu) where later steps depend on them or on their order: the adaptive
         estimator, points in media that scatter light, and final gather with mirroring coats, media
         or cut-outs.
   Work: for one sample of every pixel, wavefronts or one kernel for the paths, two kernels for the
         maps (five with tiles), one for the film.
   Memory: 335 bytes per pixel with wavefronts, or 164 and 719 per gather ray, otherwise 52; 300 per
           lookup. If memory is short, a launch is split by rows.
   Invariants: the film's sums have the bits of the CPU (flux_sum.h).
   Data flow: for each sample: eye_request_slots or inline_lookup_slots write slots and requests; the
              gathering kernels, once per map, read requests and write sums and radii, and with
              tiles the integrals (tile_lookups.cu); add_to_film, one thread per slot, adds the
              results of its requests in order to the film. */
#include "render/frame/waves.h"
#include "render/photon_mapping/eye_store.cuh"

namespace {

enum { FILM_BLOCK = 128, PART_ROWS = 4 /* rows of a tile of slots */ };

/* State shared by all parts of a launch. */
struct eye_launch {
    photon_cuda *photons;
    const struct frame *frame;
    photon_view view;
    bool later; /* lookups at surfaces the camera sees are deferred */
    bool walks; /* paths run by inline_lookup.cu */
};

struct film_work {
    eye_slots slots;
    lookup_results shown;
    bool later;
    sample_counts *counts;
};

__device__ __forceinline__ vec3 gathered(const photon_view *photons, const film_work &work,
                                         uint32_t request) {
    vec3 all = vec3_all(0);
    for (; request != KD_NONE; request = work.shown.requests[request].next) {
        vec3 sum = shown_by_caustic(*photons, work.shown, request);
        if (!photons->final_gather)
            sum = vec3_add(sum, shown_by_global(*photons, work.shown, request));
        all = vec3_add(all, vec3_mul(work.shown.requests[request].throughput, sum));
    }
    return all;
}

/* Returns false if the sample was not finite. */
__device__ __forceinline__ bool add_slot(const photon_view &photons, const film_work &work,
                                         uint32_t slot) {
    const path_waves &w = work.slots.waves;
    const slot_place at = place_of_slot(w, slot);
    if (!slot_is_inside(w, at)) return true;
    film_pixel *to = w.pixels + (int64_t)at.y * w.range.width + at.x;
    if (to->samples > at.sample) return true; /* the film already has the sample */
    pixel_sample seen = sample_of_slot(w, slot);
    if (work.later)
        seen.radiance =
            vec3_add(seen.radiance, gathered(&photons, work, work.slots.first_request[slot]));
    pixel_weigh(&w.view, w.range.x0 + at.x, w.range.y0 + at.y, work.slots.waves.range.begin, &seen);
    film_pixel sum = *to; /* all loads at once */
    const bool finite = film_pixel_add(&sum, &seen);
    *to = sum;
    return finite;
}

__global__
__launch_bounds__(FILM_BLOCK) void add_to_film(const __grid_constant__ photon_view photons,
                                               const __grid_constant__ film_work work) {
    const path_waves &w = work.slots.waves;
    const uint32_t slot = blockIdx.x * FILM_BLOCK + threadIdx.x;
    uint32_t nans = 0;
    if (slot == 0)
        atomicAdd((unsigned long long *)&work.counts->rays, (unsigned long long)w.counts->rays);
    if (slot < w.slots) nans = !add_slot(photons, work, slot);
    take_counts(work.counts, 0, nans);
}

/* --- launches -------------------------------------------------------------------------------- */

kd_status mark(photon_cuda *device_photons, int which) {
    if (!device_photons->marks[which])
        KD_CUDA(cudaEventCreate((cudaEvent_t *)&device_photons->marks[which]));
    KD_CUDA(cudaEventRecord((cudaEvent_t)device_photons->marks[which]));
    return KD_OK;
}

/* Waits for the last event. */
kd_status add_seconds(photon_cuda *device_photons) {
    KD_CUDA(cudaEventSynchronize((cudaEvent_t)device_photons->marks[PHOTON_CUDA_STAGES]));
    for (int stage = 0; stage < PHOTON_CUDA_STAGES; ++stage) {
        float milliseconds = 0;
        KD_CUDA(cudaEventElapsedTime(&milliseconds, (cudaEvent_t)device_photons->marks[stage],
                                     (cudaEvent_t)device_photons->marks[stage + 1]));
        device_photons->seconds[stage] += (double)milliseconds / 1000;
    }
    return KD_OK;
}

kd_status reserve_requests(photon_cuda *device_photons, uint32_t capacity) {
    device_photons->capacity = 0;
    KD_TRY(
        device_buffer_reserve(&device_photons->requests, (uint64_t)capacity * sizeof(eye_request)));
    KD_TRY(
        device_buffer_reserve(&device_photons->packets, (uint64_t)capacity * sizeof(eye_packet)));
    KD_TRY(
        device_buffer_reserve(&device_photons->alone, ((uint64_t)capacity + 2) * sizeof(uint32_t)));
    for (int m = 0; m < 2; ++m) {
        KD_TRY(
            device_buffer_reserve(&device_photons->sums[m], (uint64_t)capacity * sizeof(flux_sum)));
        KD_TRY(
            device_buffer_reserve(&device_photons->radii[m], (uint64_t)capacity * sizeof(float)));
        KD_TRY(device_buffer_reserve(&device_photons->integrals[m],
                                     (uint64_t)capacity * sizeof(float)));
    }
    device_photons->capacity = capacity;
    return KD_OK;
}

/* Traces the paths of one sample of every pixel; repeats with larger buffers if the requests did
   not fit. */
kd_status take_paths(eye_launch *launch, const eye_slots *slots, eye_request_counts *counts) {
    photon_cuda *device_photons = launch->photons;
    eye_requests *later = &launch->view.later;
    for (;;) {
        later->list = launch->later ? (eye_request *)device_photons->requests.memory : NULL;
        later->packets = (eye_packet *)device_photons->packets.memory;
        later->counts = (eye_request_counts *)device_photons->request_counts.memory;
        later->capacity = device_photons->capacity;
        KD_CUDA(cudaMemsetAsync(device_photons->request_counts.memory, 0, sizeof *counts));
        KD_TRY((launch->walks ? inline_lookup_slots : eye_request_slots)(launch->frame,
                                                                         &launch->view, slots));
        KD_CUDA(cudaMemcpy(counts, device_photons->request_counts.memory, sizeof *counts,
                           cudaMemcpyDeviceToHost));
        if (counts->requests <= device_photons->capacity) return KD_OK;
        KD_TRY(reserve_requests(device_photons, counts->requests + counts->requests / 8));
    }
}

photon_gather_cuda gather_of(const photon_cuda *device_photons, int m,
                             const eye_request_counts *counts) {
    photon_gather_cuda gather;
    gather.requests = (const eye_request *)device_photons->requests.memory;
    gather.count = counts->requests;
    gather.packets = (const eye_packet *)device_photons->packets.memory;
    gather.packet_count = counts->packets;
    gather.order = NULL;
    gather.alone = (uint32_t *)device_photons->alone.memory;
    gather.sums = (flux_sum *)device_photons->sums[m].memory;
    gather.radii = (float *)device_photons->radii[m].memory;
    return gather;
}

/* Performs the lookups of all requests, with integrals over tiles. */
kd_status run_lookups(const eye_launch *launch, const eye_request_counts *counts) {
    photon_cuda *device_photons = launch->photons;
    const photon_view *view = &launch->view;
    if (device_photons->distributed)
        KD_TRY(distributed_lookups_device(device_photons, launch->frame->comm, view, counts));
    for (int m = view->final_gather ? 1 : 0; m < 2; ++m) {
        const photon_map_view *map = m ? &view->caustic : &view->global;
        const photon_gather_cuda gather = gather_of(device_photons, m, counts);
        if (!device_photons->distributed)
            KD_TRY(photon_maps_cuda_gather(&device_photons->maps, m, map->gather, map->radius,
                                           &gather));
        float *integrals = (float *)device_photons->integrals[m].memory;
        KD_TRY(photon_maps_cuda_measure(&device_photons->maps, &gather, integrals));
        KD_TRY(photon_maps_cuda_hide(&device_photons->maps, m, map->gather,
                                     device_photons->distributed ? 0 : map->radius, &gather,
                                     integrals));
    }
    return KD_OK;
}

kd_status add_all_to_film(const eye_launch *launch, const eye_slots *slots) {
    const photon_cuda *device_photons = launch->photons;
    film_work work;
    memset(&work, 0, sizeof work);
    work.slots = *slots;
    work.shown.requests = (const eye_request *)device_photons->requests.memory;
    for (int m = 0; m < 2; ++m) {
        work.shown.sums[m] = (const flux_sum *)device_photons->sums[m].memory;
        work.shown.radii[m] = (const float *)device_photons->radii[m].memory;
        work.shown.integrals[m] = (const float *)device_photons->integrals[m].memory;
    }
    work.later = launch->later;
    work.counts = launch->frame->device_frame->counts;
    add_to_film<<<(slots->waves.slots + FILM_BLOCK - 1) / FILM_BLOCK, FILM_BLOCK>>>(launch->view,
                                                                                    work);
    KD_CUDA_LAUNCHED("add_to_film");
    return KD_OK;
}

/* Takes one sample of every slot's pixel. If no lookup is deferred, the time of the paths counts as
   time of lookups, which are most of their work. */
kd_status take_sample(eye_launch *launch, const eye_slots *slots) {
    photon_cuda *device_photons = launch->photons;
    eye_request_counts counts = {0, 0};
    KD_TRY(mark(device_photons, PHOTON_CUDA_LOOKUP));
    if (!launch->later) KD_TRY(mark(device_photons, PHOTON_CUDA_GATHER));
    KD_TRY(take_paths(launch, slots, &counts));
    if (slots->together)
        KD_TRY(eye_gather_slots(launch->frame, &device_photons->maps, &launch->view, slots));
    if (launch->later) {
        KD_TRY(mark(device_photons, PHOTON_CUDA_GATHER));
        KD_TRY(run_lookups(launch, &counts));
    }
    KD_TRY(mark(device_photons, PHOTON_CUDA_FILM));
    KD_TRY(add_all_to_film(launch, slots));
    KD_TRY(mark(device_photons, PHOTON_CUDA_STAGES));
    return add_seconds(device_photons);
}

uint64_t pixels_of(const sample_range *range) {
    return (uint64_t)range->width * (uint64_t)(range->bottom - range->top);
}

kd_status try_part(const eye_launch *launch, const sample_range *part, eye_slots *slots) {
    const uint64_t pixels = pixels_of(part);
    const bool gathers = !launch->walks && launch->view.final_gather;
    const bool by_waves = !launch->walks && !waves_are_general(launch->frame->scene);
    uint32_t group_size = gathers
                              ? photon_cuda_gathers_together(pixels, launch->view.final_gather,
                                                             waves_paths(launch->frame->options))
                              : 0;
    KD_TRY(device_buffer_reserve(&launch->photons->request_counts, sizeof(eye_request_counts)));
    if (launch->photons->capacity < pixels)
        KD_TRY(reserve_requests(launch->photons, (uint32_t)(pixels + pixels / 8)));
    for (;; group_size /= 2) {
        const kd_status status = eye_slots_open(slots, launch->frame, part, by_waves, group_size);
        if (status != KD_ERROR_MEMORY || group_size < 2) return status;
        status_clear();
    }
}

/* Reserves memory for one sample of each pixel of a part, reducing the part to the paths in flight
   that the options allow, and to what fits. */
kd_status reserve_part(const eye_launch *launch, sample_range *part, eye_slots *slots) {
    const uint64_t rows_at_once =
        waves_paths(launch->frame->options) / (uint64_t)part->width / PART_ROWS * PART_ROWS;
    if ((uint64_t)(part->bottom - part->top) > rows_at_once)
        part->bottom = part->top + (rows_at_once ? (int32_t)rows_at_once : (int32_t)PART_ROWS);
    for (;;) {
        const int32_t rows = part->bottom - part->top;
        const kd_status status = try_part(launch, part, slots);
        if (status != KD_ERROR_MEMORY || rows <= PART_ROWS) return status;
        status_clear();
        photon_cuda_drop_requests(launch->photons); /* those that could be allocated */
        part->bottom = part->top + (rows / 2 + PART_ROWS - 1) / PART_ROWS * PART_ROWS;
    }
}

/* Takes all samples of the first rows of `left`, as many as fit in memory; their number is *done.
   With no rows, only answers the lookups of other ranks. */
kd_status take_part(eye_launch *launch, const sample_range *left, int32_t *done) {
    const eye_request_counts none = {0, 0};
    const bool any = pixels_of(left) > 0;
    sample_range part = *left;
    eye_slots slots;
    if (any) KD_TRY(reserve_part(launch, &part, &slots));
    for (uint32_t s = left->begin; s < left->begin + left->count; ++s) {
        slots.waves.range.begin = s;
        KD_TRY(any ? take_sample(launch, &slots)
                   : distributed_lookups_device(launch->photons, launch->frame->comm, &launch->view,
                                                &none));
    }
    *done = part.bottom;
    return KD_OK;
}

} // namespace

extern "C" void photon_cuda_drop_marks(photon_cuda *owned) {
    for (int i = 0; i <= PHOTON_CUDA_STAGES; ++i)
        if (owned->marks[i]) cudaEventDestroy((cudaEvent_t)owned->marks[i]);
    memset(owned->marks, 0, sizeof owned->marks);
}

extern "C" kd_status photon_cuda_take(photon_cuda *device_photons, const frame *frame,
                                      const photon_view *view, const sample_range *range) {
    /* the adaptive estimator needs photons in order */
    const bool later = !view->caustic.adaptive && !view->caustic.walks;
    const bool gathers_inline = view->final_gather && !photon_cuda_gathers_by_waves(frame->scene);
    eye_launch launch = {device_photons, frame, *view, later,
                         !later || gathers_inline || photon_scene_scatters(frame->scene)};
    sample_range left = *range;
    for (;;) {
        bool any = pixels_of(&left) > 0;
        if (device_photons->distributed) KD_TRY(ranks_any(frame->comm, any, &any));
        if (!any) return KD_OK;
        KD_TRY(take_part(&launch, &left, &left.top));
    }
}
