/* Precomputed irradiance of the photons nearest to many points (photon_precomputed_irradiance), on
   a CUDA device.
   Idea: a warp searches for the nearest photons of 32 points, one per lane. The points are ordered
         by their places (place_order.cu), so they are close together: the warp searches once, in a
         ball around the point in their middle that contains the balls of all of them, which shrink
         as photons are found. For nearly all points the nearest photon lies on the same surface;
         for the others, one warp each examines the ESTIMATE_PRECOMPUTED_K nearest photons. Near
         walls a ray tells whether the photon is visible; rays wait until there is one for each
         lane.
   Work: the leaves in the ball, and for each photon in it a distance per lane.
   Invariants: (dist2, id) decides, so the results are those of the tree traversal.
   Data flow: nearest_precomputed, one warp per 32 points, reads order, places, sides, index and
              irradiance, and writes the point's irradiance if that reaches, or its index to `more`;
              refine_precomputed, one warp per index, writes the irradiance of these. */
#include "core/device/wave_parts.cuh"
#include "photon/maps/map_index.cuh"
#include "photon/maps/surface_groups.cuh"

namespace {
using namespace photon_gathering_cuda;

constexpr int BLOCKS = 10;
/* Points within this many radii of the map are searched together, if there are so many. */
constexpr float CLOSE = 0.5f;
constexpr int CLOSE_MIN = 3;

struct irradiance_lookup_work {
    gather_work lookup;       /* index, k, radius */
    const float4 *irradiance; /* irradiance_record each, in the order of the index */
    const scene_view *scene;
    float4 *places;
    const float4 *sides;
    const uint32_t *count;
    uint32_t *more, *more_count;
    const uint32_t *order; /* of the points */
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

__device__ __forceinline__ void store_irradiance(const irradiance_lookup_work &work, uint32_t which,
                                                 const float4 &record) {
    work.places[which] = make_float4(record.x, record.y, record.z, __uint_as_float(KD_NONE));
}

/* --- one warp for 32 points ------------------------------------------------------------------- */

/* Points and their photons that wait for a ray. */
struct waiting_rays {
    uint32_t which[64], photon[64];
};

struct packet_scratch {
    descent path;
    waiting_rays rays;
};

struct nearest_photon {
    uint32_t dist2, id, place; /* dist2: bits */
};

/* Finds the nearest photons of the lanes in a group. */
__device__ __forceinline__ void find_closest(const irradiance_lookup_work &work, descent &path,
                                             const together &group, vec3 q, nearest_photon *best) {
    const auto bound = [&] {
        const uint32_t largest = __reduce_max_sync(ALL, group.joins ? best->dist2 : 0);
        const float ball = sqrtf(__uint_as_float(largest)) + group.spread;
        return __float_as_uint(pointtree_bound2(ball * SLACK));
    };
    gather_index::visit(
        work.lookup.index, path, group.centre, bound, [&](uint32_t bits, uint32_t place) {
            const uint32_t leaf = place - lane_id();
            for (unsigned left = __ballot_sync(ALL, bits <= bound()); left; left &= left - 1) {
                const uint32_t at = leaf + first_lane(left);
                const float4 point = __ldg(work.lookup.index.points + at);
                const uint32_t dist2 = __float_as_uint(pointtree_dist2(q, xyz(point)));
                const uint32_t id = __float_as_uint(point.w);
                if (dist2 < best->dist2 || (dist2 == best->dist2 && id < best->id))
                    *best = {dist2, id, at};
            }
        });
}

/* Casts the last `count` rays that wait, one per lane. */
__device__ __noinline__ void cast_waiting(const irradiance_lookup_work &work, waiting_rays &rays,
                                          uint32_t from, uint32_t count) {
    if (lane_id() < count) {
        const uint32_t which = rays.which[from + lane_id()], place = rays.photon[from + lane_id()];
        const estimate_point point = point_of_place(work.places[which], work.sides[which]);
        const photon landed = photon_of_records(work.lookup.index.records, place);
        if (!visibility_hides(work.scene, NULL, point.position, point.normal, landed.position,
                              landed.normal))
            store_irradiance(work, which, __ldg(work.irradiance + place));
    }
    __syncwarp();
}

/* Answers the points that their nearest photon answers without a ray. Returns true if this lane's
   point needs a ray. */
__device__ __forceinline__ bool answer(const irradiance_lookup_work &work, uint32_t which,
                                       const nearest_photon &best) {
    bool usable = best.id != KD_NONE;
    if (usable) {
        const photon landed = photon_of_records(work.lookup.index.records, best.place);
        const estimate_point point = point_of_place(work.places[which], work.sides[which]);
        usable = estimate_knows(&landed, &point, sqrtf(__uint_as_float(best.dist2)));
    }
    if (!usable) {
        work.more[take_place(work.more_count)] = which;
        return false;
    }
    const float4 record = __ldg(work.irradiance + best.place);
    if (!(__uint_as_float(best.dist2) < fabsf(record.w))) return false;
    if (!(record.w > 0) && work.scene) return true;
    store_irradiance(work, which, record);
    return false;
}

__global__ __launch_bounds__(32 * WARPS, BLOCKS) void nearest_precomputed(
    const __grid_constant__ irradiance_lookup_work work) {
    __shared__ packet_scratch scratch[WARPS];
    const uint32_t warp = threadIdx.x / 32, count = *work.count;
    packet_scratch &mine = scratch[warp];
    uint32_t waiting = 0;
    for (uint32_t first = 32 * (blockIdx.x * WARPS + warp); first < count;
         first += 32 * WARPS * gridDim.x) {
        const bool is = first + lane_id() < count;
        const uint32_t which = work.order[is ? first + lane_id() : first];
        const vec3 q = xyz(work.places[which]);
        nearest_photon best = {__float_as_uint(pointtree_bound2(work.lookup.radius)), KD_NONE, 0};
        unsigned left = __ballot_sync(ALL, is);
        while (left) {
            const together group = join(left, middle_lane(left, q), q, CLOSE * work.lookup.radius);
            left &= ~group.members;
            if (__popc(group.members) < CLOSE_MIN) continue; /* a warp each finds these */
            nearest_photon found = best;
            find_closest(work, mine.path, group, q, &found);
            if (group.joins) best = found;
        }
        const bool unclear = is && answer(work, which, best);
        __syncwarp();
        const unsigned lanes = __ballot_sync(ALL, unclear);
        const uint32_t to = waiting + __popc(lanes & ((1u << lane_id()) - 1));
        if (unclear) mine.rays.which[to] = which, mine.rays.photon[to] = best.place;
        waiting += __popc(lanes);
        __syncwarp();
        if (waiting < 32) continue;
        waiting -= 32;
        cast_waiting(work, mine.rays, waiting, 32);
    }
    cast_waiting(work, mine.rays, 0, waiting);
}

/* --- one warp per point ----------------------------------------------------------------------- */

/* `all`: of all points; otherwise of those listed in `more`. */
template <bool all>
__global__ __launch_bounds__(32 * WARPS) void refine_precomputed(
    const __grid_constant__ irradiance_lookup_work work) {
    __shared__ nearest_scratch<2> scratch[WARPS];
    const uint32_t warp = threadIdx.x / 32, count = all ? *work.count : *work.more_count;
    for (uint32_t i = blockIdx.x * WARPS + warp; i < count; i += gridDim.x * WARPS) {
        const uint32_t which = all ? i : work.more[i];
        const estimate_point point = point_of_place(work.places[which], work.sides[which]);
        const nearest_places<2> best = find_nearest(work.lookup, scratch[warp], point.position);
        uint32_t dist2 = KD_NONE, place = 0, id = KD_NONE;
        photon landed;
        if (lane_id() < best.count) {
            place = best.place[lane_id()];
            landed = photon_of_records(work.lookup.index.records, place);
            const uint32_t bits = best.dist2[lane_id()];
            if (estimate_knows(&landed, &point, sqrtf(__uint_as_float(bits)))) dist2 = bits;
        }
        const uint32_t minimum = __reduce_min_sync(ALL, dist2);
        if (minimum != KD_NONE && dist2 == minimum) id = work.lookup.index.ids[place];
        const uint32_t first = __reduce_min_sync(ALL, id);
        if (first != KD_NONE && id == first) {
            const float4 record = __ldg(work.irradiance + place);
            if (irradiance_applies(record.w, __uint_as_float(minimum), &landed, &point, work.scene))
                store_irradiance(work, which, record);
        }
        __syncwarp();
    }
}

template <bool all> kd_status refine(const irradiance_lookup_work *work) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, refine_precomputed<all>, 32 * WARPS));
    refine_precomputed<all><<<blocks, 32 * WARPS>>>(*work);
    KD_CUDA_LAUNCHED("refine_precomputed");
    return KD_OK;
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
    work.scene = maps->tiles.scene;
    work.irradiance = (const float4 *)map->irradiance.memory + map->list.count;
    work.places = (float4 *)lookup->places;
    work.sides = (const float4 *)lookup->sides;
    work.count = lookup->count;
    work.more = lookup->more;
    work.more_count = lookup->more_count;
    work.order = lookup->order;
    if (!work.order) return refine<true>(&work);
    KD_TRY(cuda_resident_blocks(&blocks, nearest_precomputed, 32 * WARPS));
    nearest_precomputed<<<blocks, 32 * WARPS>>>(work);
    KD_CUDA_LAUNCHED("nearest_precomputed");
    return refine<false>(&work);
}
