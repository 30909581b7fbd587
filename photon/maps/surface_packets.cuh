/* Density estimates for packets of up to 32 neighbouring surfaces: one warp per packet, one lane
   per surface.
   Idea: neighbours in an image use almost the same photons. The lanes of a packet whose surfaces
         are close together search only once, in a ball that contains the balls of all of them. Its
         centre is the surface in their middle. The photons found are stored in shared memory. Each
         lane marks those in its own ball, then all lanes evaluate their marked photons, one per
         lane at a time. For the k nearest, the distance of the central surface's k-th photon bounds
         those of the others, and each lane finds its own k-th by counting the photons within three
         distances at a time. Packets with few close surfaces, and balls with many photons, are left
         to one warp per surface (warp_per_surface.cuh). Otherwise all packets would wait for the
         few at a focus.
   Memory: 5 to 10 KB of shared memory per warp; 12 bytes per request for packets and remaining
         requests.
   Work: one search instead of one per surface, in a ball that is larger by the distance between
         them.
   Invariants: (dist2, id) decides in each lane which photons count: the bits of
         warp_per_surface.cuh.
   Data flow: each warp reads requests and the index; the lane of a request writes its flux sum and
              radius. Requests that are left to a warp each are appended, by atomics, to a list that
              the next launch reads. */
#ifndef KD_PHOTON_MAPS_SURFACE_PACKETS_CUH
#define KD_PHOTON_MAPS_SURFACE_PACKETS_CUH
#include "photon/maps/surface_groups.cuh"

namespace photon_gathering_cuda {

/* Surfaces are close together if the central one is within this many radii of their balls. */
constexpr float NEAR = 4;
/* Smaller groups are left to one warp per surface. */
constexpr int TOGETHER_MIN = 12;
/* Limits of the photons that a packet evaluates: WITHIN_MAX in the common ball, and WITHIN_OWN in
   the ball of a surface, as estimated from the ratio of the balls' cross sections. */
constexpr uint32_t WITHIN_OWN = 512, WITHIN_MAX = 1024;
/* Blocks per multiprocessor. */
constexpr int PACKET_BLOCKS = 5;

/* The photons that a packet has found, and which lanes use them. */
template <uint32_t CAPACITY> struct packet_list {
    float4 points[CAPACITY];              /* position; index position, as bits */
    uint32_t accepted[CAPACITY / 32][32]; /* per lane: a bit for each of 32 photons in a word */
};

/* Appends the photons of a leaf within the bound; beyond CAPACITY they are only counted. */
template <uint32_t CAPACITY>
__device__ __forceinline__ void keep_photon(const gather_work &work, packet_list<CAPACITY> &list,
                                            uint32_t *count, uint32_t bound, uint32_t bits,
                                            uint32_t place) {
    const bool within = bits <= bound;
    const unsigned all = __ballot_sync(ALL, within);
    const uint32_t to = *count + __popc(all & ((1u << lane_id()) - 1));
    if (within && to < CAPACITY) {
        float4 point = __ldg(work.index.points + place);
        point.w = __uint_as_float(place);
        list.points[to] = point;
    }
    *count += __popc(all);
}

/* Marks, among the first `count` photons, those for which this lane's wants(dist2 bits, place)
   is true. */
template <uint32_t CAPACITY, class WANTS>
__device__ __forceinline__ void mark_accepted(packet_list<CAPACITY> &list, uint32_t count, vec3 q,
                                              const WANTS &wants) {
    for (uint32_t word = 0; 32 * word < count; ++word) {
        const uint32_t end = min(32u, count - 32 * word);
        uint32_t mask = 0;
        for (uint32_t i = 0; i < end; ++i) {
            const float4 point = list.points[32 * word + i];
            const uint32_t bits = __float_as_uint(pointtree_dist2(q, xyz(point)));
            if (wants(bits, __float_as_uint(point.w))) mask |= 1u << i;
        }
        list.accepted[word][lane_id()] = mask;
    }
}

/* Calls add(place, dist2) for the photons that this lane has marked; lanes proceed
   independently. */
template <uint32_t CAPACITY, class ADD>
__device__ __forceinline__ void for_accepted(const packet_list<CAPACITY> &list, uint32_t count,
                                             vec3 q, const ADD &add) {
    const uint32_t words = (count + 31) / 32;
    uint32_t word = 0, mask = 0;
    for (;;) {
        while (mask == 0 && word < words) mask = list.accepted[word++][lane_id()];
        if (mask == 0) break;
        const float4 point = list.points[32 * (word - 1) + first_lane(mask)];
        mask &= mask - 1;
        add(__float_as_uint(point.w), pointtree_dist2(q, xyz(point)));
    }
    __syncwarp();
}

/* Leaves members to one warp each. */
__device__ __forceinline__ void list_individually(const gather_work &work, uint32_t which,
                                                  unsigned members) {
    uint32_t first = 0;
    if (lane_id() == 0) first = atomicAdd(work.alone.count, (uint32_t)__popc(members));
    first = __shfl_sync(ALL, first, 0);
    if (members >> lane_id() & 1u)
        work.alone.list[first + __popc(members & ((1u << lane_id()) - 1))] = which;
}

/* The same, with a bound of the distance of the k-th photon. */
__device__ __forceinline__ void list_known(const gather_work &work, uint32_t which,
                                           unsigned members, float known) {
    if (members >> lane_id() & 1u) work.radii[which] = known * known;
    list_individually(work, which, members);
}

/* A lane's request. Lanes without a request duplicate the first one of the packet. */
struct packet_lane {
    uint32_t which;
    unsigned all; /* lanes that have a request */
    bool diffuse; /* all surfaces are diffuse */
    vec3 q;

    __device__ __forceinline__ packet_lane(const gather_work &work, uint32_t packet) {
        eye_packet taken = {32 * packet, min(32u, work.count - 32 * packet)};
        if (work.packets) taken = work.packets[packet];
        const bool active = lane_id() < taken.count;
        which = taken.first + (active ? lane_id() : 0);
        if (!work.packets && work.order) which = work.order[which];
        all = __ballot_sync(ALL, active);
        diffuse = __all_sync(ALL, is_diffuse(work.requests + which));
        q = work.requests[which].at.position;
    }
};

/* --- all photons within a radius -------------------------------------------------------------- */

constexpr uint32_t WITHIN_CAPACITY = 256;

struct packet_within_scratch {
    descent path;
    packet_list<WITHIN_CAPACITY> list;
};

/* Evaluates the first `count` photons found. */
template <bool diffuse>
static __device__ __noinline__ void
weigh_within(const gather_work &work, packet_list<WITHIN_CAPACITY> &list, uint32_t count,
             const packet_lane &lane, bool joins, flux_sum *sum) {
    const float bound2 = pointtree_bound2(work.radius), per_bound2 = 1 / bound2;
    __syncwarp();
    mark_accepted(list, count, lane.q, [&](uint32_t bits, uint32_t) {
        return joins && bits <= __float_as_uint(bound2);
    });
    weighing<diffuse> weigh;
    weigh.begin(work, lane.which);
    weigh.sum = *sum;
    for_accepted(list, count, lane.q,
                 [&](uint32_t place, float dist2) { weigh.add(work, place, dist2 * per_bound2); });
    *sum = weigh.sum;
}

/* Returns false if there are too many photons. */
__device__ __forceinline__ bool within_of_all(const gather_work &work,
                                              packet_within_scratch &lane_scratch,
                                              const packet_lane &lane, const together &group) {
    const uint32_t bound = __float_as_uint(pointtree_bound2((work.radius + group.spread) * SLACK));
    const float wide = (work.radius + group.spread) / work.radius;
    const uint32_t maximum = min(WITHIN_MAX, (uint32_t)((float)WITHIN_OWN * wide * wide));
    flux_sum sum = flux_sum_none();
    uint32_t count = 0, weighed = 0;
    const auto weigh = [&] {
        if (lane.diffuse)
            weigh_within<true>(work, lane_scratch.list, count, lane, group.joins, &sum);
        else
            weigh_within<false>(work, lane_scratch.list, count, lane, group.joins, &sum);
        weighed += count;
        count = 0;
    };
    gather_index::visit(
        work.index, lane_scratch.path, group.centre,
        [&] { return weighed + count > maximum ? 0 : bound; },
        [&](uint32_t bits, uint32_t place) {
            keep_photon(work, lane_scratch.list, &count, bound, bits, place);
            if (count > WITHIN_CAPACITY - 32) weigh();
        });
    if (weighed + count > maximum) return false;
    weigh();
    if (!group.joins) return true;
    work.sums[lane.which] = sum;
    work.radii[lane.which] = work.radius;
    return true;
}

__global__
__launch_bounds__(32 * WARPS,
                  PACKET_BLOCKS) void packets_within(const __grid_constant__ gather_work work) {
    __shared__ packet_within_scratch scratch[WARPS];
    const uint32_t warp = threadIdx.x / 32, packet = blockIdx.x * WARPS + warp;
    if (packet >= work.packet_count) return;
    const packet_lane lane(work, packet);
    unsigned left = lane.all;
    while (__popc(left) >= TOGETHER_MIN) {
        const unsigned middle = middle_lane(left, lane.q);
        const together group = join(left, middle, lane.q, NEAR * work.radius);
        left &= ~group.members;
        if (__popc(group.members) < TOGETHER_MIN ||
            !within_of_all(work, scratch[warp], lane, group))
            list_individually(work, lane.which, group.members);
    }
    if (left) list_individually(work, lane.which, left);
}

/* --- the k nearest --------------------------------------------------------------------------- */

template <int PARTS> struct packet_nearest_scratch {
    static constexpr uint32_t CAPACITY = 96 * PARTS;
    nearest_scratch<PARTS> alone;
    packet_list<CAPACITY> list;
};

/* Bound of the photons that count: those at smaller dist2, and at equal dist2 those with smaller
   ids. */
struct kth_photon {
    uint32_t dist2; /* bits */
    uint32_t id;
    float radius;
};

/* State of the search for a lane's k-th photon: fewer than k lie below `low`, k or more up to
   `high`. */
struct kth_search {
    uint32_t low, high, below, upto; /* upto 0: there are fewer than k */

    __device__ __forceinline__ bool done(uint32_t k) const { return upto <= k || low == high; }

    /* Narrows the interval by the counts within ascending pivots, at most `high`. */
    __device__ __forceinline__ void narrow(const uint32_t (&pivot)[3], const uint32_t (&counts)[3],
                                           uint32_t k) {
#pragma unroll
        for (int i = 2; i >= 0; --i)
            if (counts[i] >= k) high = pivot[i], upto = counts[i];
#pragma unroll
        for (int i = 0; i < 3; ++i)
            if (counts[i] < k) low = pivot[i] + 1, below = counts[i];
    }
};

/* Narrows until low equals high, or exactly k photons lie up to high; `expected` is a guess of the
   k-th dist2. Called by all lanes. */
template <uint32_t CAPACITY>
__device__ __forceinline__ kth_search search_kth(const packet_list<CAPACITY> &list, uint32_t count,
                                                 vec3 q, bool joins, uint32_t k, uint32_t maximum,
                                                 float expected) {
    kth_search at = {0, maximum, 0, 0};
    uint32_t pivot[3] = {min(maximum, __float_as_uint(0.9f * expected)),
                         min(maximum, __float_as_uint(1.1f * expected)), maximum};
    for (;;) {
        uint32_t counts[3] = {0, 0, 0};
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t bits = __float_as_uint(pointtree_dist2(q, xyz(list.points[i])));
#pragma unroll
            for (int p = 0; p < 3; ++p) counts[p] += bits <= pivot[p];
        }
        if (joins) at.narrow(pivot, counts, k);
        joins = joins && !at.done(k);
        if (!__any_sync(ALL, joins)) return at;
#pragma unroll
        for (uint32_t p = 0; p < 3; ++p)
            pivot[p] = at.low + (uint32_t)((uint64_t)(at.high - at.low) * (p + 1) / 4);
    }
}

/* Id below which `ties` of the photons at distance `dist2` lie; not needed for lanes without
   ties. */
template <uint32_t CAPACITY>
__device__ uint32_t id_of_kth(const gather_work &work, const packet_list<CAPACITY> &list,
                              uint32_t count, vec3 q, uint32_t dist2, uint32_t ties) {
    uint32_t low = 0, high = KD_NONE;
    if (ties == 0) return 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        uint32_t within = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const float4 point = list.points[i];
            if (__float_as_uint(pointtree_dist2(q, xyz(point))) == dist2)
                within += work.index.ids[__float_as_uint(point.w)] <= middle;
        }
        if (within > ties)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* Finds this lane's k-th photon among those found. */
template <uint32_t CAPACITY>
__device__ __forceinline__ kth_photon find_kth(const gather_work &work,
                                               const packet_list<CAPACITY> &list, uint32_t count,
                                               const packet_lane &lane, bool joins,
                                               float expected) {
    const uint32_t maximum = __float_as_uint(pointtree_bound2(work.radius));
    const kth_search at = search_kth(list, count, lane.q, joins, work.k, maximum, expected);
    kth_photon kth = {maximum + 1, 0, work.radius};
    uint32_t last = 0, times = 0; /* largest dist2 up to high, and its multiplicity */
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t bits = __float_as_uint(pointtree_dist2(lane.q, xyz(list.points[i])));
        if (bits > at.high || bits < last) continue;
        times = bits == last ? times + 1 : 1;
        last = bits;
    }
    if (joins && at.upto >= work.k) {
        const uint32_t ties = at.upto == work.k ? times - 1 : work.k - 1 - at.below;
        kth.dist2 = last;
        kth.id = id_of_kth(work, list, count, lane.q, last, ties);
        kth.radius = sqrtf(__uint_as_float(last));
    }
    __syncwarp();
    return kth;
}

/* Evaluates the photons that this lane has marked. */
template <bool diffuse, uint32_t CAPACITY>
__device__ __forceinline__ void weigh_marked(const gather_work &work,
                                             const packet_list<CAPACITY> &list, uint32_t count,
                                             const packet_lane &lane, float radius, bool joins) {
    weighing<diffuse> weigh;
    weigh.begin(work, lane.which);
    const float per_radius2 = 1 / (radius * radius);
    for_accepted(list, radius > 0 ? count : 0, lane.q,
                 [&](uint32_t place, float dist2) { weigh.add(work, place, dist2 * per_radius2); });
    if (!joins) return;
    work.sums[lane.which] = weigh.sum;
    work.radii[lane.which] = radius;
}

template <uint32_t CAPACITY>
__device__ __noinline__ void weigh_marked_others(const gather_work &work,
                                                 const packet_list<CAPACITY> &list, uint32_t count,
                                                 const packet_lane lane, float radius, bool joins) {
    weigh_marked<false>(work, list, count, lane, radius, joins);
}

template <uint32_t CAPACITY>
__device__ __forceinline__ void nearest_of_all(const gather_work &work, packet_list<CAPACITY> &list,
                                               uint32_t count, const packet_lane &lane, bool joins,
                                               float expected) {
    __syncwarp();
    const kth_photon kth = find_kth(work, list, count, lane, joins, expected);
    mark_accepted(list, count, lane.q, [&](uint32_t bits, uint32_t place) {
        if (bits == kth.dist2 && kth.id) return joins && work.index.ids[place] < kth.id;
        return joins && bits < kth.dist2;
    });
    if (lane.diffuse)
        weigh_marked<true>(work, list, count, lane, kth.radius, joins);
    else
        weigh_marked_others(work, list, count, lane, kth.radius, joins);
}

template <int PARTS>
__global__
__launch_bounds__(32 * WARPS,
                  PACKET_BLOCKS) void packets_nearest(const __grid_constant__ gather_work work) {
    __shared__ packet_nearest_scratch<PARTS> scratch[WARPS];
    const uint32_t warp = threadIdx.x / 32, packet = blockIdx.x * WARPS + warp;
    if (packet >= work.packet_count) return;
    packet_nearest_scratch<PARTS> &lane_scratch = scratch[warp];
    const packet_lane lane(work, packet);
    unsigned left = lane.all;
    float known = INFINITY; /* bound of the distance of this lane's k-th photon */
    while (__popc(left) >= TOGETHER_MIN) {
        const unsigned middle = middle_lane(left, lane.q);
        const nearest_places<PARTS> best =
            find_nearest(work, lane_scratch.alone, of_lane(lane.q, middle));
        const float last2 = best.count == work.k ? __uint_as_float(best.last_dist2())
                                                 : pointtree_bound2(work.radius);
        const float last = sqrtf(last2);
        const together group = join(left, middle, lane.q, NEAR * last);
        left &= ~group.members;
        if (best.count == work.k) known = fminf(known, (last + group.centre_distance) * SLACK);
        uint32_t count = KD_NONE;
        if (__popc(group.members) >= TOGETHER_MIN) {
            const float ball = fminf(last + group.spread, work.radius);
            const uint32_t bound = __float_as_uint(pointtree_bound2((ball + group.spread) * SLACK));
            count = 0;
            gather_index::visit(
                work.index, lane_scratch.alone.path, group.centre,
                [&] { return count > lane_scratch.CAPACITY ? 0 : bound; },
                [&](uint32_t bits, uint32_t place) {
                    keep_photon(work, lane_scratch.list, &count, bound, bits, place);
                });
        }
        if (count <= lane_scratch.CAPACITY)
            nearest_of_all(work, lane_scratch.list, count, lane, group.joins, last2);
        else
            list_known(work, lane.which, group.members, known);
    }
    if (left) list_known(work, lane.which, left, known);
}

} // namespace photon_gathering_cuda
#endif
