/* Storage of final gather rays, and of what their ends need, between kernels (gather_waves.cu). */
#ifndef KD_RENDER_PHOTON_MAPPING_GATHER_STORE_CUH
#define KD_RENDER_PHOTON_MAPPING_GATHER_STORE_CUH
#include "render/photon_mapping/eye_store.cuh"

enum { PRECOMPUTED_PARTS = 5 };

/* A diffuse surface far away. */
struct precomputed_end {
    surface at; /* only the members that a lookup reads */
    vec3 wo, throughput;
    uint32_t slot;
};

/* --- recording lookups ------------------------------------------------------------------------ */

__device__ __forceinline__ void store_precomputed(const eye_slots &slots, uint32_t place,
                                                  const precomputed_end &end) {
    const uint32_t each = slots.waves.capacity, side = end.slot << 1 | (end.at.front ? 1 : 0);
    float4 *to = slots.ends.precomputed + place;
    to[0] = with_fourth(end.at.position, __uint_as_float(end.at.triangle));
    to[(uint64_t)each] = with_fourth(end.at.geometric, __uint_as_float(side));
    to[2ull * each] = with_fourth(end.at.normal, end.wo.x);
    to[3ull * each] = with_fourth(end.at.diffuse, end.wo.y);
    to[4ull * each] = with_fourth(end.throughput, end.wo.z);
}

__device__ __forceinline__ precomputed_end load_precomputed(const eye_slots &slots,
                                                            uint32_t place) {
    const uint32_t each = slots.waves.capacity;
    const float4 *from = slots.ends.precomputed + place;
    const float4 a = from[0], b = from[(uint64_t)each], c = from[2ull * each],
                 d = from[3ull * each], e = from[4ull * each];
    precomputed_end end;
    memset(&end.at, 0, sizeof end.at);
    end.at.kind = MATERIAL_DIFFUSE;
    end.at.position = first_three(a), end.at.triangle = __float_as_uint(a.w);
    end.at.geometric = first_three(b), end.at.front = __float_as_uint(b.w) & 1;
    end.slot = __float_as_uint(b.w) >> 1;
    end.at.normal = first_three(c), end.at.diffuse = first_three(d);
    end.throughput = first_three(e), end.wo = vec3_make(c.w, d.w, e.w);
    return end;
}

/* Records requests; the active lanes form a packet. `far`: for both maps, otherwise for the caustic
   map only. */
template <bool far>
__device__ __forceinline__ void gather_request_maps(const gather_ends &ends, const surface *at,
                                                    vec3 wo, vec3 throughput, uint32_t slot) {
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

/* --- rays ------------------------------------------------------------------------------------- */

/* Slot of a gather ray: all slots for the first ray number, then all slots for the next, and so
   on. */
__device__ __forceinline__ uint32_t slot_of_ray(const eye_slots &slots, uint32_t ray) {
    return ray % slots.waves.slots;
}

/* Random key of a gather ray, as in eye_gather. */
__device__ __forceinline__ rng_key gather_key(const eye_slots &slots, const photon_view &photons,
                                              uint32_t ray) {
    const uint32_t number = slots.gather_number + ray / slots.waves.slots;
    rng_key key = key_of_slot(slots.waves, place_of_slot(slots.waves, slot_of_ray(slots, ray)));
    key.path =
        key.path >> 32 << 32 | (uint32_t)((uint32_t)key.path * photons.final_gather + number);
    return key;
}

struct gather_shaded {
    wave_path path;
    rng_key key;
    surface at;
    float travelled;
    bool emission; /* emission of the next surface is added */
    bool is_valid; /* the ray has hit the surface `at` */
    bool lands;    /* the surface stores photons */
    bool near;     /* too close for a lookup: the ray continues as a path */
};

__device__ __forceinline__ vec3 gather_eye(const gather_shaded &shaded) {
    return vec3_negate(shaded.path.state.ray.direction);
}

__device__ __forceinline__ void load_gather_path(const eye_slots &slots, const photon_view &photons,
                                                 const path_store &store, uint32_t i,
                                                 gather_shaded &shaded) {
    uint32_t number, word;
    shaded.path = load_eye_path(store, i, &number, &word);
    shaded.emission = number != 0;
    shaded.travelled = __uint_as_float(word);
    shaded.key = gather_key(slots, photons, shaded.path.slot);
}

__device__ __forceinline__ void store_gather_path(const path_store &to, uint32_t *count,
                                                  const gather_shaded &shaded) {
    store_eye_path(to, take_place(count), shaded.path, shaded.emission,
                   __float_as_uint(shaded.travelled));
}

#endif
