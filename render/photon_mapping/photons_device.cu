/* Samples of the photon integrators on a CUDA device.
   Idea: a path from the eye is short work of one thread; a look into a map is long work that a
         warp does better (photon/density/warp_per_surface.cuh). So paths only note where they
         want to look, in the order of the picture's tiles; then every look is answered; then
         each pixel adds up what its path has seen. These paths go by waves (eye_waves.cu), but for
         scenes with media or cut-outs: there, and without room for waves, a thread follows each.
         A final gather's rays go by waves, too (gather_waves.cu); without room for these, or where
         coats mirror, paths gather by themselves, as do those through media that scatter light, at
         places on their way.
   Work: waves, or a kernel, a sample of every pixel, two for the maps (five by tiles), one for the
         film.
   Memory: 335 bytes a pixel by waves, or 164 and 719 a gather ray, else 56; 300 a look.
   Invariants: the film's sums are the CPU's, bit for bit (flux_sum.h).
   Data flow: of each sample: eye waves or take_looks -> requests and looks; gathering, once a
              map -> sums and radii of each request, and by tiles integrals (tile_looks.cu);
              add_to_film, a thread a pixel: its look, its requests' sums in order -> the film. */
#include "render/photon_mapping/eye_path.cuh"
#include "render/photon_mapping/eye_waves.h"
#include "render/photon_mapping/looks_apart_device.h"
#include "render/photon_mapping/shown.cuh"

namespace {

struct film_work {
    sample_range range;
    pixel_view view; /* without its scene */
    film_pixel *pixels;
    uint32_t sample, camera_sample;
    const pixel_look *looks; /* NULL: what paths have brought is in */
    eye_slots slots;
    shown_requests shown;
    bool later; /* maps were asked */
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

/* What the paths of the slot of a pixel have brought. */
__device__ __forceinline__ pixel_look look_of_slot(const eye_slots &slots, uint32_t x, uint32_t y) {
    const path_waves &w = slots.waves;
    const uint32_t slot = (y / 4 * w.across + x / 8) * 32 + y % 4 * 8 + x % 8;
    const float4 depth = w.first[2 * (uint64_t)slot], albedo = w.first[2 * (uint64_t)slot + 1];
    pixel_look made;
    made.sample.radiance = first_three(w.radiance[slot]);
    made.sample.depth = depth.x;
    made.sample.normal = vec3_make(depth.y, depth.z, depth.w);
    made.sample.albedo = first_three(albedo);
    made.sample.alpha = albedo.w;
    made.sample.rays = 0;
    made.first_request = slots.first_request[slot];
    made.taken = true;
    return made;
}

/* False: the film has the sample of pixel i of the range already. */
__device__ __forceinline__ bool look_of(const film_work &work, uint32_t i, pixel_look *out) {
    const uint32_t width = (uint32_t)work.range.width, y = i / width;
    if (work.looks) {
        *out = work.looks[i];
        return out->taken;
    }
    if (work.pixels[(uint64_t)work.range.top * width + i].samples > work.sample) return false;
    *out = look_of_slot(work.slots, i - y * width, y);
    return true;
}

/* The pixel of a thread: those of a warp are 8 x 4 pixels, whose looks meet much the same tiles.
   False: it lies outside. */
__device__ __forceinline__ bool pixel_of(const sample_range &range, uint32_t thread, uint32_t *i) {
    const uint32_t across = ((uint32_t)range.width + 7) / 8, block = thread / 32;
    const uint32_t x = block % across * 8 + thread % 8, y = block / across * 4 + thread % 32 / 8;
    *i = y * (uint32_t)range.width + x;
    return x < (uint32_t)range.width && y < (uint32_t)(range.bottom - range.top);
}

__global__
__launch_bounds__(LOOK_BLOCK) void add_to_film(const __grid_constant__ photon_view photons,
                                               const __grid_constant__ film_work work) {
    const sample_range &range = work.range;
    const uint32_t thread = blockIdx.x * LOOK_BLOCK + threadIdx.x;
    uint32_t rays = 0, nans = 0, i;
    pixel_look seen;
    if (thread == 0 && !work.looks)
        atomicAdd((unsigned long long *)&work.counts->rays,
                  (unsigned long long)work.slots.waves.counts->rays);
    if (pixel_of(range, thread, &i) && look_of(work, i, &seen)) {
        if (work.later)
            seen.sample.radiance =
                vec3_add(seen.sample.radiance, gathered(&photons, work, seen.first_request));
        rays = seen.sample.rays;
        pixel_weigh(&work.view, range.x0 + (int32_t)(i % (uint32_t)range.width),
                    range.y0 + range.top + (int32_t)(i / (uint32_t)range.width), work.camera_sample,
                    &seen.sample);
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
        KD_TRY(device_buffer_reserve(&with->integrals[m], (uint64_t)room * sizeof(float)));
    }
    with->room = room;
    return KD_OK;
}

/* Whether paths look into maps by themselves. */
bool eye_walks(const frame *of, const photon_view *view, bool later) {
    return !later || view->final_gather || photon_scene_scatters(of->scene);
}

/* Paths of one sample of every pixel, by waves if there are `slots`; again with more room if there
   were more looks. */
kd_status take_all_looks(photon_cuda *with, const frame *of, photon_view *view,
                         const look_work *work, const eye_slots *slots, bool later,
                         eye_asked *asked) {
    for (;;) {
        view->later.list = later ? (eye_request *)with->requests.memory : NULL;
        view->later.packets = (eye_packet *)with->packets.memory;
        view->later.asked = (eye_asked *)with->asked.memory;
        view->later.room = with->room;
        KD_CUDA(cudaMemsetAsync(with->asked.memory, 0, sizeof *asked));
        KD_TRY(slots                        ? eye_take_slots(of, view, slots)
               : eye_walks(of, view, later) ? photon_walk_looks(of, view, work)
                                            : photon_ask_looks(of, view, work));
        KD_CUDA(cudaMemcpy(asked, with->asked.memory, sizeof *asked, cudaMemcpyDeviceToHost));
        if (asked->requests <= with->room) return KD_OK;
        KD_TRY(reserve_requests(with, asked->requests + asked->requests / 8));
    }
}

photon_gather_cuda gather_of(const photon_cuda *with, int m, const eye_asked *asked) {
    photon_gather_cuda gather;
    gather.requests = (const eye_request *)with->requests.memory;
    gather.count = asked->requests;
    gather.packets = (const eye_packet *)with->packets.memory;
    gather.packet_count = asked->packets;
    gather.alone = (uint32_t *)with->alone.memory;
    gather.sums = (flux_sum *)with->sums[m].memory;
    gather.radii = (float *)with->radii[m].memory;
    return gather;
}

kd_status look_into_maps(photon_cuda *with, const photon_view *view, const eye_asked *asked) {
    for (int m = view->final_gather ? 1 : 0; m < 2; ++m) {
        const photon_map_view *map = m ? &view->caustic : &view->global;
        const photon_gather_cuda gather = gather_of(with, m, asked);
        KD_TRY(photon_maps_cuda_gather(&with->maps, m, map->gather, map->radius, &gather));
    }
    return KD_OK;
}

/* The integrals of what was found over the tiles. */
kd_status measure_tiles(photon_cuda *with, const photon_view *view, const eye_asked *asked) {
    for (int m = view->final_gather ? 1 : 0; m < 2; ++m) {
        const photon_gather_cuda gather = gather_of(with, m, asked);
        KD_TRY(photon_maps_cuda_measure(&with->maps, &gather, (float *)with->integrals[m].memory));
    }
    return KD_OK;
}

kd_status add_all_to_film(photon_cuda *with, const frame *of, const photon_view *view,
                          const look_work *looked, const eye_slots *slots, bool later) {
    const sample_range *range = &looked->range;
    film_work work;
    memset(&work, 0, sizeof work);
    work.range = *range;
    work.view = integrator_view(of);
    work.pixels = of->there->pixels;
    work.sample = looked->sample;
    work.camera_sample = looked->camera_sample;
    if (slots)
        work.slots = *slots;
    else
        work.looks = looked->looks;
    work.shown.requests = (const eye_request *)with->requests.memory;
    for (int m = 0; m < 2; ++m) {
        work.shown.sums[m] = (const flux_sum *)with->sums[m].memory;
        work.shown.radii[m] = (const float *)with->radii[m].memory;
        work.shown.integrals[m] = (const float *)with->integrals[m].memory;
    }
    work.later = later;
    work.counts = of->there->counts;
    const uint64_t across = ((uint64_t)range->width + 7) / 8,
                   down = ((uint64_t)(range->bottom - range->top) + 3) / 4,
                   threads = 32 * across * down;
    add_to_film<<<(unsigned)((threads + LOOK_BLOCK - 1) / LOOK_BLOCK), LOOK_BLOCK>>>(*view, work);
    KD_CUDA_LAUNCHED("add_to_film");
    return KD_OK;
}

/* Room for one sample of every pixel of the range: slots of waves, if these are to be had, or
 * looks.
 */
kd_status reserve_looks(photon_cuda *with, const frame *of, const photon_view *view, bool later,
                        look_work *work, eye_slots *slots, bool *by_waves) {
    const uint64_t pixels =
        (uint64_t)work->range.width * (uint64_t)(work->range.bottom - work->range.top);
    const bool gathers = later && view->final_gather && photon_cuda_gathers_by_waves(of->scene);
    *by_waves = gathers || (!eye_walks(of, view, later) && eye_goes_by_waves(of));
    uint32_t together = gathers ? photon_cuda_gathers_together(pixels, view->final_gather) : 0;
    for (; *by_waves; together /= 2) {
        const kd_status status = eye_slots_open(slots, of, &work->range, together);
        if (status != KD_ERROR_MEMORY) return status;
        if (together < 2) *by_waves = false;
    }
    KD_TRY(device_buffer_reserve(&with->looks, pixels * sizeof(pixel_look)));
    work->looks = (pixel_look *)with->looks.memory;
    return KD_OK;
}

/* One sample of every pixel of the range. What paths do that look by themselves counts as looks
   into the maps, most of it. */
kd_status take_sample(photon_cuda *with, const frame *of, photon_view *view, const look_work *work,
                      const eye_slots *slots, bool later) {
    eye_asked asked = {0, 0};
    KD_TRY(mark(with, PHOTON_CUDA_LOOK));
    if (!later) KD_TRY(mark(with, PHOTON_CUDA_GATHER));
    KD_TRY(take_all_looks(with, of, view, work, slots, later, &asked));
    if (slots && view->final_gather) KD_TRY(eye_gather_slots(of, &with->maps, view, slots));
    if (later) {
        KD_TRY(mark(with, PHOTON_CUDA_GATHER));
        KD_TRY(with->apart ? looks_apart_there(with, of->among, view, &asked)
                           : look_into_maps(with, view, &asked));
        KD_TRY(measure_tiles(with, view, &asked));
    }
    KD_TRY(mark(with, PHOTON_CUDA_FILM));
    KD_TRY(add_all_to_film(with, of, view, work, slots, later));
    KD_TRY(mark(with, PHOTON_CUDA_STAGES));
    return add_seconds(with);
}

/* A rank that has no pixels of a launch, whose photons others ask for. */
kd_status look_for_others(photon_cuda *with, const frame *of, const photon_view *view,
                          const sample_range *range) {
    const eye_asked none = {0, 0};
    for (uint32_t s = 0; with->apart && s < range->count; ++s)
        KD_TRY(looks_apart_there(with, of->among, view, &none));
    return KD_OK;
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
    /* an adaptive estimate needs its photons in order */
    const bool later = !view->caustic.adaptive && !view->caustic.walks;
    photon_view seen = *view;
    look_work work;
    eye_slots slots;
    bool by_waves;
    if (pixels == 0) return look_for_others(with, of, view, range);
    memset(&work, 0, sizeof work);
    work.view = integrator_view(of);
    work.range = *range;
    work.pixels = of->there->pixels;
    KD_TRY(reserve_looks(with, of, view, later, &work, &slots, &by_waves));
    KD_TRY(device_buffer_reserve(&with->asked, sizeof(eye_asked)));
    if (with->room < pixels) KD_TRY(reserve_requests(with, (uint32_t)(pixels + pixels / 8)));
    for (uint32_t s = range->begin; s < range->begin + range->count; ++s) {
        work.sample = slots.waves.range.begin = s;
        work.camera_sample = slots.camera_sample = period ? s % period : s;
        KD_TRY(take_sample(with, of, &seen, &work, by_waves ? &slots : NULL, later));
    }
    return KD_OK;
}
