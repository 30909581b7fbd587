/* Integrals of the kernel over tiles for all lookups of an image (photon/density/tiles.h), by
   warps.
   Idea: a warp handles a packet of lookups, which are neighbours in the image (tile_groups.cuh).
         Lookups whose integral is known without a traversal, or that found no photons, are removed
         first.
   Work: the boxes and tiles that a thread would visit, and those that only neighbours visit. A
         lookup that exceeds the number allowed in arbitrary order is repeated in the order of the
         CPU, one thread per lookup. The openness model, where needed: 16 lanes, one ray each.
   Memory: 4 bytes per lookup and map, and 4 for those that are repeated or modelled.
   Invariants: the bits of tile_kernel_integral.
   Data flow: intersect_all, one warp per packet, reads requests with their sums and radii, packets and
              tiles; it writes integrals, and by atomics the indices of lookups to be repeated and
              of those to be modelled, from both ends of a list; again, one thread per lookup to be
              repeated, and lookup_model, 16 lanes per lookup to be modelled, write their integrals;
              add_to_film reads them. */
#include "photon/maps/tile_groups.cuh"

namespace {

using namespace tile_groups;

/* One warp per block: packets differ in work by far, and a block stays until its last warp ends. */
constexpr int WARPS = 1, BLOCKS = 16, AGAIN_BLOCK = 128;
constexpr unsigned AGAIN_BLOCKS = 1056;
/* Requests without packets are divided among at least this many warps, or one warp per request: a
   device runs some 2,000 of these warps at a time, and packets differ in work by far. */
constexpr uint32_t PACKETS_MIN = 8192;

/* Returns true if the integral of this request is needed and requires a traversal. */
__device__ __forceinline__ bool lookup_needs_tiles(const measure_work &work, uint32_t request) {
    const float radius = work.radii[request];
    if (!(radius > 0) || flux_sum_is_zero(work.sums + request)) return false;
    const estimate_point point = estimate_point_of(&work.requests[request].at);
    const tile_lookup lookup =
        tile_lookup_begin(point.position, point.normal, point.triangle, radius, work.kernel);
    if (work.tiles.box_count && !tile_place_is_wide(&work.tiles, &lookup)) return true;
    work.integrals[request] = 2 * KD_PI * photon_kernel_sector(work.kernel);
    return false;
}

/* Stores a request's lookup in shared memory. */
__device__ __forceinline__ void put_lookup(const measure_work &work, pending_scratch &lane_scratch,
                                           uint32_t which, uint32_t request) {
    const estimate_point point = estimate_point_of(&work.requests[request].at);
    lane_scratch.position[which] = point.position;
    lane_scratch.normal[which] = point.normal;
    lane_scratch.radius[which] = work.radii[request];
    lane_scratch.triangle[which] = point.triangle;
    lane_scratch.request[which] = request;
    clear_sums(lane_scratch, which);
}

/* Index within a packet for a lane. A full packet has 8 x 4 pixels; blocks of 2 x 2 pixels, and
   recursively of these, are assigned to consecutive lanes. */
__device__ __forceinline__ uint32_t place_in_packet() {
    const uint32_t l = lane_id();
    return (l & 1u) | (l >> 1 & 2u) | (l >> 2 & 4u) | (l << 2 & 8u) | (l << 1 & 16u);
}

__device__ __forceinline__ eye_packet packet_of(const measure_work &work, uint32_t packet) {
    if (work.packets) return work.packets[packet];
    const uint32_t first = work.per_packet * packet, left = work.count - first;
    return {first, left < work.per_packet ? left : work.per_packet};
}

/* Stores the lookups of a packet in shared memory; returns their number. */
__device__ __forceinline__ uint32_t begin_lookups(const measure_work &work,
                                                  pending_scratch &lane_scratch,
                                                  const eye_packet &packet) {
    const uint32_t place = place_in_packet();
    const bool is = place < packet.count;
    uint32_t request = packet.first + place;
    if (is && work.order) request = work.order[request];
    const bool valid = is && lookup_needs_tiles(work, request);
    const unsigned all = __ballot_sync(ALL, valid);
    if (valid) put_lookup(work, lane_scratch, before_me(all), request);
    __syncwarp();
    return (uint32_t)__popc(all);
}

/* Writes the integral of a lookup, or lists it for another kernel. */
__device__ __forceinline__ void end_lookup(const measure_work &work,
                                           const pending_scratch &lane_scratch, uint32_t which) {
    const uint32_t flags = lane_scratch.flags[which], request = lane_scratch.request[which];
    if (lane_scratch.candidates[which] > SURELY) {
        work.list[atomicAdd(work.left, 1u)] = request;
        return;
    }
    tile_lookup lookup = lookup_of(work, lane_scratch, which);
    lookup.lit = (int64_t)((uint64_t)lane_scratch.lit[1][which] << 32 | lane_scratch.lit[0][which]);
    lookup.dark =
        (int64_t)((uint64_t)lane_scratch.dark[1][which] << 32 | lane_scratch.dark[0][which]);
    lookup.in_the_dark = (flags & IN_THE_DARK) != 0;
    const float integral = tile_lookup_found(&lookup);
    if (flags & MODELLED) {
        work.integrals[request] = integral;
        work.list[work.count - 1 - atomicAdd(work.modelled, 1u)] = request;
    } else {
        work.integrals[request] = tile_lookup_over_model(&lookup, integral, 1);
    }
}

__global__ __launch_bounds__(32 * WARPS,
                             BLOCKS) void intersect_all(const __grid_constant__ measure_work work) {
    __shared__ pending_scratch scratch[WARPS];
    pending_scratch &lane_scratch = scratch[threadIdx.x / 32];
    const uint32_t packet = blockIdx.x * WARPS + threadIdx.x / 32;
    if (packet >= work.packet_count) return; /* uniform in the warp */
    const uint32_t valid = begin_lookups(work, lane_scratch, packet_of(work, packet));
    if (work.tiles.count >= NUMBERS) {
        if (lane_id() < valid) lane_scratch.candidates[lane_id()] = NOT_TRAVERSED;
        __syncwarp();
    } else {
        intersect_lookups(work, lane_scratch, valid);
    }
    if (lane_id() < valid) end_lookup(work, lane_scratch, lane_id());
}

/* Repeats the listed lookups in the order of the CPU. */
__global__ __launch_bounds__(AGAIN_BLOCK) void again(const __grid_constant__ measure_work work) {
    const uint32_t count = *work.left;
    for (uint32_t i = blockIdx.x * AGAIN_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * AGAIN_BLOCK) {
        const uint32_t request = work.list[i];
        const estimate_point point = estimate_point_of(&work.requests[request].at);
        tile_lookup lookup = tile_lookup_begin(point.position, point.normal, point.triangle,
                                               work.radii[request], work.kernel);
        work.integrals[request] = tile_kernel_integral(&work.tiles, &lookup, TILE_COSINE);
    }
}

/* Evaluates the openness model at a lookup's point and divides its integral by it. */
__global__
__launch_bounds__(AGAIN_BLOCK) void lookup_model(const __grid_constant__ measure_work work) {
    const uint32_t count = *work.modelled, half = threadIdx.x / OPENNESS_RAYS,
                   halves = AGAIN_BLOCK / OPENNESS_RAYS, lane = threadIdx.x % OPENNESS_RAYS;
    const scene_view *scene = work.tiles.scene;
    for (uint32_t first = blockIdx.x * halves; first < count; first += gridDim.x * halves) {
        const bool has = first + half < count;
        const uint32_t request = has ? work.list[work.count - 1 - first - half] : 0;
        const estimate_point point = estimate_point_of(&work.requests[request].at);
        float hides = 0, hidden = 0;
        if (has) {
            const openness_place place =
                openness_place_make(&scene->mesh, point.position, point.normal, point.triangle);
            const ray ray = openness_ray(&place, (int)lane, work.tiles.span);
            const ray_hit hit = tritree_closest(&scene->tree, ray);
            hides = openness_hidden(openness_end(scene, ray, hit), work.tiles.span);
        }
        __syncwarp();
        for (int i = 0; i < OPENNESS_RAYS; ++i) hidden += __shfl_sync(ALL, hides, i, OPENNESS_RAYS);
        if (!has || lane) continue;
        const tile_lookup lookup = tile_lookup_begin(point.position, point.normal, point.triangle,
                                                     work.radii[request], work.kernel);
        work.integrals[request] = tile_lookup_over_model(&lookup, work.integrals[request],
                                                         openness_model(hidden / OPENNESS_RAYS));
    }
}

} // namespace

extern "C" kd_status photon_maps_cuda_measure(const photon_maps_cuda *maps,
                                              const photon_gather_cuda *gather, float *integrals) {
    if (gather->count == 0) return KD_OK;
    measure_work work;
    memset(&work, 0, sizeof work);
    work.tiles = maps->tiles;
    work.requests = gather->requests;
    work.count = gather->count;
    work.packets = gather->packet_count ? gather->packets : NULL;
    work.per_packet = 32;
    while (work.per_packet > 1 && gather->count / work.per_packet < PACKETS_MIN)
        work.per_packet /= 2;
    work.packet_count = gather->packet_count
                            ? gather->packet_count
                            : (gather->count + work.per_packet - 1) / work.per_packet;
    work.order = gather->packet_count ? NULL : gather->order;
    work.sums = gather->sums;
    work.radii = gather->radii;
    work.kernel = maps->kernel;
    work.integrals = integrals;
    work.left = gather->alone;
    work.modelled = gather->alone + 1;
    work.list = gather->alone + 2;
    KD_CUDA(cudaMemsetAsync(gather->alone, 0, 2 * sizeof(uint32_t)));
    intersect_all<<<(work.packet_count + WARPS - 1) / WARPS, 32 * WARPS>>>(work);
    KD_CUDA_LAUNCHED("intersect_all");
    again<<<AGAIN_BLOCKS, AGAIN_BLOCK>>>(work);
    KD_CUDA_LAUNCHED("again");
    lookup_model<<<AGAIN_BLOCKS, AGAIN_BLOCK>>>(work);
    KD_CUDA_LAUNCHED("lookup_model");
    return KD_OK;
}
