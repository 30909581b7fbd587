/* What the maps show where gather rays end.
   Idea: a look into a map is long work, and only some lanes of a warp have one: looks that a thread
         takes for itself let all others wait. So rays only leave what they want to know: what the
         nearest photon knows (a diffuse surface from afar), or a request, which is answered as
         those of the eye's paths are, by packets and by a warp each. Few have no photon near that
         knows: they make a request, too.
   Work: photon/maps/known_device.cu; a request's look by a warp.
   Memory: 84 bytes a slot for what is known, 336 for requests: a ray of a wave has one end.
   Invariants: what is added to a slot is photon_far_radiance or, near by, photon_map_radiance of
               the caustic map, bit for bit, and comes after what the shadow ray brings.
   Data flow: photon_maps_cuda_known: known -> answers; gather_known, a thread a known end: these
              -> radiance or requests; the gathering kernels: requests -> sums; gather_add, a
              thread a request: sums -> radiance. */
#ifndef KD_RENDER_PHOTON_MAPPING_GATHER_LOOKS_CUH
#define KD_RENDER_PHOTON_MAPPING_GATHER_LOOKS_CUH
#include "photon/maps/known_device.h"
#include "render/photon_mapping/eye_store.cuh"
#include "render/photon_mapping/shown.cuh"

enum { KNOWN_PARTS = 5, KNOWN_BLOCK = 128, GATHER_BLOCK = 256 };

/* A diffuse surface that is seen from afar. */
struct known_end {
    surface at; /* of it what a look reads */
    vec3 wo, throughput;
    uint32_t slot;
};

/* --- asking ----------------------------------------------------------------------------------- */

__device__ __forceinline__ void store_known(const eye_slots &slots, uint32_t place,
                                            const known_end &end) {
    const uint32_t each = slots.waves.capacity, side = end.slot << 1 | (end.at.front ? 1 : 0);
    float4 *to = slots.ends.known + place;
    to[0] = with_fourth(end.at.position, __uint_as_float(end.at.triangle));
    to[(uint64_t)each] = with_fourth(end.at.geometric, __uint_as_float(side));
    to[2ull * each] = with_fourth(end.at.normal, end.wo.x);
    to[3ull * each] = with_fourth(end.at.diffuse, end.wo.y);
    to[4ull * each] = with_fourth(end.throughput, end.wo.z);
}

__device__ __forceinline__ known_end load_known(const eye_slots &slots, uint32_t place) {
    const uint32_t each = slots.waves.capacity;
    const float4 *from = slots.ends.known + place;
    const float4 a = from[0], b = from[(uint64_t)each], c = from[2ull * each],
                 d = from[3ull * each], e = from[4ull * each];
    known_end end;
    memset(&end.at, 0, sizeof end.at);
    end.at.kind = MATERIAL_DIFFUSE;
    end.at.position = first_three(a), end.at.triangle = __float_as_uint(a.w);
    end.at.geometric = first_three(b), end.at.front = __float_as_uint(b.w) & 1;
    end.slot = __float_as_uint(b.w) >> 1;
    end.at.normal = first_three(c), end.at.diffuse = first_three(d);
    end.throughput = first_three(e), end.wo = vec3_make(c.w, d.w, e.w);
    return end;
}

/* A request, by the lanes that come here together: they make a packet. `far`: both maps' light is
   wanted, else the caustic map's. */
template <bool far>
__device__ __forceinline__ void gather_ask_maps(const gather_ends &ends, const surface *at, vec3 wo,
                                                vec3 throughput, uint32_t slot) {
    const unsigned lanes = __activemask();
    const int lane = threadIdx.x & 31, leader = __ffs((int)lanes) - 1;
    uint32_t place = 0;
    if (lane == leader) {
        const uint32_t count = (uint32_t)__popc(lanes);
        const eye_packet packet = {atomicAdd(&ends.tally->requests, count), count};
        ends.packets[atomicAdd(&ends.tally->packets, 1u)] = packet;
        if (far) ends.far_packets[atomicAdd(&ends.tally->far_packets, 1u)] = packet;
        place = packet.first;
    }
    place = __shfl_sync(lanes, place, leader) + __popc(lanes & ((1u << lane) - 1));
    eye_request *made = ends.requests + place;
    eye_request_place(made, at);
    made->wo = wo;
    made->throughput = throughput;
    made->next = slot << 1 | (far ? 1 : 0);
}

/* --- answering -------------------------------------------------------------------------------- */

/* What photons knew; places without an answer ask the maps. */
static __global__
__launch_bounds__(KNOWN_BLOCK) void gather_known(const __grid_constant__ eye_slots slots) {
    const uint32_t count = slots.ends.tally->known;
    for (uint32_t i = blockIdx.x * KNOWN_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * KNOWN_BLOCK) {
        const known_end end = load_known(slots, i);
        if (end.at.triangle != KD_NONE) {
            gather_ask_maps<true>(slots.ends, &end.at, end.wo, end.throughput, end.slot);
            continue;
        }
        const vec3 irradiance = end.at.position;
        const vec3 seen = vec3_scale(vec3_mul(end.at.diffuse, irradiance), 1 / KD_PI);
        add_radiance(slots.waves, end.slot, vec3_mul(end.throughput, seen));
    }
}

static __global__ __launch_bounds__(GATHER_BLOCK) void gather_add(
    const __grid_constant__ photon_view photons, const __grid_constant__ eye_slots slots,
    const __grid_constant__ shown_requests of, uint32_t count) {
    for (uint32_t i = blockIdx.x * GATHER_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * GATHER_BLOCK) {
        const uint32_t slot = of.requests[i].next >> 1;
        const bool far = of.requests[i].next & 1;
        vec3 seen = shown_by_caustic(photons, of, i);
        if (far) seen = vec3_add(seen, shown_by_global(photons, of, i));
        add_radiance(slots.waves, slot, vec3_mul(of.requests[i].throughput, seen));
    }
}

/* --- the host's side -------------------------------------------------------------------------- */

static inline kd_status answer_known(const photon_maps_cuda *maps, const eye_slots *slots) {
    const gather_ends *ends = &slots->ends;
    const photon_known_cuda asked = {ends->known, ends->known + slots->waves.capacity,
                                     &ends->tally->known, ends->more, &ends->tally->more};
    unsigned blocks = 0;
    KD_TRY(photon_maps_cuda_known(maps, &asked));
    KD_TRY(cuda_resident_blocks(&blocks, gather_known, KNOWN_BLOCK));
    gather_known<<<blocks, KNOWN_BLOCK>>>(*slots);
    KD_CUDA_LAUNCHED("gather_known");
    return KD_OK;
}

/* What one map shows of the requests in these packets; sums of others are 0 or theirs. */
static inline kd_status ask_map(const photon_maps_cuda *maps, int which, const photon_view *photons,
                                const photon_gather_cuda *asked, float *integrals) {
    const photon_map_view *map = which ? &photons->caustic : &photons->global;
    KD_TRY(photon_maps_cuda_gather(maps, which, map->gather, map->radius, asked));
    return photon_maps_cuda_measure(maps, asked, integrals);
}

static inline kd_status answer_requests(const photon_maps_cuda *maps, const photon_view *photons,
                                        const eye_slots *slots, const gather_tally *tally) {
    const gather_ends *ends = &slots->ends;
    const uint32_t count = tally->requests;
    photon_gather_cuda asked;
    shown_requests shown;
    unsigned blocks = 0;
    memset(&shown, 0, sizeof shown);
    asked.requests = shown.requests = ends->requests;
    asked.count = count;
    asked.alone = ends->alone;
    for (int m = 0; m < 2; ++m) {
        const uint32_t packets = m ? tally->packets : tally->far_packets;
        asked.packets = m ? ends->packets : ends->far_packets;
        asked.packet_count = packets;
        shown.sums[m] = asked.sums = ends->sums[m];
        shown.radii[m] = asked.radii = ends->radii[m];
        shown.integrals[m] = ends->integrals[m];
        if (packets == 0) continue;
        if (m == 0) KD_CUDA(cudaMemsetAsync(asked.sums, 0, count * sizeof *asked.sums));
        KD_TRY(ask_map(maps, m, photons, &asked, ends->integrals[m]));
    }
    KD_TRY(cuda_resident_blocks(&blocks, gather_add, GATHER_BLOCK));
    gather_add<<<blocks, GATHER_BLOCK>>>(*photons, *slots, shown, count);
    KD_CUDA_LAUNCHED("gather_add");
    return KD_OK;
}

#endif
