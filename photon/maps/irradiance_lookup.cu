/* Precomputed irradiance of the photons nearest to many points (photon_precomputed_irradiance), on
   a CUDA device.
   Idea: one thread per point searches for its nearest photon, descending into the nearer child
         first; the other child waits on a stack with its distance along each axis, so that each
         node is read once. Nodes are in the order of the index, in which those of a subtree's last
         levels are contiguous. Gather rays end all over the scene, so the points are first sorted
         by cells along a Morton curve: the lanes of a warp then visit the same nodes. For nearly
         all points the nearest photon lies on the same surface; for the others, one warp each
         examines the ESTIMATE_PRECOMPUTED_K nearest photons.
   Work: a sort by 16 bits, and some thirty nodes of 16 bytes per point.
   Memory: 512 bytes of local memory per thread; for the sort, 24 bytes per point of the caller's.
   Invariants: a distance along axes is rounded in the order of pointtree_dist2, so it never exceeds
               that of a photon beyond: the results are those of the tree traversal, by (dist2, id).
   Data flow: code_places, one thread per point, reads places and writes cells and numbers, which a
              sort turns into `order`;
   nearest_precomputed, one thread per point, reads order, places, sides, index and irradiance, and
   writes the point's irradiance if that reaches, or its index to `more`;
   refine_precomputed, one warp per index, writes the irradiance of these. */
#include "core/device/device_sort.cuh"
#include "core/device/wave_parts.cuh"
#include "photon/density/warp_per_surface.cuh"
#include "photon/maps/irradiance_lookup.h"
#include "photon/maps/map_index.cuh"

namespace {
using namespace photon_gathering_cuda;

constexpr int BLOCK = 128, BLOCKS = 12, STACK = 32;
constexpr uint32_t AXIS_BITS = 6, CODE_BITS = 16;

struct irradiance_lookup_work {
    gather_work lookup; /* index, k, radius */
    kandela::layout tree;
    const float4 *irradiance; /* irradiance_record each, in tree order */
    const scene_view *scene;
    float4 *places;
    const float4 *sides;
    const uint32_t *count;
    uint32_t *more, *more_count;
    const uint32_t *order; /* of the points; NULL: as they are */
};

/* Sorting of the points by cells of the scene's box. */
struct place_sorting {
    const float4 *places;
    uint32_t count;
    vec3 lo;
    float scale; /* cells per unit of length */
    uint32_t *codes, *codes_sorted, *numbers, *order;
    void *cub;
    size_t cub_bytes;
};

/* Spreads the bits of a cell coordinate, with two zeros after each. */
__device__ __forceinline__ uint32_t spread_bits(uint32_t cell) {
    uint32_t x = cell;
    x = (x | x << 8) & 0x300fu;
    x = (x | x << 4) & 0x30c3u;
    return (x | x << 2) & 0x9249u;
}

__device__ __forceinline__ uint32_t cell_of(float x, float lo, float scale) {
    const float at = (x - lo) * scale, maximum = (float)((1u << AXIS_BITS) - 1);
    return at > 0 ? (uint32_t)fminf(at, maximum) : 0;
}

__global__ __launch_bounds__(BLOCK) void code_places(const __grid_constant__ place_sorting sort) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= sort.count) return;
    const vec3 p = xyz(sort.places[i]);
    const uint32_t code = spread_bits(cell_of(p.x, sort.lo.x, sort.scale)) << 2 |
                          spread_bits(cell_of(p.y, sort.lo.y, sort.scale)) << 1 |
                          spread_bits(cell_of(p.z, sort.lo.z, sort.scale));
    sort.codes[i] = code >> (3 * AXIS_BITS - CODE_BITS);
    sort.numbers[i] = i;
}

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
    for (uint32_t at = spread_first(count); at < count; at += gridDim.x * BLOCK) {
        const uint32_t i = work.order ? work.order[at] : at;
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

void lay_out_sorting(place_sorting *out, cuda_arena *arena) {
    out->codes = (uint32_t *)cuda_arena_take(arena, out->count, sizeof(uint32_t));
    out->codes_sorted = (uint32_t *)cuda_arena_take(arena, out->count, sizeof(uint32_t));
    out->numbers = (uint32_t *)cuda_arena_take(arena, out->count, sizeof(uint32_t));
    out->order = (uint32_t *)cuda_arena_take(arena, out->count, sizeof(uint32_t));
    out->cub = cuda_arena_take(arena, out->cub_bytes, 1);
}

kd_status sort_codes(place_sorting *sort) {
    return device_sort_pairs(sort->cub, &sort->cub_bytes, sort->codes, sort->codes_sorted,
                             sort->numbers, sort->order, sort->count, (int)CODE_BITS, 0);
}

/* Sets *order to the order of the points, or leaves it NULL if the scratch memory is too small. */
kd_status sort_places(const uint32_t **order, const photon_irradiance_cuda *lookup,
                      const photon_irradiance_sorting *sorting) {
    const vec3 size = box3_size(sorting->box);
    const float side = fmaxf(size.x, fmaxf(size.y, size.z));
    place_sorting sort;
    cuda_arena arena = {NULL, 0};
    if (sorting->count == 0 || !(side > 0)) return KD_OK;
    memset(&sort, 0, sizeof sort);
    sort.places = (const float4 *)lookup->places;
    sort.count = sorting->count;
    sort.lo = sorting->box.lo;
    sort.scale = (float)(1u << AXIS_BITS) / side;
    KD_TRY(sort_codes(&sort));
    lay_out_sorting(&sort, &arena);
    if (arena.used > sorting->scratch_bytes) return KD_OK;
    arena = {(char *)sorting->scratch, 0};
    lay_out_sorting(&sort, &arena);
    code_places<<<cuda_blocks(sort.count, BLOCK), BLOCK>>>(sort);
    KD_CUDA_LAUNCHED("code_places");
    *order = sort.order;
    return sort_codes(&sort);
}

kd_status look_up(const photon_maps_cuda *maps, const photon_irradiance_cuda *lookup,
                  const uint32_t *order) {
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
    work.order = order;
    KD_TRY(cuda_resident_blocks(&blocks, nearest_precomputed, BLOCK));
    nearest_precomputed<<<blocks, BLOCK>>>(work);
    KD_CUDA_LAUNCHED("nearest_precomputed");
    KD_TRY(cuda_resident_blocks(&blocks, refine_precomputed, 32 * WARPS));
    refine_precomputed<<<blocks, 32 * WARPS>>>(work);
    KD_CUDA_LAUNCHED("refine_precomputed");
    return KD_OK;
}

} // namespace

extern "C" kd_status photon_maps_cuda_irradiance_lookup(const photon_maps_cuda *maps,
                                                        const photon_irradiance_cuda *lookup) {
    return look_up(maps, lookup, NULL);
}

extern "C" kd_status photon_irradiance_look_up_sorted(const photon_maps_cuda *maps,
                                                      const photon_irradiance_cuda *lookup,
                                                      const photon_irradiance_sorting *sorting) {
    const uint32_t *order = NULL;
    KD_TRY(sort_places(&order, lookup, sorting));
    return look_up(maps, lookup, order);
}
