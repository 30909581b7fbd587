/* Precomputed irradiance of the photons nearest to many points (photon_precomputed_irradiance), on
   a CUDA device.
   Idea: one thread per point searches for its nearest photon, descending into the nearer child
         first; the other child waits on a stack with its distance along each axis, so that each
         node is read once. Nodes are in the order of the index, in which those of a subtree's last
         levels are contiguous. For nearly all points that photon lies on the same surface; for the
         others, one warp each examines the ESTIMATE_PRECOMPUTED_K nearest photons.
   Work: some thirty nodes of 16 bytes per point.
   Memory: 512 bytes of local memory per thread.
   Invariants: a distance along axes is rounded in the order of pointtree_dist2, so it never exceeds
               that of a photon beyond: the results are those of the tree traversal, by (dist2, id).
   Data flow: nearest_precomputed, one thread per point, reads places, sides, index and irradiance, and
              writes the point's irradiance if that reaches, or its index to `more`;
   refine_precomputed, one warp per index, writes the irradiance of these. */
#include "core/device/wave_parts.cuh"
#include "photon/density/warp_per_surface.cuh"
#include "photon/maps/map_index.cuh"
#include "photon/maps/maps_device.h"

namespace {
using namespace photon_gathering_cuda;

constexpr int BLOCK = 128, BLOCKS = 12, STACK = 32;

struct irradiance_lookup_work {
    gather_work lookup; /* index, k, radius */
    kandela::layout tree;
    const float4 *irradiance; /* irradiance_record each, in tree order */
    const scene_view *scene;
    float4 *places;
    const float4 *sides;
    const uint32_t *count;
    uint32_t *more, *more_count;
};

__device__ __forceinline__ estimate_point point_of_place(const float4 &place, const float4 &side) {
    const bool front = __float_as_uint(side.w) & 1;
    estimate_point point;
    point.position = xyz(place);
    point.normal = front ? xyz(side) : vec3_negate(xyz(side));
    point.triangle = __float_as_uint(place.w);
    point.occluders = NULL;
    point.horizon = NULL;
    return point;
}

/* Writes the result if the photon's record reaches the place. */
__device__ __forceinline__ void answer(const irradiance_lookup_work &work, uint32_t which,
                                       uint32_t node, float dist2, const photon &landed,
                                       const estimate_point &point) {
    const float4 record = __ldg(work.irradiance + node);
    if (irradiance_applies(record.w, dist2, &landed, &point, work.scene))
        work.places[which] = make_float4(record.x, record.y, record.z, __uint_as_float(KD_NONE));
}

__device__ __forceinline__ uint32_t place_of_node(const irradiance_lookup_work &work,
                                                  uint32_t node) {
    const uint32_t level = pointtree_level_of(node);
    const kandela::segment segment =
        kandela::node_segment(work.tree, level, node - pointtree_level_begin(level));
    return segment.begin + segment.left;
}

struct nearest_photon {
    float dist2;
    uint32_t id, node, place;
};

/* As pointtree_nearest_k for one photon. */
__device__ __forceinline__ nearest_photon find_closest(const irradiance_lookup_work &work, vec3 q) {
    float4 stack[STACK]; /* distances along the axes; node */
    uint32_t waiting = 0, node = 0;
    const uint32_t count = work.tree.count;
    vec3 offset = vec3_all(0);
    nearest_photon best = {pointtree_bound2(work.lookup.radius), KD_NONE, KD_NONE, 0};
    for (;;) {
        const uint32_t place = place_of_node(work, node);
        const vec3 p = xyz(__ldg(work.lookup.index.points + place));
        const float dist2 = pointtree_dist2(q, p);
        if (dist2 <= best.dist2) {
            const uint32_t id = __ldg(work.lookup.index.ids + place);
            if (dist2 < best.dist2 || id < best.id) best = {dist2, id, node, place};
        }
        const uint32_t axis = pointtree_level_of(node) % 3;
        const float distance = axis == 0 ? q.x - p.x : axis == 1 ? q.y - p.y : q.z - p.z;
        const uint32_t side = distance > 0, near = 2 * node + 1 + side, far = 2 * node + 2 - side;
        vec3 beyond = offset;
        if (axis == 0) beyond.x = distance;
        if (axis == 1) beyond.y = distance;
        if (axis == 2) beyond.z = distance;
        if (far < count && vec3_dot(beyond, beyond) <= best.dist2)
            stack[waiting++] = make_float4(beyond.x, beyond.y, beyond.z, __uint_as_float(far));
        node = near;
        if (near < count) continue;
        do {
            if (waiting == 0) return best;
            const float4 next = stack[--waiting];
            offset = xyz(next);
            node = __float_as_uint(next.w);
        } while (!(vec3_dot(offset, offset) <= best.dist2));
    }
}

__global__ __launch_bounds__(BLOCK, BLOCKS) void nearest_precomputed(
    const __grid_constant__ irradiance_lookup_work work) {
    const uint32_t count = *work.count;
    for (uint32_t i = spread_first(count); i < count; i += gridDim.x * BLOCK) {
        const estimate_point point = point_of_place(work.places[i], work.sides[i]);
        const nearest_photon best = find_closest(work, point.position);
        bool usable = best.node != KD_NONE;
        photon landed;
        if (usable) {
            landed = photon_of_records(work.lookup.index.records, best.place);
            usable = estimate_knows(&landed, &point, sqrtf(best.dist2));
        }
        if (usable)
            answer(work, i, best.node, best.dist2, landed, point);
        else
            work.more[take_place(work.more_count)] = i;
    }
}

__global__ __launch_bounds__(32 * WARPS) void refine_precomputed(
    const __grid_constant__ irradiance_lookup_work work) {
    __shared__ nearest_scratch<2> scratch[WARPS];
    const uint32_t warp = threadIdx.x / 32, count = *work.more_count;
    for (uint32_t i = blockIdx.x * WARPS + warp; i < count; i += gridDim.x * WARPS) {
        const uint32_t which = work.more[i];
        const estimate_point point = point_of_place(work.places[which], work.sides[which]);
        const nearest_places<2> best = find_nearest(work.lookup, scratch[warp], point.position);
        uint32_t dist2 = KD_NONE, place = 0, id = KD_NONE;
        if (lane_id() < best.count) {
            place = best.place[lane_id()];
            const photon landed = photon_of_records(work.lookup.index.records, place);
            const uint32_t bits = best.dist2[lane_id()];
            if (estimate_knows(&landed, &point, sqrtf(__uint_as_float(bits)))) dist2 = bits;
        }
        const uint32_t minimum = __reduce_min_sync(ALL, dist2);
        if (minimum != KD_NONE && dist2 == minimum) id = work.lookup.index.ids[place];
        const uint32_t first = __reduce_min_sync(ALL, id);
        if (first != KD_NONE && id == first)
            answer(work, which, gather_index::node_of_place(work.tree, place),
                   __uint_as_float(minimum), photon_of_records(work.lookup.index.records, place),
                   point);
        __syncwarp();
    }
}

} // namespace

extern "C" kd_status photon_maps_cuda_irradiance_lookup(const photon_maps_cuda *maps,
                                                        const photon_irradiance_cuda *lookup) {
    const photon_map_cuda *map = &maps->map[PHOTON_LIST_GLOBAL];
    irradiance_lookup_work work;
    unsigned blocks = 0;
    memset(&work, 0, sizeof work);
    work.lookup.index = map_index_of(map);
    work.lookup.k = ESTIMATE_PRECOMPUTED_K;
    work.lookup.radius = map->radius;
    work.tree = kandela::layout_of((uint32_t)map->list.count);
    work.scene = maps->tiles.scene;
    work.irradiance = (const float4 *)map->irradiance.memory;
    work.places = (float4 *)lookup->places;
    work.sides = (const float4 *)lookup->sides;
    work.count = lookup->count;
    work.more = lookup->more;
    work.more_count = lookup->more_count;
    KD_TRY(cuda_resident_blocks(&blocks, nearest_precomputed, BLOCK));
    nearest_precomputed<<<blocks, BLOCK>>>(work);
    KD_CUDA_LAUNCHED("nearest_precomputed");
    KD_TRY(cuda_resident_blocks(&blocks, refine_precomputed, 32 * WARPS));
    refine_precomputed<<<blocks, 32 * WARPS>>>(work);
    KD_CUDA_LAUNCHED("refine_precomputed");
    return KD_OK;
}
