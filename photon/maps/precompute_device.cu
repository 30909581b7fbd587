/* Irradiance at every photon on a CUDA device, so that a final gather ray only needs the nearest
   photon.
   Source: Christensen 1999, "Faster photon map global illumination", Journal of Graphics Tools
           4(3); the estimate is in photon/density/estimate_radius.h.
   Idea: one warp per photon and map finds the photons of the estimate, as for surfaces
         (warp_per_surface.cuh), but sums their power without a BSDF, and the photon's own power
         with its weight. Adaptive estimates are made by one thread each, and so are all estimates
         with --lookup walk, which serve as the reference of the others.
   Work: two lookups by a warp per photon, and their integrals.
   Memory: 336 bytes for each photon of a part, which has at most PRECOMPUTE_CHUNK photons.
   Invariants: the bits of the CPU: sums are integers.
   Data flow: for each part: take_places, one thread per photon, writes requests; know_nearest or
              know_within, one warp per request, once per map, read the index and write sums,
              radii and counts; tile_lookups.cu writes integrals; know, one thread per photon,
   writes the irradiance. */
#include "core/device/cuda.h"
#include "photon/density/estimate_radius.h"
#include "photon/density/warp_per_surface.cuh"
#include "photon/maps/map_index.cuh"

namespace {
using namespace photon_gathering_cuda;

constexpr int BLOCK = 128;
constexpr uint32_t PRECOMPUTE_CHUNK = 1u << 16;

/* --- one thread per photon -------------------------------------------------------------------- */

__global__ __launch_bounds__(BLOCK) void precompute(const __grid_constant__ photon_map_view map,
                                                    const __grid_constant__ photon_map_view caustic,
                                                    const __grid_constant__ tile_view tiles,
                                                    const uint32_t first, const uint32_t end,
                                                    irradiance_record *irradiance) {
    const uint32_t node = first + blockIdx.x * BLOCK + threadIdx.x;
    if (node < end) irradiance[node] = photon_irradiance_at(&map, &caustic, &tiles, node);
}

/* --- one warp per photon ---------------------------------------------------------------------- */

/* A part of the photons, from index `first` on. */
struct precompute_part {
    photon_map_view global, caustic;
    uint32_t first, count;
    eye_request *requests;
    uint32_t *alone;
    flux_sum *sums[2]; /* global, caustic */
    float *radii[2], *integrals[2];
    uint32_t *accepted; /* number of photons in the estimates of the global map */
    irradiance_record *irradiance;
};

/* Sets the members of a request that estimates read. */
__global__ __launch_bounds__(BLOCK) void take_places(const __grid_constant__ precompute_part part) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= part.count) return;
    const estimate_point point = photon_place(part.global.photons + part.first + i);
    surface *at = &part.requests[i].at;
    at->position = point.position;
    at->geometric = point.normal; /* normal of the side that the photon hit, treated as the front */
    at->front = true;
    at->triangle = point.triangle;
}

/* Sum of the photons around a point, a share per lane. */
struct landing {
    estimate_point point;
    flux_sum sum;
    uint32_t accepted;

    __device__ __forceinline__ void add(const gather_work &work, uint32_t place, float s2) {
        const photon landed = photon_of_records(work.index.records, place);
        if (!estimate_accepts(&landed, &point)) return;
        ++accepted;
        flux_sum_add(&sum, photon_kernel_at(work.kernel, s2), landed.power, work.scale);
    }
    /* Adds the photon's own power if the point is a photon. */
    __device__ __forceinline__ void add_self(const gather_work &work, const photon *photon,
                                             uint32_t inside) {
        if (photon && lane_id() == 0)
            flux_sum_add(&sum, photon_self_weight(work.kernel, inside), photon->power, work.scale);
    }
    /* Stores the estimate and, if `counts` is not NULL, the number of photons. */
    __device__ __forceinline__ void store(const gather_work &work, uint32_t which, float radius,
                                          uint32_t *counts) const {
        const uint32_t all = __reduce_add_sync(ALL, accepted);
        store_estimate(work, which, sum, radius);
        if (counts && lane_id() == 0) counts[which] = all;
    }
};

/* Drops the photon itself; returns how many photons are left. */
template <int PARTS>
__device__ __forceinline__ uint32_t drop_self(const nearest_places<PARTS> &best, uint32_t id) {
    bool found = false;
    for (uint32_t at = lane_id(); at < best.count; at += 32) {
        const bool is_self = best.ids[best.place[at]] == id;
        if (is_self) best.dist2[at] = KD_NONE;
        found = found || is_self;
    }
    __syncwarp();
    return best.count - (uint32_t)__popc(__ballot_sync(ALL, found));
}

/* `photon`: the points are these photons, whose estimates are counted in `counts`; NULL: they
   belong to another map. */
template <int PARTS>
__global__ __launch_bounds__(32 * WARPS) void know_nearest(const __grid_constant__ gather_work work,
                                                           const photon *photon,
                                                           const uint32_t *self_ids,
                                                           uint32_t *counts) {
    __shared__ nearest_scratch<PARTS> value_scratch[WARPS];
    const uint32_t warp = threadIdx.x / 32, which = blockIdx.x * WARPS + warp;
    if (which >= work.count) return; /* uniform in the warp */
    landing weigh = {estimate_point_of(&work.requests[which].at), flux_sum_none(), 0};
    const nearest_places<PARTS> best =
        find_nearest(work, value_scratch[warp], weigh.point.position);
    uint32_t kept = photon ? drop_self(best, self_ids[which]) : best.count;
    float radius = work.radius;
    if (best.count == work.k && kept) {
        radius = sqrtf(__uint_as_float(best.drop_last()));
        --kept;
    }
    if (kept == 0 || !(radius > 0)) {
        store_estimate(work, which, flux_sum_none(), 0);
        return;
    }
    const float per_radius2 = 1 / (radius * radius);
    for (uint32_t at = lane_id(); at < best.count; at += 32)
        if (best.dist2[at] != KD_NONE)
            weigh.add(work, best.place[at], __uint_as_float(best.dist2[at]) * per_radius2);
    weigh.add_self(work, photon ? photon + which : NULL, kept);
    __syncwarp();
    weigh.store(work, which, radius, counts);
}

/* Uses all photons within the radius. */
__global__ __launch_bounds__(32 * WARPS) void know_within(const __grid_constant__ gather_work work,
                                                          const photon *photon,
                                                          const uint32_t *self_ids,
                                                          uint32_t *counts) {
    __shared__ descent paths[WARPS];
    const uint32_t warp = threadIdx.x / 32, which = blockIdx.x * WARPS + warp;
    if (which >= work.count) return; /* uniform in the warp */
    landing weigh = {estimate_point_of(&work.requests[which].at), flux_sum_none(), 0};
    const uint32_t id = photon ? self_ids[which] : 0;
    const float bound2 = pointtree_bound2(work.radius), per_bound2 = 1 / bound2;
    const uint32_t bound = __float_as_uint(bound2);
    uint32_t inside = 0;
    gather_index::visit(
        work.index, paths[warp], weigh.point.position, [&] { return bound; },
        [&](uint32_t bits, uint32_t place) {
            if (bits > bound || (photon && work.index.ids[place] == id)) return;
            ++inside;
            weigh.add(work, place, __uint_as_float(bits) * per_bound2);
        });
    __syncwarp();
    inside = __reduce_add_sync(ALL, inside);
    weigh.add_self(work, photon ? photon + which : NULL, inside);
    __syncwarp();
    weigh.store(work, which, work.radius, counts);
}

/* Irradiance from one of the maps, W/m^2. */
__device__ __forceinline__ vec3 precomputed_by(const precompute_part &part,
                                               const photon_map_view &map, int which, uint32_t i) {
    const flux_sum sum = part.sums[which][i];
    const float radius = part.radii[which][i];
    if (!(radius > 0) || flux_sum_is_zero(&sum)) return vec3_all(0);
    const float integral = part.integrals[which][i];
    const float square = map.gather ? integral * radius * radius : integral * (radius * radius);
    return flux_sum_scaled(&sum, map.scale, 1 / square);
}

__global__ __launch_bounds__(BLOCK) void know(const __grid_constant__ precompute_part part) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= part.count) return;
    const vec3 irradiance =
        vec3_add(precomputed_by(part, part.global, 0, i), precomputed_by(part, part.caustic, 1, i));
    const float reach2 = irradiance_reach2(part.radii[0][i], part.accepted[i], part.global.radius);
    ((float4 *)part.irradiance)[part.first + i] =
        make_float4(irradiance.x, irradiance.y, irradiance.z, reach2);
}

/* Where walls may hide photons: repeats the estimate, or marks the record. */
__global__ __launch_bounds__(BLOCK) void precompute_divided(
    const __grid_constant__ photon_map_view map, const __grid_constant__ photon_map_view caustic,
    const __grid_constant__ tile_view tiles, const uint32_t first, const uint32_t end,
    irradiance_record *irradiance) {
    const uint32_t node = first + blockIdx.x * BLOCK + threadIdx.x;
    if (node >= end) return;
    const estimate_point at = photon_place(&map.photons[node]);
    if (tile_place_flags(&tiles, at.position, at.normal, at.triangle, tiles.span) &
        (TILE_DIVIDED | TILE_HIDDEN))
        irradiance[node] = photon_irradiance_at(&map, &caustic, &tiles, node);
}

/* Copies records from the order of the tree to that of the index. `nodes`: of each photon of the
   list. */
__global__ __launch_bounds__(BLOCK) void list_nodes(const uint32_t *tree_ids, uint32_t count,
                                                    uint32_t *nodes) {
    const uint32_t node = blockIdx.x * BLOCK + threadIdx.x;
    if (node < count) nodes[tree_ids[node]] = node;
}
__global__ __launch_bounds__(BLOCK) void order_records(const uint32_t *ids, uint32_t count,
                                                       const uint32_t *nodes, const float4 *from,
                                                       float4 *to) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) to[i] = from[nodes[ids[i]]];
}

/* --- host code -------------------------------------------------------------------------------- */

void lay_out_part(precompute_part *part, cuda_arena *arena, uint32_t count) {
    part->requests = (eye_request *)cuda_arena_take(arena, count, sizeof(eye_request));
    part->alone = (uint32_t *)cuda_arena_take(arena, count + 2ull, sizeof(uint32_t));
    part->accepted = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
    for (int m = 0; m < 2; ++m) {
        part->sums[m] = (flux_sum *)cuda_arena_take(arena, count, sizeof(flux_sum));
        part->radii[m] = (float *)cuda_arena_take(arena, count, sizeof(float));
        part->integrals[m] = (float *)cuda_arena_take(arena, count, sizeof(float));
    }
}

/* Performs the lookups of one map at all points of the part. */
kd_status lookup(const photon_maps_cuda *maps, const precompute_part *part, int which) {
    const photon_map_cuda *map = &maps->map[which];
    const photon_map_view *view = which == PHOTON_LIST_GLOBAL ? &part->global : &part->caustic;
    gather_work work;
    memset(&work, 0, sizeof work);
    work.requests = part->requests;
    work.count = part->count;
    work.sums = part->sums[which];
    work.radii = part->radii[which];
    if (map->list.count == 0 || !(pointtree_bound2(view->radius) > 0)) {
        KD_CUDA(cudaMemsetAsync(work.radii, 0, part->count * sizeof *work.radii));
        return KD_OK;
    }
    work.index = map_index_of(map);
    work.radius = view->radius;
    work.kernel = view->kernel;
    work.scale = view->scale;
    work.k = view->gather;
    const photon *record = NULL;
    const uint32_t *self_ids = NULL;
    uint32_t *counts = NULL;
    if (which == PHOTON_LIST_GLOBAL) {
        record = view->photons + part->first;
        self_ids = view->tree.ids + part->first;
        counts = part->accepted;
        if (work.k && work.k < ESTIMATE_GATHER_MAX) ++work.k;
    }
    void (*const kernel)(gather_work, const photon *, const uint32_t *, uint32_t *) =
        work.k == 0     ? know_within
        : work.k <= 72  ? know_nearest<4>
        : work.k <= 320 ? know_nearest<12>
                        : know_nearest<40>;
    kernel<<<cuda_blocks(part->count, WARPS), 32 * WARPS>>>(work, record, self_ids, counts);
    KD_CUDA_LAUNCHED("know_nearest");
    photon_gather_cuda gather;
    memset(&gather, 0, sizeof gather);
    gather.requests = part->requests;
    gather.count = part->count;
    gather.alone = part->alone;
    gather.sums = work.sums;
    gather.radii = work.radii;
    return photon_maps_cuda_measure(maps, &gather, part->integrals[which]);
}

kd_status know_part(const photon_maps_cuda *maps, const precompute_part *part) {
    take_places<<<cuda_blocks(part->count, BLOCK), BLOCK>>>(*part);
    KD_CUDA_LAUNCHED("take_places");
    KD_TRY(lookup(maps, part, PHOTON_LIST_GLOBAL));
    KD_TRY(lookup(maps, part, PHOTON_LIST_CAUSTIC));
    know<<<cuda_blocks(part->count, BLOCK), BLOCK>>>(*part);
    KD_CUDA_LAUNCHED("know");
    return KD_OK;
}

kd_status know_all(photon_maps_cuda *maps, precompute_part *part, uint64_t first, uint64_t end) {
    device_buffer *scratch = &maps->map[PHOTON_LIST_GLOBAL].scratch;
    const uint64_t maximum = end - first < PRECOMPUTE_CHUNK ? end - first : PRECOMPUTE_CHUNK;
    cuda_arena arena = {NULL, 0};
    lay_out_part(part, &arena, (uint32_t)maximum);
    KD_TRY(device_buffer_reserve(scratch, arena.used));
    arena.base = (char *)scratch->memory;
    arena.used = 0;
    lay_out_part(part, &arena, (uint32_t)maximum);
    for (uint64_t at = first; at < end; at += maximum) {
        part->first = (uint32_t)at;
        part->count = (uint32_t)(end - at < maximum ? end - at : maximum);
        KD_TRY(know_part(maps, part));
    }
    return KD_OK;
}

kd_status know_range(photon_maps_cuda *maps, uint64_t first, uint64_t end) {
    precompute_part part;
    memset(&part, 0, sizeof part);
    part.global = photon_maps_cuda_view(maps, PHOTON_LIST_GLOBAL);
    part.caustic = photon_maps_cuda_view(maps, PHOTON_LIST_CAUSTIC);
    part.irradiance = (irradiance_record *)maps->map[PHOTON_LIST_GLOBAL].irradiance.memory;
    if (!part.global.adaptive && !part.global.walks) {
        KD_TRY(know_all(maps, &part, first, end));
        if (maps->tiles.divided)
            precompute_divided<<<cuda_blocks(end - first, BLOCK), BLOCK>>>(
                part.global, part.caustic, maps->tiles, (uint32_t)first, (uint32_t)end,
                part.irradiance);
    } else
        precompute<<<cuda_blocks(end - first, BLOCK), BLOCK>>>(part.global, part.caustic,
                                                               maps->tiles, (uint32_t)first,
                                                               (uint32_t)end, part.irradiance);
    KD_CUDA_LAUNCHED("precompute");
    return device_wait();
}

/* Appends the records in the order of the index. */
kd_status order_irradiance(photon_map_cuda *map) {
    const uint32_t count = (uint32_t)map->list.count;
    float4 *records = (float4 *)map->irradiance.memory;
    KD_TRY(device_buffer_reserve(&map->scratch, count * sizeof(uint32_t)));
    uint32_t *nodes = (uint32_t *)map->scratch.memory;
    list_nodes<<<cuda_blocks(count, BLOCK), BLOCK>>>((const uint32_t *)map->ids.memory, count,
                                                     nodes);
    KD_CUDA_LAUNCHED("list_nodes");
    order_records<<<cuda_blocks(count, BLOCK), BLOCK>>>(map_index_of(map).ids, count, nodes,
                                                        records, records + count);
    KD_CUDA_LAUNCHED("order_records");
    return KD_OK;
}

} // namespace

extern "C" uint64_t photon_maps_cuda_precompute_bytes(uint64_t photons) {
    precompute_part part;
    cuda_arena arena = {NULL, 0};
    lay_out_part(&part, &arena,
                 (uint32_t)(photons < PRECOMPUTE_CHUNK ? photons : PRECOMPUTE_CHUNK));
    return arena.used;
}

extern "C" kd_status photon_maps_cuda_precompute(photon_maps_cuda *maps, job_control *job) {
    photon_map_cuda *map = &maps->map[PHOTON_LIST_GLOBAL];
    if (map->list.count == 0) return KD_OK;
    job_stage_begin(job, "photon_tree", (int64_t)map->list.count);
    kd_status status =
        device_buffer_reserve(&map->irradiance, 2 * map->list.count * sizeof(irradiance_record));
    uint64_t first, end;
    ranks_part(maps->comm, maps->comm ? maps->comm->rank : 0, map->list.count, &first, &end);
    if (status == KD_OK && end > first) status = know_range(maps, first, end);
    if (status == KD_OK && ranks_shared(maps->comm))
        status = photon_maps_cuda_irradiance(maps, job);
    if (status == KD_OK) status = order_irradiance(map);
    map->has_irradiance = status == KD_OK;
    job_stage_end(job);
    return status;
}
