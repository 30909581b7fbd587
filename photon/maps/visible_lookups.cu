/* Lookups where walls may hide photons (photon/density/visibility.h), on a CUDA device.
   Idea: such lookups are few. The other kernels answer them, too, as if nothing were hidden; here
         a warp repeats four of them at a time, with a ray for each photon and each sample of the
         visible share that something may hide. Rays wait until there is one for each lane. The
         weights of samples are added in the order of the CPU.
   Work: 8 rays for each lookup at a divided surface; a search within the known radius and some 70
         rays for each where something stands.
   Memory: the list of requests that packets have left, which is not needed any more.
   Invariants: the bits of the CPU.
   Data flow: list_divided, one thread per request, and 8 lanes for each at a divided surface, reads
              requests, sums and radii, and appends by atomics to the list; hide, one warp per
              BATCH listed requests, writes their sums and multiplies their integrals. */
#include "core/device/cuda.h"
#include "photon/density/warp_per_surface.cuh"
#include "photon/maps/map_index.cuh"

namespace {

using namespace photon_gathering_cuda;

constexpr int BLOCK = 128;

struct hiding {
    tile_view tiles;
    gather_work gather; /* `alone` is the list */
    float *integrals;   /* NULL: only sums are repeated */
    bool sums;          /* repeat the sums */
};

/* Index of the request with this number. */
__device__ __forceinline__ uint32_t request_of(const hiding &work, uint32_t number) {
    return work.gather.order ? work.gather.order[number] : number;
}

/* Returns the mask of those lanes in `left` near whose points something stands; each of its first
   four is tested by 8 lanes, one ray each. */
__device__ __forceinline__ unsigned obstructed_of_four(const hiding &work, uint32_t first,
                                                       unsigned left) {
    static_assert(HORIZON_RAYS == 8, "four points in 32 lanes");
    const int group = (int)lane_id() / HORIZON_RAYS, ray = (int)lane_id() % HORIZON_RAYS;
    unsigned mine = left;
    for (int i = 0; i < group; ++i) mine &= mine - 1;
    mine &= 0u - mine;
    bool hit = false;
    if (mine) {
        const uint32_t i = request_of(work, first + (uint32_t)__ffs((int)mine) - 1);
        const scene_view *scene = work.tiles.scene;
        const estimate_point point = estimate_point_of(&work.gather.requests[i].at);
        const openness_place place =
            openness_place_make(&scene->mesh, point.position, point.normal, point.triangle);
        visibility_horizon horizon;
        visibility_horizon_begin(&horizon, &place);
        hit = visibility_reach(scene, &place, &horizon, ray, HORIZON_REACH * work.gather.radii[i]) <
              INFINITY;
    }
    __syncwarp();
    const bool any = __ballot_sync(ALL, hit) >> HORIZON_RAYS * group & 0xffu;
    unsigned all = any ? mine : 0;
    all |= __shfl_xor_sync(ALL, all, HORIZON_RAYS);
    return all | __shfl_xor_sync(ALL, all, 2 * HORIZON_RAYS);
}

__global__ __launch_bounds__(BLOCK) void list_divided(const __grid_constant__ hiding work) {
    const uint32_t number = blockIdx.x * BLOCK + threadIdx.x;
    uint32_t i = 0;
    bool divided = false;
    if (number < work.gather.count) {
        i = request_of(work, number);
        const uint32_t patch = work.tiles.patches[work.gather.requests[i].at.triangle];
        if (patch & TILE_PATCH_DIVIDED && !flux_sum_is_zero(work.gather.sums + i)) {
            const estimate_point point = estimate_point_of(&work.gather.requests[i].at);
            divided = estimate_point_is_divided(&work.tiles, &point);
        }
    }
    __syncwarp();
    unsigned all = 0;
    for (unsigned left = __ballot_sync(ALL, divided); left;) {
        all |= obstructed_of_four(work, number - lane_id(), left);
        for (int k = 0; k < 4; ++k) left &= left - 1;
    }
    uint32_t to = 0;
    if (!all) return;
    if (lane_id() == 0) to = atomicAdd(work.gather.alone.count, (uint32_t)__popc(all));
    to = __shfl_sync(ALL, to, 0) + __popc(all & ((1u << lane_id()) - 1));
    if (all >> lane_id() & 1u) work.gather.alone.list[to] = i;
}

constexpr uint32_t BATCH = 32 / HORIZON_RAYS, SAMPLE = 0x80;

/* Rays that wait until there is one for each lane. */
struct ray_queue {
    uint32_t to[64]; /* a photon; with SAMPLE: a sample of the visible share */
    float s2[64];
    uint8_t lookup[64]; /* with the flag SAMPLE */
};

/* Lookups that a warp repeats together. */
struct batch_scratch {
    vec3 position[BATCH], normal[BATCH];
    visibility_horizon horizon[BATCH];
    uint32_t request[BATCH];
    unsigned long long sums[BATCH][3];
    uint32_t hidden[BATCH]; /* samples of the visible share, as bits */
    union {
        ray_queue queue;
        float weights[BATCH][VISIBLE_SAMPLES]; /* once no ray waits */
    };
};

/* The lookups of a warp; `waiting`: rays. All are uniform. */
struct batch {
    const hiding &work;
    batch_scratch &scratch;
    uint32_t count, waiting;
};

/* Takes up to BATCH listed requests and finds their horizons, eight lanes each. */
__device__ __forceinline__ bool take_batch(batch *out) {
    const hiding &work = out->work;
    batch_scratch &scratch = out->scratch;
    const uint32_t mine = lane_id() / HORIZON_RAYS, ray = lane_id() % HORIZON_RAYS;
    uint32_t number = 0;
    if (lane_id() == 0) number = atomicAdd(work.gather.alone.next, BATCH);
    number = __shfl_sync(ALL, number, 0);
    const uint32_t all = *work.gather.alone.count;
    if (number >= all) return false;
    out->count = min(BATCH, all - number);
    out->waiting = 0;
    if (mine < out->count) {
        const uint32_t which = work.gather.alone.list[number + mine];
        const scene_view *scene = work.tiles.scene;
        const estimate_point point = estimate_point_of(&work.gather.requests[which].at);
        const openness_place place =
            openness_place_make(&scene->mesh, point.position, point.normal, point.triangle);
        visibility_horizon made;
        visibility_horizon_begin(&made, &place);
        scratch.horizon[mine].reach[ray] = visibility_reach(
            scene, &place, &made, (int)ray, HORIZON_REACH * work.gather.radii[which]);
        if (ray < 3) scratch.sums[mine][ray] = 0;
        if (ray == 0) {
            scratch.horizon[mine].x = made.x, scratch.horizon[mine].y = made.y;
            scratch.position[mine] = point.position, scratch.normal[mine] = point.normal;
            scratch.request[mine] = which;
            scratch.hidden[mine] = 0;
        }
    }
    __syncwarp();
    return true;
}

__device__ __forceinline__ visibility_place place_of(const batch &batch, uint32_t lookup) {
    const batch_scratch &scratch = batch.scratch;
    return visibility_place_make(scratch.position[lookup], scratch.normal[lookup],
                                 batch.work.gather.radii[scratch.request[lookup]],
                                 batch.work.gather.kernel);
}

/* The offset at which a sample of the visible share lies, as in visibility_weight. */
__device__ __forceinline__ vec3 sample_offset(const visibility_place &place, uint32_t which) {
    const vec2 disc = sample_disc(((float)(which / VISIBLE_SIDE) + place.shift[0]) / VISIBLE_SIDE,
                                  ((float)(which % VISIBLE_SIDE) + place.shift[1]) / VISIBLE_SIDE);
    return frame3_to_world(&place.axes, vec3_make(place.radius * disc.x, place.radius * disc.y, 0));
}

__device__ __forceinline__ void add_photon(const batch &batch, uint32_t lookup,
                                           const photon &landed, float s2, flux_sum *sum) {
    const gather_work &gather = batch.work.gather;
    const eye_request *request = gather.requests + batch.scratch.request[lookup];
    flux_sum_add(sum, photon_kernel_at(gather.kernel, s2),
                 photon_scattered(&request->at, request->wo, &landed), gather.scale);
}

__device__ __forceinline__ void add_units(unsigned long long (&to)[3], const flux_sum &sum) {
    atomicAdd(&to[0], (unsigned long long)sum.x);
    atomicAdd(&to[1], (unsigned long long)sum.y);
    atomicAdd(&to[2], (unsigned long long)sum.z);
}

/* Casts the last `count` rays that wait, one per lane. */
static __device__ __noinline__ void cast_waiting(batch *all, uint32_t count) {
    batch_scratch &scratch = all->scratch;
    all->waiting -= count;
    if (lane_id() < count) {
        const uint32_t at = all->waiting + lane_id(), to = scratch.queue.to[at];
        const uint32_t lookup = scratch.queue.lookup[at] & ~SAMPLE;
        const bool sample = scratch.queue.lookup[at] & SAMPLE;
        const vec3 from = scratch.position[lookup], normal = scratch.normal[lookup];
        photon landed;
        vec3 offset;
        if (sample) {
            offset = sample_offset(place_of(*all, lookup), to);
            landed.position = vec3_add(from, offset);
            landed.normal = normal;
        } else {
            landed = photon_of_records(all->work.gather.index.records, to);
            offset = vec3_sub(landed.position, from);
        }
        const bool blocked =
            visibility_blocked(all->work.tiles.scene, from, normal, landed.position, landed.normal,
                               VISIBLE_LIFT * vec3_length(offset));
        if (blocked && sample) atomicOr(&scratch.hidden[lookup], 1u << to);
        if (!blocked && !sample) {
            flux_sum sum = flux_sum_none();
            add_photon(*all, lookup, landed, scratch.queue.s2[at], &sum);
            add_units(scratch.sums[lookup], sum);
        }
    }
    __syncwarp();
}

/* Adds a ray of each lane that has one. Called by all lanes. */
__device__ __forceinline__ void push_ray(batch *all, bool has, uint32_t to, float s2,
                                         uint32_t lookup) {
    const unsigned lanes = __ballot_sync(ALL, has);
    const uint32_t at = all->waiting + __popc(lanes & ((1u << lane_id()) - 1));
    if (has) {
        all->scratch.queue.to[at] = to;
        all->scratch.queue.s2[at] = s2;
        all->scratch.queue.lookup[at] = (uint8_t)lookup;
    }
    all->waiting += __popc(lanes);
    __syncwarp();
    if (all->waiting >= 32) cast_waiting(all, 32);
}

/* Adds a photon of each lane that has one, unless only a ray can tell whether it is visible. */
__device__ __forceinline__ void offer_photon(batch *all, uint32_t lookup, bool has, uint32_t place,
                                             float s2, flux_sum *sum) {
    const batch_scratch &scratch = all->scratch;
    bool unclear = false;
    if (has) {
        const photon landed = photon_of_records(all->work.gather.index.records, place);
        if (vec3_dot(landed.normal, scratch.normal[lookup]) >= TILE_COSINE) {
            unclear = !visibility_is_free(&scratch.horizon[lookup],
                                          vec3_sub(landed.position, scratch.position[lookup]));
            if (!unclear) add_photon(*all, lookup, landed, s2, sum);
        }
    }
    push_ray(all, unclear, place, s2, lookup);
}

template <int PARTS>
__device__ __forceinline__ void offer_all(batch *all, nearest_scratch<PARTS> &scratch,
                                          uint32_t lookup, flux_sum *sum) {
    const float radius = all->work.gather.radii[all->scratch.request[lookup]];
    const float known = radius * (1 + 0x1p-20f); /* from the search without rays */
    const nearest_places<PARTS> best =
        find_nearest(all->work.gather, scratch, all->scratch.position[lookup], known * known);
    if (best.count == best.k) best.drop_last();
    const float per_radius2 = 1 / (radius * radius);
    for (uint32_t first = 0; radius > 0 && first < best.count; first += 32) {
        const uint32_t at = first + lane_id();
        const bool has = at < best.count && best.dist2[at] != KD_NONE;
        offer_photon(all, lookup, has, has ? best.place[at] : 0,
                     has ? __uint_as_float(best.dist2[at]) * per_radius2 : 0, sum);
    }
    __syncwarp();
}

__device__ __forceinline__ void offer_all(batch *all, within_scratch &scratch, uint32_t lookup,
                                          flux_sum *sum) {
    const float bound2 = pointtree_bound2(all->work.gather.radius), per_bound2 = 1 / bound2;
    const uint32_t bound = __float_as_uint(bound2);
    gather_index::visit(
        all->work.gather.index, scratch.path, all->scratch.position[lookup], [&] { return bound; },
        [&](uint32_t bits, uint32_t place) {
            offer_photon(all, lookup, bits <= bound, place, __uint_as_float(bits) * per_bound2,
                         sum);
        });
}

/* Offers all photons of all lookups. */
template <class SCRATCH> __device__ __forceinline__ void repeat_sums(batch *all, SCRATCH &scratch) {
    for (uint32_t lookup = 0; lookup < all->count; ++lookup) {
        flux_sum sum = flux_sum_none();
        offer_all(all, scratch, lookup, &sum);
        sum.x = warp_sum(sum.x), sum.y = warp_sum(sum.y), sum.z = warp_sum(sum.z);
        if (lane_id() == 0) add_units(all->scratch.sums[lookup], sum);
    }
}

/* Adds the rays to the samples of the visible share that something may hide. */
__device__ __forceinline__ void push_samples(batch *all) {
    for (uint32_t lookup = 0; lookup < all->count; ++lookup) {
        const bool unclear = lane_id() < VISIBLE_SAMPLES &&
                             !visibility_is_free(&all->scratch.horizon[lookup],
                                                 sample_offset(place_of(*all, lookup), lane_id()));
        push_ray(all, unclear, lane_id(), 0, lookup | SAMPLE);
    }
}

/* Multiplies the integrals by the visible shares, once it is known which samples are hidden. */
__device__ __forceinline__ void measure_shares(const batch &all) {
    batch_scratch &scratch = all.scratch;
    for (uint32_t i = lane_id(); i < BATCH * HORIZON_RAYS; i += 32)
        scratch.horizon[i / HORIZON_RAYS].reach[i % HORIZON_RAYS] = INFINITY; /* no more rays */
    __syncwarp();
    for (uint32_t i = lane_id(); i < all.count * VISIBLE_SAMPLES; i += 32) {
        const uint32_t lookup = i / VISIBLE_SAMPLES, which = i % VISIBLE_SAMPLES;
        const visibility_place place = place_of(all, lookup);
        bool hidden;
        scratch.weights[lookup][which] = visibility_weight(
            all.work.tiles.scene, &scratch.horizon[lookup], &place, (int)which, &hidden);
    }
    __syncwarp();
    if (lane_id() >= all.count) return;
    float visible = 0, whole = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < VISIBLE_SAMPLES; ++i) {
        const float weight = scratch.weights[lane_id()][i];
        whole += weight;
        if (weight > 0) ++count;
        if (!(scratch.hidden[lane_id()] >> i & 1u)) visible += weight;
    }
    all.work.integrals[scratch.request[lane_id()]] *= visibility_share_of(visible, whole, count);
}

template <class SCRATCH>
__global__ __launch_bounds__(32 * WARPS) void hide(const __grid_constant__ hiding work) {
    __shared__ SCRATCH searches[WARPS];
    __shared__ batch_scratch batches[WARPS];
    const uint32_t warp = threadIdx.x / 32;
    batch all = {work, batches[warp], 0, 0};
    while (take_batch(&all)) {
        if (work.sums) repeat_sums(&all, searches[warp]);
        if (work.integrals) push_samples(&all);
        cast_waiting(&all, all.waiting);
        if (work.sums && lane_id() < all.count) {
            const unsigned long long *units = all.scratch.sums[lane_id()];
            flux_sum *sum = &work.gather.sums[all.scratch.request[lane_id()]];
            sum->x = (int64_t)units[0], sum->y = (int64_t)units[1], sum->z = (int64_t)units[2];
        }
        if (work.integrals) measure_shares(all);
        __syncwarp();
    }
}

void (*kernel_of(uint32_t k))(hiding) {
    return k == 0     ? hide<within_scratch>
           : k <= 72  ? hide<nearest_scratch<4>>
           : k <= 320 ? hide<nearest_scratch<12>>
                      : hide<nearest_scratch<40>>;
}

} // namespace

extern "C" kd_status photon_maps_cuda_hide(const photon_maps_cuda *maps, int which, uint32_t gather,
                                           float radius, const photon_gather_cuda *request,
                                           float *integrals) {
    const photon_map_cuda *map = &maps->map[which];
    void (*kernel)(hiding) = kernel_of(gather);
    unsigned blocks = 0;
    hiding work;
    if (request->count == 0 || !maps->tiles.divided || !maps->tiles.patches) return KD_OK;
    memset(&work, 0, sizeof work);
    work.tiles = maps->tiles;
    work.integrals = maps->tiles.box_count ? integrals : NULL;
    work.sums = radius > 0 && map->list.local_count;
    if (map->list.local_count) work.gather.index = map_index_of(map);
    work.gather.requests = request->requests;
    work.gather.count = request->count;
    work.gather.order = request->order;
    work.gather.alone = {request->alone, request->alone + request->count,
                         request->alone + request->count + 1};
    work.gather.sums = request->sums;
    work.gather.radii = request->radii;
    work.gather.k = gather;
    work.gather.radius = radius;
    work.gather.kernel = maps->kernel;
    work.gather.scale = map->scale;
    KD_CUDA(cudaMemsetAsync(work.gather.alone.count, 0, 2 * sizeof(uint32_t)));
    list_divided<<<cuda_blocks(request->count, BLOCK), BLOCK>>>(work);
    KD_CUDA_LAUNCHED("list_divided");
    KD_TRY(cuda_resident_blocks(&blocks, kernel, 32 * WARPS));
    kernel<<<blocks, 32 * WARPS>>>(work);
    KD_CUDA_LAUNCHED("hide");
    return KD_OK;
}
