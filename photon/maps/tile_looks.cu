/* The kernel's integrals over tiles for all looks of a picture (photon/density/tiles.h), by warps.
   Idea: a look meets hundreds of boxes and tiles, each look its own, so a thread for each waits for
         the longest of its warp and for memory. Here a warp takes 32 looks, neighbours in the
         picture, and what they have still to meet lies in stacks in shared memory: pairs of a look
         and a box, of a look and a tile, and of a look and a tile that needs its closed form. The
         lanes take 32 pairs of one stack at a time, so all of them do alike, whose look it may be.
         Sums are of whole numbers, so the order in which things are met does not show.
   Work: as many boxes and tiles as a thread would meet. A look that meets more than it may in any
         order is done again as the CPU does it, a thread a look; so is one whose boxes find no
         room. The model at places that need it: 16 lanes, a ray each.
   Memory: 6 KB of shared memory a warp; 4 bytes a look and map, and 4 for those that are done again
         or modelled.
   Invariants: the bits of tile_kernel_integral.
   Data flow: requests with their sums and radii, tiles -> meet_all, a warp for 32 requests ->
              integrals; the numbers of those that are left and of those that are modelled, from
              both ends of a list, by atomics; again, a thread for each that is left, and
              ask_model, 16 lanes for each that is modelled -> their integrals, read by
              add_to_film. */
#include "core/device/cuda.h"
#include "photon/density/fixed_radius.h"
#include "photon/density/request.h"
#include "photon/maps/maps_device.h"

namespace {

constexpr unsigned ALL = 0xffffffffu;
constexpr int WARPS = 4, BLOCKS = 6, AGAIN_BLOCK = 128;
constexpr unsigned AGAIN_BLOCKS = 1056;
constexpr uint32_t BOXES = 768, TILES = 32 + 32 * TILE_LEAF, ROUGH = 64;
constexpr uint32_t LOOK_BITS = 5, NUMBERS = 1u << (32 - LOOK_BITS);
/* Looks that met no more have met all, in any order. */
constexpr uint32_t SURELY = TILE_EXACT - 1 - TILE_LEAF;
constexpr uint32_t NOT_HERE = 0x80000000u; /* met: this look is left to others */
constexpr uint32_t MODELLED = 1, IN_THE_DARK = 2;

struct measure_work {
    tile_view tiles;
    const eye_request *requests;
    uint32_t count;
    const flux_sum *sums;
    const float *radii;
    int32_t kernel;
    float *integrals;
    uint32_t *list, *left, *modelled; /* list: room for `count` */
};

/* What the lanes of a warp share: pairs, a number << LOOK_BITS | the look; and their looks. */
struct waiting_room {
    uint32_t boxes[BOXES], tiles[TILES], rough[ROUGH];
    vec3 position[32], normal[32];
    float radius[32];
    uint32_t triangle[32];
    uint32_t met[32], lit[2][32], dark[2][32], found[32];
};

/* How many pairs wait; the same in all lanes. */
struct waiting_counts {
    uint32_t boxes, tiles, rough;
};

__device__ __forceinline__ uint32_t lane_id() {
    return threadIdx.x & 31;
}

__device__ __forceinline__ uint32_t before_me(unsigned lanes) {
    return (uint32_t)__popc(lanes & ((1u << lane_id()) - 1));
}

__device__ __forceinline__ tile_look look_of(const measure_work &work, const waiting_room &room,
                                             uint32_t which) {
    return tile_look_begin(room.position[which], room.normal[which], room.triangle[which],
                           room.radius[which], work.kernel);
}

__device__ __forceinline__ void add_units(uint32_t (*to)[32], uint32_t which, int64_t units) {
    const uint32_t low = (uint32_t)units, high = (uint32_t)(units >> 32);
    if (units == 0) return;
    const uint32_t before = atomicAdd(&to[0][which], low);
    const uint32_t carried = high + (before + low < low ? 1 : 0);
    if (carried) atomicAdd(&to[1][which], carried);
}

/* Brings what a lane has found to its look. */
__device__ __forceinline__ void bring(waiting_room &room, uint32_t which, const tile_look &look) {
    add_units(room.lit, which, look.lit);
    add_units(room.dark, which, look.dark);
    const uint32_t found = (look.modelled ? MODELLED : 0) | (look.in_the_dark ? IN_THE_DARK : 0);
    if (found) atomicOr(&room.found[which], found);
}

/* What every look reads of a box. */
__device__ __forceinline__ tile_box box_to_judge(const tile_box *boxes, uint32_t which) {
    const float4 *from = (const float4 *)(boxes + which);
    const float4 a = __ldg(from), b = __ldg(from + 1), c = __ldg(from + 2), d = __ldg(from + 3);
    tile_box made;
    made.lo = vec3_make(a.x, a.y, a.z);
    made.hi = vec3_make(a.w, b.x, b.y);
    made.skip = __float_as_uint(b.z);
    made.begin = __float_as_uint(b.w);
    made.axis = vec3_make(c.x, c.y, c.z);
    made.cosine = c.w;
    made.sine = d.x;
    made.dark[0] = d.y;
    made.dark[1] = d.z;
    made.second = __float_as_uint(d.w);
    return made;
}

/* And of one that is taken. */
__device__ __forceinline__ void box_to_take(const tile_box *boxes, uint32_t which, tile_box *to) {
    const tile_box *from = boxes + which;
    const float4 e = __ldg((const float4 *)from + 4);
    to->middle = vec3_make(e.x, e.y, e.z);
    to->weight[0] = e.w;
    to->weight[1] = __ldg(&from->weight[1]);
    to->modelled = __ldg(&from->modelled);
}

__device__ __forceinline__ tile tile_to_take(const tile *tiles, uint32_t which) {
    const float4 *from = (const float4 *)(tiles + which);
    const float4 a = __ldg(from), b = __ldg(from + 1), c = __ldg(from + 2), d = __ldg(from + 3);
    tile made;
    made.corner[0] = vec3_make(a.x, a.y, a.z);
    made.corner[1] = vec3_make(a.w, b.x, b.y);
    made.corner[2] = vec3_make(b.z, b.w, c.x);
    made.normal = vec3_make(c.y, c.z, c.w);
    made.weight[0] = d.x;
    made.weight[1] = d.y;
    made.area = d.z;
    made.triangle = __float_as_uint(d.w);
    return made;
}

static_assert(sizeof(tile_box) == 128 && sizeof(tile) == 64, "as they are read");
static_assert(offsetof(tile_box, axis) == 32 && offsetof(tile_box, middle) == 64 &&
                  offsetof(tile, normal) == 36 && offsetof(tile, weight) == 48,
              "as they are read");

/* --- a step of each stack ------------------------------------------------------------------------
 */

/* Takes up to `most` pairs from the top of a stack; whether this lane has one. */
__device__ __forceinline__ bool take_pair(const uint32_t *stack, uint32_t *count, uint32_t most,
                                          uint32_t *which, uint32_t *number) {
    const uint32_t taken = *count < most ? *count : most;
    *count -= taken;
    const bool has = lane_id() < taken;
    const uint32_t pair = has ? stack[*count + lane_id()] : 0;
    *which = pair & 31u;
    *number = pair >> LOOK_BITS;
    __syncwarp();
    return has;
}

/* 32 boxes: their parts, or their tiles, wait next. */
__device__ __forceinline__ void meet_boxes(const measure_work &work, waiting_room &room,
                                           waiting_counts &count) {
    const bool full = count.boxes == BOXES;
    const uint32_t room_left = full ? 1 : BOXES - count.boxes;
    uint32_t which, number;
    bool has =
        take_pair(room.boxes, &count.boxes, room_left < 32 ? room_left : 32, &which, &number);
    if (has && full) atomicOr(&room.met[which], NOT_HERE);
    has = has && room.met[which] <= SURELY;
    bool parts = false, leaf = false;
    tile_box box;
    if (has) {
        box = box_to_judge(work.tiles.boxes, number);
        tile_look look = look_of(work, room, which);
        const tile_verdict verdict = tile_box_judge(&look, &box, TILE_COSINE);
        if (verdict == TILE_AS_ONE) {
            box_to_take(work.tiles.boxes, number, &box);
            tile_box_take(&look, &box);
            bring(room, which, look);
        }
        leaf = verdict == TILE_OPEN_BOX && box.skip == number + 1;
        parts = verdict == TILE_OPEN_BOX && !leaf;
        atomicAdd(&room.met[which], leaf ? 1 + box.second : 1);
    }
    const unsigned opened = __ballot_sync(ALL, parts);
    if (parts) {
        const uint32_t to = count.boxes + 2 * before_me(opened);
        room.boxes[to] = box.second << LOOK_BITS | which;
        room.boxes[to + 1] = (number + 1) << LOOK_BITS | which;
    }
    count.boxes += 2 * (uint32_t)__popc(opened);
    for (uint32_t t = 0; t < TILE_LEAF; ++t) {
        const bool more = leaf && t < box.second;
        const unsigned all = __ballot_sync(ALL, more);
        if (more) room.tiles[count.tiles + before_me(all)] = (box.begin + t) << LOOK_BITS | which;
        count.tiles += (uint32_t)__popc(all);
    }
    __syncwarp();
}

/* 32 tiles: those that need their closed form wait next. */
__device__ __forceinline__ void meet_tiles(const measure_work &work, waiting_room &room,
                                           waiting_counts &count) {
    uint32_t which, number;
    const bool has = take_pair(room.tiles, &count.tiles, 32, &which, &number);
    bool rough = false;
    if (has) {
        const tile of = tile_to_take(work.tiles.tiles, number);
        tile_look look = look_of(work, room, which);
        const float weight = tile_weight(&look, &of, TILE_COSINE);
        vec3 p[3];
        float part = 0;
        if (weight != 0) {
            tile_see(&look, &of, p);
            rough = !tile_is_smooth(&look, &of, p, &part);
        }
        if (weight != 0 && !rough) {
            tile_add(&look, &of, weight, part);
            bring(room, which, look);
        }
    }
    const unsigned all = __ballot_sync(ALL, rough);
    if (rough) room.rough[count.rough + before_me(all)] = number << LOOK_BITS | which;
    count.rough += (uint32_t)__popc(all);
    __syncwarp();
}

/* 32 tiles by their closed form. */
__device__ __forceinline__ void meet_rough(const measure_work &work, waiting_room &room,
                                           waiting_counts &count) {
    uint32_t which, number;
    if (take_pair(room.rough, &count.rough, 32, &which, &number)) {
        const tile of = tile_to_take(work.tiles.tiles, number);
        tile_look look = look_of(work, room, which);
        vec3 p[3];
        tile_see(&look, &of, p);
        const float part = triangle_kernel_integral(look.kernel, p[0], p[1], p[2], of.normal);
        tile_add(&look, &of, tile_weight(&look, &of, TILE_COSINE), part);
        bring(room, which, look);
    }
    __syncwarp();
}

/* --- all of it -----------------------------------------------------------------------------------
 */

/* Puts this lane's look into the room; whether it has to be met: its integral is not known. */
__device__ __forceinline__ bool begin_look(const measure_work &work, waiting_room &room,
                                           uint32_t request) {
    const uint32_t lane = lane_id();
    room.met[lane] = room.found[lane] = 0;
    room.lit[0][lane] = room.lit[1][lane] = room.dark[0][lane] = room.dark[1][lane] = 0;
    if (request >= work.count || flux_sum_is_zero(work.sums + request)) return false;
    const float radius = work.radii[request];
    if (!(radius > 0)) return false;
    const estimate_point here = estimate_point_of(&work.requests[request].at);
    const tile_look look =
        tile_look_begin(here.position, here.normal, here.triangle, radius, work.kernel);
    room.position[lane] = here.position;
    room.normal[lane] = here.normal;
    room.radius[lane] = radius;
    room.triangle[lane] = here.triangle;
    if (!tile_place_is_wide(&work.tiles, &look)) return true;
    work.integrals[request] = 2 * KD_PI * photon_kernel_sector(work.kernel);
    return false;
}

/* Writes the integral of this lane's look, or leaves it to others. */
__device__ __forceinline__ void end_look(const measure_work &work, const waiting_room &room,
                                         uint32_t request) {
    const uint32_t lane = lane_id(), found = room.found[lane];
    if (room.met[lane] > SURELY) {
        work.list[atomicAdd(work.left, 1u)] = request;
        return;
    }
    tile_look look = look_of(work, room, lane);
    look.lit = (int64_t)((uint64_t)room.lit[1][lane] << 32 | room.lit[0][lane]);
    look.dark = (int64_t)((uint64_t)room.dark[1][lane] << 32 | room.dark[0][lane]);
    look.in_the_dark = (found & IN_THE_DARK) != 0;
    const float integral = tile_look_found(&look);
    if (found & MODELLED) {
        work.integrals[request] = integral;
        work.list[work.count - 1 - atomicAdd(work.modelled, 1u)] = request;
    } else {
        work.integrals[request] = tile_look_over_model(&look, integral, 1);
    }
}

__global__ __launch_bounds__(32 * WARPS,
                             BLOCKS) void meet_all(const __grid_constant__ measure_work work) {
    __shared__ waiting_room rooms[WARPS];
    waiting_room &room = rooms[threadIdx.x / 32];
    const uint32_t first = (blockIdx.x * WARPS + threadIdx.x / 32) * 32;
    if (first >= work.count) return; /* all lanes of a warp */
    const bool looks = begin_look(work, room, first + lane_id());
    const unsigned all = __ballot_sync(ALL, looks);
    waiting_counts count = {(uint32_t)__popc(all), 0, 0};
    if (looks) {
        room.boxes[before_me(all)] = lane_id(); /* the root */
        if (work.tiles.box_count >= NUMBERS || work.tiles.count >= NUMBERS)
            room.met[lane_id()] = NOT_HERE;
    }
    __syncwarp();
    while (count.boxes | count.tiles | count.rough) {
        const bool last = count.boxes == 0;
        if (count.rough >= 32 || (last && count.tiles == 0))
            meet_rough(work, room, count);
        else if (count.tiles >= 32 || last)
            meet_tiles(work, room, count);
        else
            meet_boxes(work, room, count);
    }
    if (looks) end_look(work, room, first + lane_id());
}

/* Looks that were left, as the CPU does them. */
__global__ __launch_bounds__(AGAIN_BLOCK) void again(const __grid_constant__ measure_work work) {
    const uint32_t count = *work.left;
    for (uint32_t i = blockIdx.x * AGAIN_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * AGAIN_BLOCK) {
        const uint32_t request = work.list[i];
        const estimate_point here = estimate_point_of(&work.requests[request].at);
        tile_look look = tile_look_begin(here.position, here.normal, here.triangle,
                                         work.radii[request], work.kernel);
        work.integrals[request] = tile_kernel_integral(&work.tiles, &look, TILE_COSINE);
    }
}

/* The model at a look's place, over which its integral is taken. */
__global__
__launch_bounds__(AGAIN_BLOCK) void ask_model(const __grid_constant__ measure_work work) {
    const uint32_t count = *work.modelled, half = threadIdx.x / OPENNESS_RAYS,
                   halves = AGAIN_BLOCK / OPENNESS_RAYS, lane = threadIdx.x % OPENNESS_RAYS;
    const scene_view *scene = work.tiles.scene;
    for (uint32_t first = blockIdx.x * halves; first < count; first += gridDim.x * halves) {
        const bool has = first + half < count;
        const uint32_t request = has ? work.list[work.count - 1 - first - half] : 0;
        const estimate_point here = estimate_point_of(&work.requests[request].at);
        float hides = 0, hidden = 0;
        if (has) {
            const openness_place place =
                openness_place_make(&scene->mesh, here.position, here.normal, here.triangle);
            const ray cast = openness_ray(&place, (int)lane, work.tiles.span);
            const ray_hit hit = tritree_closest(&scene->tree, cast);
            hides = openness_hidden(openness_end(scene, cast, hit), work.tiles.span);
        }
        __syncwarp();
        for (int i = 0; i < OPENNESS_RAYS; ++i) hidden += __shfl_sync(ALL, hides, i, OPENNESS_RAYS);
        if (!has || lane) continue;
        const tile_look look = tile_look_begin(here.position, here.normal, here.triangle,
                                               work.radii[request], work.kernel);
        work.integrals[request] = tile_look_over_model(&look, work.integrals[request],
                                                       openness_model(hidden / OPENNESS_RAYS));
    }
}

} // namespace

extern "C" kd_status photon_maps_cuda_measure(const photon_maps_cuda *maps,
                                              const photon_gather_cuda *asked, float *integrals) {
    if (asked->count == 0) return KD_OK;
    measure_work work;
    memset(&work, 0, sizeof work);
    work.tiles = maps->outlines.tiles;
    work.requests = asked->requests;
    work.count = asked->count;
    work.sums = asked->sums;
    work.radii = asked->radii;
    work.kernel = (int32_t)maps->kernel;
    work.integrals = integrals;
    work.left = asked->alone;
    work.modelled = asked->alone + 1;
    work.list = asked->alone + 2;
    KD_CUDA(cudaMemsetAsync(asked->alone, 0, 2 * sizeof(uint32_t)));
    const uint64_t warps = (asked->count + 31ull) / 32;
    meet_all<<<(unsigned)((warps + WARPS - 1) / WARPS), 32 * WARPS>>>(work);
    KD_CUDA_LAUNCHED("meet_all");
    again<<<AGAIN_BLOCKS, AGAIN_BLOCK>>>(work);
    KD_CUDA_LAUNCHED("again");
    ask_model<<<AGAIN_BLOCKS, AGAIN_BLOCK>>>(work);
    KD_CUDA_LAUNCHED("ask_model");
    return KD_OK;
}
