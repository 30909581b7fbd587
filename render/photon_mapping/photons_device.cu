/* Samples of the photon integrators on a CUDA device.
   Idea: a path from the eye is short work of one thread; a look into a map is long work that a
         warp does better (photon/density/warp_per_surface.cuh). So paths only note where they
         want to look, in the order of the picture's tiles; then every look is answered; then
         each pixel adds up what its path has seen. A final gather's rays look into the maps by
         themselves, and so do paths through media that scatter light, at places on their way.
   Work: three kernels a sample of every pixel, and two for the maps.
   Memory: 56 bytes a pixel, 224 a look.
   Invariants: the film's sums are the CPU's, bit for bit (flux_sum.h). */
#define EYE_ASKS_ONLY
#include "render/photon_mapping/eye_path.cuh"

namespace {

struct film_work {
    sample_range range;
    film_pixel *pixels;
    const pixel_look *looks;
    const eye_request *requests;
    const flux_sum *sums[2]; /* global, caustic */
    const float *radii[2];
    bool later; /* maps were asked */
    sample_counts *counts;
};

/* What a map showed of a request. */
__device__ __forceinline__ vec3 shown(const photon_view *photons, const photon_map_view *map,
                                      const film_work &work, int which, uint32_t request) {
    const flux_sum sum = work.sums[which][request];
    const float radius = work.radii[which][request];
    if (!(radius > 0)) return vec3_all(0);
    const estimate_point here = estimate_point_of(&work.requests[request].at);
    return photon_sum_radiance(map, &photons->creases, &here, radius, &sum);
}

__device__ __forceinline__ vec3 gathered(const photon_view *photons, const film_work &work,
                                         uint32_t request) {
    vec3 all = vec3_all(0);
    for (; request != KD_NONE; request = work.requests[request].next) {
        vec3 sum = shown(photons, &photons->caustic, work, 1, request);
        if (!photons->final_gather)
            sum = vec3_add(sum, shown(photons, &photons->global, work, 0, request));
        all = vec3_add(all, vec3_mul(work.requests[request].throughput, sum));
    }
    return all;
}

__global__
__launch_bounds__(LOOK_BLOCK) void add_to_film(const __grid_constant__ photon_view photons,
                                               const __grid_constant__ film_work work) {
    const sample_range &range = work.range;
    const uint32_t i = blockIdx.x * LOOK_BLOCK + threadIdx.x;
    uint32_t rays = 0, nans = 0;
    if (i < (uint32_t)(range.width * (range.bottom - range.top)) && work.looks[i].taken) {
        pixel_look seen = work.looks[i];
        if (work.later)
            seen.sample.radiance =
                vec3_add(seen.sample.radiance, gathered(&photons, work, seen.first_request));
        rays = seen.sample.rays;
        nans = !film_pixel_add(work.pixels + (int64_t)range.top * range.width + i, &seen.sample);
    }
    take_counts(work.counts, rays, nans);
}

/* --- launches -------------------------------------------------------------------------------- */

kd_status mark(photon_cuda *with, int which) {
    if (!with->marks[which]) KD_CUDA(cudaEventCreate((cudaEvent_t *)&with->marks[which]));
    KD_CUDA(cudaEventRecord((cudaEvent_t)with->marks[which]));
    return KD_OK;
}

/* Waits for the last mark. */
kd_status add_seconds(photon_cuda *with) {
    KD_CUDA(cudaEventSynchronize((cudaEvent_t)with->marks[PHOTON_CUDA_STAGES]));
    for (int stage = 0; stage < PHOTON_CUDA_STAGES; ++stage) {
        float milliseconds = 0;
        KD_CUDA(cudaEventElapsedTime(&milliseconds, (cudaEvent_t)with->marks[stage],
                                     (cudaEvent_t)with->marks[stage + 1]));
        with->seconds[stage] += (double)milliseconds / 1000;
    }
    return KD_OK;
}

kd_status reserve_requests(photon_cuda *with, uint32_t room) {
    KD_TRY(device_buffer_reserve(&with->requests, (uint64_t)room * sizeof(eye_request)));
    KD_TRY(device_buffer_reserve(&with->packets, (uint64_t)room * sizeof(eye_packet)));
    KD_TRY(device_buffer_reserve(&with->alone, ((uint64_t)room + 2) * sizeof(uint32_t)));
    for (int m = 0; m < 2; ++m) {
        KD_TRY(device_buffer_reserve(&with->sums[m], (uint64_t)room * sizeof(flux_sum)));
        KD_TRY(device_buffer_reserve(&with->radii[m], (uint64_t)room * sizeof(float)));
    }
    with->room = room;
    return KD_OK;
}

/* Paths of one sample of every pixel; again with more room if there were more looks. */
kd_status take_all_looks(photon_cuda *with, const frame *of, photon_view *view,
                         const look_work *work, bool later, eye_asked *asked) {
    const bool walks = !later || view->final_gather || photon_scene_scatters(of->scene);
    for (;;) {
        view->later.list = later ? (eye_request *)with->requests.memory : NULL;
        view->later.packets = (eye_packet *)with->packets.memory;
        view->later.asked = (eye_asked *)with->asked.memory;
        view->later.room = with->room;
        KD_CUDA(cudaMemsetAsync(with->asked.memory, 0, sizeof *asked));
        KD_TRY(walks ? photon_walk_looks(of, view, work) : launch_looks(of, view, work));
        KD_CUDA(cudaMemcpy(asked, with->asked.memory, sizeof *asked, cudaMemcpyDeviceToHost));
        if (asked->requests <= with->room) return KD_OK;
        KD_TRY(reserve_requests(with, asked->requests + asked->requests / 8));
    }
}

kd_status look_into_maps(photon_cuda *with, const photon_view *view, const eye_asked *asked) {
    photon_gather_cuda gather;
    gather.requests = (const eye_request *)with->requests.memory;
    gather.count = asked->requests;
    gather.packets = (const eye_packet *)with->packets.memory;
    gather.packet_count = asked->packets;
    gather.alone = (uint32_t *)with->alone.memory;
    for (int m = view->final_gather ? 1 : 0; m < 2; ++m) {
        const photon_map_view *map = m ? &view->caustic : &view->global;
        gather.sums = (flux_sum *)with->sums[m].memory;
        gather.radii = (float *)with->radii[m].memory;
        KD_TRY(photon_maps_cuda_gather(&with->maps, m, map->gather, map->radius, &gather));
    }
    return KD_OK;
}

kd_status add_all_to_film(photon_cuda *with, const frame *of, const photon_view *view,
                          const look_work *looked, bool later) {
    const sample_range *range = &looked->range;
    film_work work;
    work.range = *range;
    work.pixels = of->there->pixels;
    work.looks = looked->looks;
    work.requests = (const eye_request *)with->requests.memory;
    for (int m = 0; m < 2; ++m) {
        work.sums[m] = (const flux_sum *)with->sums[m].memory;
        work.radii[m] = (const float *)with->radii[m].memory;
    }
    work.later = later;
    work.counts = of->there->counts;
    const uint64_t pixels = (uint64_t)range->width * (uint64_t)(range->bottom - range->top);
    add_to_film<<<(unsigned)((pixels + LOOK_BLOCK - 1) / LOOK_BLOCK), LOOK_BLOCK>>>(*view, work);
    KD_CUDA_LAUNCHED("add_to_film");
    return KD_OK;
}

/* One sample of every pixel of the range. */
kd_status take_sample(photon_cuda *with, const frame *of, photon_view *view,
                      const look_work *work) {
    /* an adaptive estimate needs its photons in order */
    const bool later = !view->caustic.adaptive && !view->caustic.walks;
    eye_asked asked = {0, 0};
    KD_TRY(mark(with, PHOTON_CUDA_LOOK));
    KD_TRY(take_all_looks(with, of, view, work, later, &asked));
    KD_TRY(mark(with, PHOTON_CUDA_GATHER));
    if (later) KD_TRY(look_into_maps(with, view, &asked));
    KD_TRY(mark(with, PHOTON_CUDA_FILM));
    KD_TRY(add_all_to_film(with, of, view, work, later));
    KD_TRY(mark(with, PHOTON_CUDA_STAGES));
    return add_seconds(with);
}

} // namespace

extern "C" void photon_cuda_drop_marks(photon_cuda *owned) {
    for (int i = 0; i <= PHOTON_CUDA_STAGES; ++i)
        if (owned->marks[i]) cudaEventDestroy((cudaEvent_t)owned->marks[i]);
    memset(owned->marks, 0, sizeof owned->marks);
}

extern "C" kd_status photon_cuda_take(photon_cuda *with, const frame *of, const photon_view *view,
                                      const sample_range *range, uint32_t period) {
    const uint64_t pixels = (uint64_t)range->width * (uint64_t)(range->bottom - range->top);
    photon_view seen = *view;
    look_work work;
    KD_TRY(device_buffer_reserve(&with->looks, pixels * sizeof(pixel_look)));
    KD_TRY(device_buffer_reserve(&with->asked, sizeof(eye_asked)));
    if (with->room < pixels) KD_TRY(reserve_requests(with, (uint32_t)(pixels + pixels / 8)));
    work.view = integrator_view(of);
    work.range = *range;
    work.pixels = of->there->pixels;
    work.looks = (pixel_look *)with->looks.memory;
    for (uint32_t s = range->begin; s < range->begin + range->count; ++s) {
        work.sample = s;
        work.camera_sample = period ? s % period : s;
        KD_TRY(take_sample(with, of, &seen, &work));
    }
    return KD_OK;
}
