/* `vcm` on a CUDA device: its memory, the grid of its photons, and lookups in it.
   Data flow: vcm_light_waves.cu traces a pass's light paths, which leave splats in `sums`, and
              `photons`; count_cells reads these and counts those of each bucket in `ends`, which a
              scan turns into the buckets' begins; sort_photons reads both and writes `sorted`,
   which eye_merge and vcm_eye_waves.cu read; sorting turns the begins into ends. */
#include "core/device/async.h"
#include "core/device/cuda.h"
#include "core/device/device_sort.cuh"
#include "render/integrators/vcm_waves.cuh"

namespace {

enum { TRACE_BLOCK = 128, MERGE_BLOCK = 128, MERGE_EACH = 6 };

__global__
__launch_bounds__(TRACE_BLOCK) void find_footprints(const __grid_constant__ scene_view scene,
                                                    const __grid_constant__ vcm_view view,
                                                    int32_t side, float *t) {
    const int32_t i = (int32_t)(blockIdx.x * TRACE_BLOCK + threadIdx.x);
    if (i >= side * side) return;
    const ray ray = vcm_footprint_ray(&view.viewer, side, i);
    const ray_hit hit = tritree_closest(&scene.tree, ray);
    t[i] = hit.triangle == KD_NONE ? INFINITY : hit.t;
}

__global__ __launch_bounds__(TRACE_BLOCK) void try_paths(const __grid_constant__ scene_view scene,
                                                         const __grid_constant__ vcm_view view,
                                                         uint64_t first, uint32_t count,
                                                         vcm_trial *trials) {
    const uint32_t i = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    if (i < count) trials[i] = vcm_try(&view, &scene, first + i);
}

__global__ __launch_bounds__(TRACE_BLOCK) void count_cells(const vcm_grid grid,
                                                           const vcm_photon *photons,
                                                           uint32_t *counts) {
    const uint32_t i = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    if (i < grid.count) atomicAdd(counts + vcm_grid_bucket(&grid, photons[i].place), 1u);
}

__global__ __launch_bounds__(TRACE_BLOCK) void sort_photons(const vcm_grid grid,
                                                            const vcm_photon *photons,
                                                            uint32_t *begins, vcm_photon *sorted) {
    const uint32_t i = blockIdx.x * TRACE_BLOCK + threadIdx.x;
    if (i >= grid.count) return;
    const vcm_photon photon = photons[i];
    sorted[atomicAdd(begins + vcm_grid_bucket(&grid, photon.place), 1u)] = photon;
}

/* --- merges of eye paths at diffuse surfaces ----------------------------------------------------
   Idea: a lookup tests nine photons on average, but some test hundreds, and a fifth of those tested
         merge. So a warp takes 32 lookups, of each of which it finds a range of photons at a time.
         The photons of all these ranges are numbered, and 32 are tested at once, whatever lookup
         they belong to; those that merge are queued, and 32 are evaluated at once. Sums of integers
         do not depend on the order. */

struct merge_lookup {
    merge_request request;
    int32_t first, last, y, z; /* of the current range */
};

/* What the lanes of a warp share. */
struct merge_warp {
    merge_lookup lookups[32];
    unsigned long long sums[32][3];
    uint2 queue[64]; /* lookup and photon */
};

/* Evaluates the `count` <= 32 photons of the queue from `first` on. */
__device__ __forceinline__ void merge_queued(const vcm_view &view, merge_warp &warp, uint32_t first,
                                             uint32_t count) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t lookup = KD_NONE;
    flux_sum sum = flux_sum_none();
    if (lane < count) {
        const uint2 queued = warp.queue[first + lane];
        lookup = queued.x;
        const vcm_photon landed = view.grid.photons[queued.y];
        vcm_eye_path path;
        surface at;
        merging_path(warp.lookups[lookup].request, &path, &at);
        const vcm_meeting met = vcm_eye_meeting(&view, NULL, &path.state, &at);
        vcm_eye_merge_photon(&view, &path, &met, &landed, &sum);
    }
    /* photons of a lookup that follow each other are added up by the first of their lanes */
    const uint32_t before = __shfl_up_sync(~0u, lookup, 1);
    const bool begins = lane == 0 || before != lookup;
    const unsigned begun = __ballot_sync(~0u, begins);
    const uint32_t run = (uint32_t)__popc(begun & ((2u << lane) - 1));
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_down_sync(~0u, run, step);
        const int64_t x = __shfl_down_sync(~0u, sum.x, step);
        const int64_t y = __shfl_down_sync(~0u, sum.y, step);
        const int64_t z = __shfl_down_sync(~0u, sum.z, step);
        if (lane + step >= 32 || other != run) continue;
        sum.x += x;
        sum.y += y;
        sum.z += z;
    }
    if (begins && lookup != KD_NONE) {
        atomicAdd(&warp.sums[lookup][0], (unsigned long long)sum.x);
        atomicAdd(&warp.sums[lookup][1], (unsigned long long)sum.y);
        atomicAdd(&warp.sums[lookup][2], (unsigned long long)sum.z);
    }
    __syncwarp();
}

/* Returns the lane whose range holds number `at` of all ranges' photons; `upto`: the number of
   those of the lane's and of all earlier lanes. */
__device__ __forceinline__ uint32_t merge_lane_of(uint32_t at, uint32_t upto) {
    uint32_t lane = 0;
    for (uint32_t step = 16; step; step /= 2)
        if (at >= __shfl_sync(~0u, upto, lane + step - 1)) lane += step;
    return lane;
}

/* Returns true if photon i merges at the lookup. */
__device__ __forceinline__ bool merge_meets(const vcm_view &view, const merge_lookup &lookup,
                                            uint32_t i) {
    vcm_eye_path path;
    surface at;
    vcm_photon landed;
    vcm_grid_range range;
    const uint4 head = *(const uint4 *)(view.grid.photons + i);
    memset(&landed, 0, sizeof landed);
    memcpy(&landed, &head, sizeof head);
    merging_path(lookup.request, &path, &at);
    const vcm_meeting met = vcm_eye_meeting(&view, NULL, &path.state, &at);
    range.first = lookup.first;
    range.last = lookup.last;
    range.y = lookup.y;
    range.z = lookup.z;
    range.begin = range.end = 0;
    return vcm_eye_meets(&view, &met, (int32_t)(lookup.request.ids.y & 0xffffffu), &range, &landed);
}

/* Tests the photons from `begin` to `end` of each lane's range, and evaluates those that merge, if
   they are `last` all of them, else 32 at a time. Returns how many remain in the queue. */
__device__ __forceinline__ uint32_t merge_ranges(const vcm_view &view, merge_warp &warp,
                                                 uint32_t begin, uint32_t end, uint32_t queued,
                                                 bool last) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t upto = end - begin;
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint32_t more = __shfl_up_sync(~0u, upto, step);
        if (lane >= step) upto += more;
    }
    const uint32_t count = __shfl_sync(~0u, upto, 31), from = end - upto;
    for (uint32_t first = 0; first < count || (last && queued); first += 32) {
        const uint32_t lookup = merge_lane_of(first + lane, upto);
        const uint32_t i = __shfl_sync(~0u, from, lookup) + first + lane;
        const bool meets = first + lane < count && merge_meets(view, warp.lookups[lookup], i);
        const unsigned met = __ballot_sync(~0u, meets);
        if (meets) warp.queue[queued + __popc(met & ((1u << lane) - 1))] = make_uint2(lookup, i);
        queued += __popc(met);
        __syncwarp();
        if (queued < 32 && !last) continue;
        const uint32_t taken = min(queued, 32u);
        queued -= taken;
        merge_queued(view, warp, queued, taken);
    }
    return queued;
}

/* Adds what the lookup's photons bring to the radiance of its slot. */
__device__ __forceinline__ void merge_add(const vcm_view &view, const path_waves &w,
                                          const unsigned long long sums[3],
                                          const merge_request &request, uint32_t i) {
    vcm_eye_path path;
    surface at;
    merging_path(request, &path, &at);
    const vcm_meeting met = vcm_eye_meeting(&view, NULL, &path.state, &at);
    const flux_sum sum = {(int64_t)sums[0], (int64_t)sums[1], (int64_t)sums[2]};
    const vec3 sent = request.ids.y & MERGE_SENDS ? first_three(w.hits[i]) : vec3_all(0);
    add_radiance(w, request.ids.x,
                 vec3_add(sent, vcm_eye_brings(&view, &path, vcm_eye_merged(&view, &met, &sum))));
}

/* Data flow: reads the requests of the list of diffuse surfaces, and photons; adds to radiance. One
              warp for 32 requests. */
__global__ __launch_bounds__(MERGE_BLOCK,
                             MERGE_EACH) void eye_merge(const __grid_constant__ vcm_view view,
                                                        const __grid_constant__ path_waves w,
                                                        uint32_t wave) {
    __shared__ merge_warp warps[MERGE_BLOCK / 32];
    merge_warp &warp = warps[threadIdx.x / 32];
    const uint32_t lane = threadIdx.x % 32;
    const path_store &store = w.stores[wave % 2];
    wave_record *now = wave_at(w, wave);
    const uint32_t count = now->kinds.listed[MATERIAL_DIFFUSE];
    for (;;) {
        uint32_t first = 0;
        if (lane == 0) first = atomicAdd(now->kinds.chunk + 2, 32u);
        first = __shfl_sync(~0u, first, 0);
        if (first >= count) return;
        merge_request request;
        vcm_grid_walk walk;
        const uint32_t i =
            first + lane < count ? w.kinds.of(MATERIAL_DIFFUSE)[first + lane] : KD_NONE;
        const bool active = i != KD_NONE && load_merge(store, i, &request);
        if (active) {
            warp.lookups[lane].request = request;
            walk = vcm_grid_begin(&view.grid, first_three(request.place), view.radius);
        }
        for (int c = 0; c < 3; ++c) warp.sums[lane][c] = 0;
        uint32_t queued = 0;
        for (bool last = false; !last;) {
            vcm_grid_range range = {0, 0, 0, 0, 0, 0};
            const bool has = active && vcm_grid_next(&view.grid, &walk, &range);
            last = !__any_sync(~0u, has);
            merge_lookup &lookup = warp.lookups[lane];
            lookup.first = range.first;
            lookup.last = range.last;
            lookup.y = range.y;
            lookup.z = range.z;
            __syncwarp();
            queued = merge_ranges(view, warp, range.begin, range.end, queued, last);
        }
        if (active) merge_add(view, w, warp.sums[lane], request, i);
    }
}

/* Replaces the number of photons of each bucket by the index of its first photon. Without scratch
   memory, only computes how much is needed. */
kd_status scan_buckets(void *scratch, size_t *bytes, uint32_t *counts, uint64_t buckets) {
    return device_prefix_sum(scratch, bytes, counts, buckets, (cudaStream_t)device_thread_stream());
}

} // namespace

kd_status vcm_cuda_open(vcm_cuda *out, uint64_t sums) {
    void *memory = NULL;
    KD_TRY(device_memory_reserve(&memory, sizeof(vcm_counts) + sums * sizeof(int64_t)));
    out->counts = (vcm_counts *)memory;
    out->sums = (int64_t *)(out->counts + 1);
    return KD_OK;
}

void vcm_cuda_close(vcm_cuda *owned) {
    device_memory_free(owned->counts);
    device_buffer_free(&owned->sorted);
    device_buffer_free(&owned->joined);
    device_buffer_free(&owned->ends);
    device_buffer_free(&owned->scratch);
    memset(owned, 0, sizeof *owned);
}

static kd_status launch_footprints(float *t, int32_t side, const vcm_view *view,
                                   const scene_view *scene) {
    find_footprints<<<cuda_blocks((uint64_t)side * side, TRACE_BLOCK), TRACE_BLOCK>>>(*scene, *view,
                                                                                      side, t);
    KD_CUDA_LAUNCHED("find_footprints");
    return KD_OK;
}

kd_status vcm_cuda_footprints(float *t, int32_t side, const vcm_view *view,
                              const scene_view *scene) {
    const uint32_t count = (uint32_t)(side * side);
    void *found = NULL;
    KD_TRY(device_memory_reserve(&found, count * sizeof *t));
    kd_status status = launch_footprints((float *)found, side, view, scene);
    if (status == KD_OK) status = device_memory_download(t, found, count * sizeof *t);
    device_memory_free(found);
    return status;
}

static kd_status launch_trials(vcm_trial *trials, uint64_t first, uint32_t count,
                               const vcm_view *view, const scene_view *scene) {
    try_paths<<<cuda_blocks(count, TRACE_BLOCK), TRACE_BLOCK>>>(*scene, *view, first, count,
                                                                trials);
    KD_CUDA_LAUNCHED("try_paths");
    return KD_OK;
}

kd_status vcm_cuda_try(vcm_trial *trials, uint64_t first, uint32_t count, const vcm_view *view,
                       const scene_view *scene) {
    void *traced = NULL;
    KD_TRY(device_memory_reserve(&traced, count * sizeof *trials));
    kd_status status = launch_trials((vcm_trial *)traced, first, count, view, scene);
    if (status == KD_OK) status = device_memory_download(trials, traced, count * sizeof *trials);
    device_memory_free(traced);
    return status;
}

kd_status vcm_cuda_fetch(const vcm_cuda *device, vcm_photon *photons, uint64_t count) {
    return device_memory_download(photons, device->photons, count * sizeof *photons);
}

static kd_status sort_into(vcm_cuda *device, const vcm_photon *photons, const vcm_grid *grid) {
    uint32_t *ends = (uint32_t *)device->ends.memory;
    const uint64_t buckets = (uint64_t)grid->mask + 1;
    const unsigned blocks = cuda_blocks(grid->count, TRACE_BLOCK);
    size_t bytes = 0;
    KD_TRY(scan_buckets(NULL, &bytes, ends, buckets));
    KD_TRY(device_buffer_reserve(&device->scratch, bytes));
    KD_TRY(device_memory_clear(ends, buckets * sizeof *ends));
    count_cells<<<blocks, TRACE_BLOCK>>>(*grid, photons, ends);
    KD_CUDA_LAUNCHED("count_cells");
    KD_TRY(scan_buckets(device->scratch.memory, &bytes, ends, buckets));
    sort_photons<<<blocks, TRACE_BLOCK>>>(*grid, photons, ends,
                                          (vcm_photon *)device->sorted.memory);
    KD_CUDA_LAUNCHED("sort_photons");
    return KD_OK;
}

kd_status vcm_cuda_build(vcm_cuda *device, const vcm_photon *photons, uint64_t count,
                         vcm_view *view) {
    vcm_grid grid = vcm_grid_make(count, view->radius);
    const vcm_photon *unsorted = device->photons;
    if (photons) {
        KD_TRY(device_buffer_reserve(&device->joined, count * sizeof *photons));
        KD_TRY(device_memory_upload(device->joined.memory, photons, count * sizeof *photons));
        unsorted = (const vcm_photon *)device->joined.memory;
    }
    KD_TRY(device_buffer_reserve(&device->sorted, count * sizeof *photons));
    KD_TRY(device_buffer_reserve(&device->ends, ((uint64_t)grid.mask + 1) * sizeof *grid.ends));
    KD_TRY(sort_into(device, unsorted, &grid));
    grid.photons = (const vcm_photon *)device->sorted.memory;
    grid.ends = (const uint32_t *)device->ends.memory;
    view->grid = grid;
    return device_wait(); /* for the stage's time */
}

kd_status vcm_merge_wave(const wave_run *run, const vcm_view *view) {
    if (!(view->merges > 0) || view->grid.count == 0) return KD_OK;
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, eye_merge, MERGE_BLOCK));
    eye_merge<<<blocks, MERGE_BLOCK>>>(*view, run->work, run->wave);
    KD_CUDA_LAUNCHED("eye_merge");
    return KD_OK;
}
