/* Density estimates by one warp per surface over leaves of 32 photons.
   Source: the search is that of photon_leaves.cuh; the estimate is that of
           photon/density/estimate.h.
   Idea: positions of photons within reach are buffered in shared memory. With a fixed radius, they
         are evaluated in batches of 32, one per lane. For the k nearest, a full buffer is reduced
         to the k nearest by bisection on the bits of dist2; at the end, the k-th sets the radius
         and is dropped.
   Work: the search, and one BSDF evaluation per lane for every 32 photons.
   Invariants: sums are integers (flux_sum.h), so the order of lanes does not matter; (dist2, id)
               decides which photons count, so photons and bits are the same as on the CPU.
   Data flow: each warp reads requests (all, or those that packets have left) and the index; its
              first lane writes the flux sum and the radius of the request. The order of warps does
              not matter. */
#ifndef KD_PHOTON_DENSITY_WARP_PER_SURFACE_CUH
#define KD_PHOTON_DENSITY_WARP_PER_SURFACE_CUH
#include "photon/density/estimate.h"
#include "photon/density/estimate_radius.h"
#include "photon/density/photon_leaves.cuh"

namespace photon_gathering_cuda {
using gather_index::ALL;
using gather_index::descent;
using gather_index::lane_id;
using gather_index::xyz;

constexpr int WARPS = 4; /* per block */

/* Requests that packets leave to a warp each. */
struct alone_requests {
    uint32_t *list;
    uint32_t *count, *next; /* number of entries; next entry to process */
};

/* Arguments of the gathering kernels. */
struct gather_work {
    gather_index::index index;
    const eye_request *requests;
    uint32_t count;
    const eye_packet *packets; /* runs of requests */
    uint32_t packet_count;
    const uint32_t *order; /* of the `count` requests if there are no packets; NULL: as they are */
    alone_requests alone;
    flux_sum *sums;
    float *radii;
    uint32_t k;
    float radius;
    photon_kernel kernel;
    float scale;
};

__device__ __forceinline__ photon photon_of_records(const float4 *records, uint32_t place) {
    const float4 *from = records + 3 * (uint64_t)place;
    const float4 a = __ldg(from), b = __ldg(from + 1), c = __ldg(from + 2);
    photon made;
    made.position = xyz(a);
    made.power = xyz(b);
    made.direction = xyz(c);
    made.normal = vec3_make(a.w, b.w, c.w);
    return made;
}

__device__ __forceinline__ bool is_diffuse(const eye_request *request) {
    return request->at.kind == MATERIAL_DIFFUSE;
}

/* The surface of a request, and this lane's share of the scattered power. `diffuse`: the surface is
   diffuse, the most frequent case. Other surfaces are evaluated by functions that are not inlined,
   whose BSDFs take half of a kernel's registers and kilobytes of code. */
template <bool diffuse> struct weighing {
    const eye_request *requests;
    surface at; /* only the members that photon_scattered_evenly reads */
    vec3 wo;
    estimate_point point;
    flux_sum sum;

    __device__ __forceinline__ void begin(const gather_work &work, uint32_t which) {
        const eye_request *request = requests = work.requests + which;
        at.geometric = request->at.geometric;
        at.normal = request->at.normal;
        at.diffuse = request->at.diffuse;
        wo = request->wo;
        point = estimate_point_of(&request->at);
        sum = flux_sum_none();
    }

    __device__ __forceinline__ void add(const gather_work &work, uint32_t place, float s2) {
        const photon landed = photon_of_records(work.index.records, place);
        if (!estimate_accepts(&landed, &point)) return;
        const float kernel = photon_kernel_at(work.kernel, s2);
        const vec3 sent = diffuse ? photon_scattered_evenly(&at, wo, &landed)
                                  : photon_scattered(&requests->at, wo, &landed);
        flux_sum_add(&sum, kernel, sent, work.scale);
    }
};

__device__ __forceinline__ int64_t warp_sum(int64_t value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

__device__ __forceinline__ void store_estimate(const gather_work &work, uint32_t which,
                                               const flux_sum &lane_sum, float radius) {
    flux_sum sum;
    sum.x = warp_sum(lane_sum.x);
    sum.y = warp_sum(lane_sum.y);
    sum.z = warp_sum(lane_sum.z);
    if (lane_id()) return;
    work.sums[which] = sum;
    work.radii[which] = radius;
}

/* --- all within a radius --------------------------------------------------------------------- */

struct within_scratch {
    descent path;
    float dist2[64];
    uint32_t place[64];
};

/* Processes one request by the whole warp. */
template <bool diffuse>
__device__ __forceinline__ void within_of_one(const gather_work &work, within_scratch &lane_scratch,
                                              uint32_t which) {
    float *dist2 = lane_scratch.dist2;
    uint32_t *place = lane_scratch.place;
    uint32_t waiting = 0;
    weighing<diffuse> weigh;
    weigh.begin(work, which);
    const float bound2 = pointtree_bound2(work.radius), per_bound2 = 1 / bound2;
    const uint32_t bound = __float_as_uint(bound2);
    gather_index::visit(
        work.index, lane_scratch.path, weigh.point.position, [&] { return bound; },
        [&](uint32_t bits, uint32_t at) {
            const bool within = bits <= bound;
            const unsigned all = __ballot_sync(ALL, within);
            const uint32_t to = waiting + __popc(all & ((1u << lane_id()) - 1));
            if (within) dist2[to] = __uint_as_float(bits), place[to] = at;
            waiting += __popc(all);
            if (waiting < 32) return;
            __syncwarp();
            weigh.add(work, place[lane_id()], dist2[lane_id()] * per_bound2);
            waiting -= 32;
            const float next_dist2 = dist2[32 + lane_id()];
            const uint32_t next_place = place[32 + lane_id()];
            __syncwarp();
            if (lane_id() < waiting) dist2[lane_id()] = next_dist2, place[lane_id()] = next_place;
            __syncwarp();
        });
    __syncwarp();
    if (lane_id() < waiting) weigh.add(work, place[lane_id()], dist2[lane_id()] * per_bound2);
    __syncwarp();
    store_estimate(work, which, weigh.sum, work.radius);
}

static __device__ __noinline__ void within_of_other(const gather_work &work,
                                                    within_scratch &lane_scratch, uint32_t which) {
    within_of_one<false>(work, lane_scratch, which);
}

/* --- the k nearest --------------------------------------------------------------------------- */

/* The nearest photons so far, at most 32 * PARTS, and the resulting bound. */
template <int PARTS> struct nearest_places {
    static constexpr uint32_t CAPACITY = 32 * PARTS;
    uint32_t *dist2, *place; /* in this warp's shared memory */
    const uint32_t *ids;
    uint32_t k, count, bound;

    __device__ __forceinline__ void offer(uint32_t bits, uint32_t at) {
        const bool useful = bits <= bound;
        const unsigned all = __ballot_sync(ALL, useful);
        if (!all) return;
        const uint32_t to = count + __popc(all & ((1u << lane_id()) - 1));
        if (useful) dist2[to] = bits, place[to] = at;
        count += __popc(all);
        if (count > CAPACITY - 32) shrink((k + CAPACITY - 32) / 2);
    }

    /* Among photons at distance `tie`, returns the largest id to keep so that k remain in total. */
    __device__ uint32_t id_limit(const uint32_t (&d)[PARTS], const uint32_t (&p)[PARTS],
                                 uint32_t tie) const {
        uint32_t before = 0, lo = 0, hi = KD_NONE;
        uint32_t id[PARTS];
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            before += __popc(__ballot_sync(ALL, d[part] < tie));
            id[part] = d[part] == tie ? ids[p[part]] : KD_NONE;
        }
        while (lo < hi) {
            const uint32_t middle = lo + (hi - lo) / 2;
            uint32_t within = before;
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
                within += __popc(__ballot_sync(ALL, d[part] == tie && id[part] <= middle));
            if (within >= k)
                hi = middle;
            else
                lo = middle + 1;
        }
        return hi;
    }

    /* Reduces the list to the k nearest, or to at most `maximum`. */
    __device__ void shrink(uint32_t maximum) {
        uint32_t d[PARTS], p[PARTS], minimum = KD_NONE, last = 0;
        __syncwarp();
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const uint32_t at = part * 32 + lane_id();
            d[part] = at < count ? dist2[at] : KD_NONE;
            p[part] = at < count ? place[at] : 0;
            minimum = min(minimum, d[part]);
            last = max(last, at < count ? d[part] : 0);
        }
        uint32_t lo = __reduce_min_sync(ALL, minimum), hi = __reduce_max_sync(ALL, last);
        uint32_t within = count; /* photons up to hi */
        while (lo < hi && within > maximum) {
            const uint32_t middle = lo + (hi - lo) / 2;
            uint32_t below = 0;
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
                below += __popc(__ballot_sync(ALL, d[part] <= middle));
            if (below >= k)
                hi = middle, within = below;
            else
                lo = middle + 1;
        }
        const bool tied = within > maximum;
        const uint32_t last_id = tied ? id_limit(d, p, hi) : 0;
        __syncwarp();
        count = 0;
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const bool keep = d[part] < hi || (d[part] == hi && (!tied || ids[p[part]] <= last_id));
            const unsigned all = __ballot_sync(ALL, keep);
            const uint32_t at = count + __popc(all & ((1u << lane_id()) - 1));
            if (keep) dist2[at] = d[part], place[at] = p[part];
            count += __popc(all);
        }
        __syncwarp();
        bound = hi;
    }

    /* Largest dist2 in the list; dropped photons have KD_NONE. */
    __device__ __forceinline__ uint32_t last_dist2() const {
        uint32_t maximum = 0;
        for (uint32_t at = lane_id(); at < count; at += 32)
            if (dist2[at] != KD_NONE) maximum = max(maximum, dist2[at]);
        __syncwarp(); /* before the next write: a reduction does not order memory accesses */
        return __reduce_max_sync(ALL, maximum);
    }

    /* Drops the last photon by (dist2, id) and returns its dist2. */
    __device__ uint32_t drop_last() const {
        const uint32_t maximum = last_dist2();
        uint32_t id = 0;
        for (uint32_t at = lane_id(); at < count; at += 32)
            if (dist2[at] == maximum) id = max(id, ids[place[at]]);
        id = __reduce_max_sync(ALL, id);
        for (uint32_t at = lane_id(); at < count; at += 32)
            if (dist2[at] == maximum && ids[place[at]] == id) dist2[at] = KD_NONE;
        __syncwarp();
        return maximum;
    }
};

template <int PARTS> struct nearest_scratch {
    descent path;
    uint32_t dist2[32 * PARTS], place[32 * PARTS];
};

/* Finds the k nearest photons of a point, or all within the radius if they are fewer. `known2`: a
   bound of their dist2, if there is one. */
template <int PARTS>
__device__ __forceinline__ nearest_places<PARTS> find_nearest(const gather_work &work,
                                                              nearest_scratch<PARTS> &lane_scratch,
                                                              vec3 q, float known2 = INFINITY) {
    nearest_places<PARTS> best = {lane_scratch.dist2,
                                  lane_scratch.place,
                                  work.index.ids,
                                  work.k,
                                  0,
                                  __float_as_uint(fminf(known2, pointtree_bound2(work.radius)))};
    gather_index::visit(
        work.index, lane_scratch.path, q, [&] { return best.bound; },
        [&](uint32_t bits, uint32_t at) { best.offer(bits, at); });
    __syncwarp();
    if (best.count > best.k) best.shrink(best.k);
    return best;
}

/* Evaluates the estimate of one request by the whole warp, from the photons within its radius. */
template <bool diffuse, int PARTS>
__device__ __forceinline__ void weigh_nearest(const gather_work &work,
                                              const nearest_places<PARTS> &best, float radius,
                                              uint32_t which) {
    weighing<diffuse> weigh;
    weigh.begin(work, which);
    const float per_radius2 = 1 / (radius * radius);
    if (radius > 0)
        for (uint32_t at = lane_id(); at < best.count; at += 32)
            if (best.dist2[at] != KD_NONE)
                weigh.add(work, best.place[at], __uint_as_float(best.dist2[at]) * per_radius2);
    __syncwarp();
    store_estimate(work, which, weigh.sum, radius);
}

template <int PARTS>
__device__ __noinline__ void weigh_nearest_other(const gather_work &work,
                                                 const nearest_places<PARTS> best, float radius,
                                                 uint32_t which) {
    weigh_nearest<false>(work, best, radius, which);
}

template <int PARTS>
__device__ __forceinline__ void nearest_of_one(const gather_work &work,
                                               nearest_scratch<PARTS> &lane_scratch, uint32_t which,
                                               float known2 = INFINITY) {
    nearest_places<PARTS> best =
        find_nearest(work, lane_scratch, work.requests[which].at.position, known2);
    float radius = work.radius;
    if (best.count == best.k) radius = sqrtf(__uint_as_float(best.drop_last()));
    if (is_diffuse(work.requests + which))
        weigh_nearest<true>(work, best, radius, which);
    else
        weigh_nearest_other(work, best, radius, which);
}

/* --- assignment of requests ------------------------------------------------------------------- */

/* Takes the next listed request for a warp; returns false if there is none. */
__device__ __forceinline__ bool take_listed(const alone_requests &listed, uint32_t *which) {
    uint32_t number = 0;
    if (lane_id() == 0) number = atomicAdd(listed.next, 1u);
    number = __shfl_sync(ALL, number, 0);
    if (number >= *listed.count) return false;
    *which = listed.list[number];
    return true;
}

static __global__
__launch_bounds__(32 * WARPS) void alone_within(const __grid_constant__ gather_work work) {
    __shared__ within_scratch scratch[WARPS];
    for (uint32_t which; take_listed(work.alone, &which);)
        if (is_diffuse(work.requests + which))
            within_of_one<true>(work, scratch[threadIdx.x / 32], which);
        else
            within_of_other(work, scratch[threadIdx.x / 32], which);
}

/* `radii` holds a bound of the dist2 of the photons of each listed request. */
template <int PARTS>
__global__ __launch_bounds__(32 *
                             WARPS) void alone_nearest(const __grid_constant__ gather_work work) {
    __shared__ nearest_scratch<PARTS> scratch[WARPS];
    for (uint32_t which; take_listed(work.alone, &which);)
        nearest_of_one(work, scratch[threadIdx.x / 32], which, work.radii[which]);
}

/* One warp per request, for all requests. */
template <int PARTS>
__global__ __launch_bounds__(32 *
                             WARPS) void gather_nearest(const __grid_constant__ gather_work work) {
    __shared__ nearest_scratch<PARTS> scratch[WARPS];
    const uint32_t warp = threadIdx.x / 32, which = blockIdx.x * WARPS + warp;
    if (which < work.count)
        nearest_of_one(work, scratch[warp], work.order ? work.order[which] : which);
}

} // namespace photon_gathering_cuda
#endif
