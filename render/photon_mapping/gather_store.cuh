/* Storage of final gather rays, and of what their ends need, between kernels (gather_waves.cu). */
#ifndef KD_RENDER_PHOTON_MAPPING_GATHER_STORE_CUH
#define KD_RENDER_PHOTON_MAPPING_GATHER_STORE_CUH
#include "render/photon_mapping/eye_store.cuh"

enum { PRECOMPUTED_PARTS = 5 };
enum : uint32_t { RAY_REQUESTS = 1u << 31 }; /* flag of a shadow ray: its ray records a request */

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

/* --- terms ------------------------------------------------------------------------------------
   Idea: the terms of a ray are added in order. While one of them is a request that is not answered,
         the request and all further terms are noted: the notes of a ray form a circular list, each
         with the number of the next one, and the ray's sum has the number of the last one, which
         leads to the first. Numbers begin with 1; 0: no note. */

enum : uint32_t { NOTE_REQUEST = 1u << 31 }; /* flag: x is the index of a request */

__device__ __forceinline__ void note_term(const eye_slots &slots, uint32_t ray, float4 sum,
                                          vec3 term, uint32_t flag) {
    float4 *notes = slots.ends.notes - 1;
    const uint32_t last = __float_as_uint(sum.w), number = take_place(&slots.ends.tally->notes) + 1;
    uint32_t first = number;
    if (last) {
        const uint32_t link = __float_as_uint(notes[last].w);
        first = link & ~NOTE_REQUEST;
        notes[last].w = __uint_as_float((link & NOTE_REQUEST) | number);
    }
    notes[number] = with_fourth(term, __uint_as_float(flag | first));
    slots.waves.radiance[ray].w = __uint_as_float(number);
}

/* Adds a term to a ray, at once or later. */
__device__ __forceinline__ void add_term(const eye_slots &slots, uint32_t ray, vec3 term) {
    if (vec3_is_zero(term)) return;
    const float4 sum = slots.waves.radiance[ray];
    if (__float_as_uint(sum.w))
        note_term(slots, ray, sum, term, 0);
    else
        slots.waves.radiance[ray] = with_fourth(vec3_add(first_three(sum), term), 0);
}

/* Records a request, the next term of a ray. `far`: for both maps, otherwise for the caustic map
   only. */
__device__ __forceinline__ void add_request(const eye_slots &slots, const surface *at, vec3 wo,
                                            vec3 throughput, uint32_t ray, bool far) {
    const gather_ends &ends = slots.ends;
    const uint32_t place = take_place(&ends.tally->requests);
    if (far) take_place(&ends.tally->far);
    eye_request *made = ends.requests + place;
    eye_request_place(made, at);
    made->wo = wo;
    made->throughput = throughput;
    made->next = far ? 1 : 0;
    note_term(slots, ray, slots.waves.radiance[ray], vec3_make(__uint_as_float(place), 0, 0),
              NOTE_REQUEST);
}

/* Adds a term to a ray whose last note is a request, before that request. */
__device__ __forceinline__ void add_term_before(const eye_slots &slots, uint32_t ray, vec3 term) {
    if (vec3_is_zero(term)) return;
    float4 *notes = slots.ends.notes - 1;
    const float4 sum = slots.waves.radiance[ray];
    const uint32_t last = __float_as_uint(sum.w);
    float4 request = notes[last];
    if (__float_as_uint(request.w) == (NOTE_REQUEST | last)) { /* the only note */
        slots.waves.radiance[ray] = with_fourth(vec3_add(first_three(sum), term), sum.w);
        return;
    }
    const uint32_t number = take_place(&slots.ends.tally->notes) + 1;
    notes[number] = request;
    notes[last] = with_fourth(term, __uint_as_float(number));
    slots.waves.radiance[ray].w = __uint_as_float(number);
}

/* Sum of a ray whose requests are answered. */
__device__ __forceinline__ vec3 sum_of_terms(const photon_view &photons, const eye_slots &slots,
                                             const lookup_results &results, uint32_t ray) {
    const float4 *notes = slots.ends.notes - 1;
    const float4 begun = slots.waves.radiance[ray];
    const uint32_t last = __float_as_uint(begun.w);
    vec3 sum = first_three(begun);
    if (last == 0) return sum;
    uint32_t at = last;
    do {
        at = __float_as_uint(notes[at].w) & ~NOTE_REQUEST;
        const float4 note = notes[at];
        vec3 term = first_three(note);
        if (__float_as_uint(note.w) & NOTE_REQUEST) {
            const uint32_t request = __float_as_uint(note.x);
            vec3 seen = shown_by_caustic(photons, results, request);
            if (results.requests[request].next)
                seen = vec3_add(seen, shown_by_global(photons, results, request));
            term = vec3_mul(results.requests[request].throughput, seen);
        }
        sum = vec3_add(sum, term);
    } while (at != last);
    return sum;
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
