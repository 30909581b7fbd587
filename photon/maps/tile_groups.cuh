/* Traversal of tiles by groups: one warp for up to 32 lookups that are close together.
   Idea: neighbours in an image visit mostly the same boxes and tiles. So a group of lookups
         descends the hierarchy once, testing 32 boxes at a time, one per lane, against a box that
         contains all its points, down to leaves and to boxes so small that some lookup may evaluate
         them in one step. From there each lookup traverses by itself, as on a CPU: each lane
         handles one lookup and one of these boxes, so that 32 / (number of lookups) boxes are
         traversed concurrently, with sums in registers. Tiles that need the closed form are
         collected, as pairs of tile and lookup, until there are 32. A group that is spread too far,
         or visits more than a lookup may, is split in halves.
   Work: the boxes and tiles that a lookup or one of its neighbours visits; the descent of a group
         tests 32 boxes in one step.
   Memory: 4.5 KB of shared memory per warp.
   Invariants: the bits of tile_kernel_integral for lookups that visit at most SURELY boxes and
               tiles. What a group rejects, each of its lookups would reject: a box outside of the
               box of all points, enlarged by the largest radius, is outside of each ball, as
               computed; a box that faces away from all normals contains no tile that counts. */
#ifndef KD_PHOTON_MAPS_TILE_GROUPS_CUH
#define KD_PHOTON_MAPS_TILE_GROUPS_CUH
#include "core/device/cuda.h"
#include "photon/density/estimate.h"
#include "photon/density/estimate_radius.h"
#include "photon/maps/maps_device.h"

namespace tile_groups {

constexpr unsigned ALL = 0xffffffffu;
constexpr uint32_t BOXES = 512, ITEMS = 128, ROUGH = 64;
constexpr uint32_t LOOKUP_BITS = 5, NUMBERS = 1u << (32 - LOOKUP_BITS);
/* A lookup that visited no more than this has visited everything, in any order. */
constexpr uint32_t SURELY = TILE_EXACT - 1 - TILE_LEAF;
constexpr uint32_t NOT_TRAVERSED =
    0x80000000u; /* flag in `candidates`: the lookup is left to another kernel */
constexpr uint32_t MODELLED = 1, IN_THE_DARK = 2;
/* Largest diagonal of the box of a group's points, relative to their largest radius. */
constexpr float TOGETHER = 16;
/* Margin of the cosine for boxes that face away from a group: above all rounding errors and
   TILE_MARGIN. */
constexpr float TURNED_AWAY = 4e-3f;

struct measure_work {
    tile_view tiles;
    const eye_request *requests;
    uint32_t count;
    const eye_packet *packets;
    uint32_t packet_count;
    uint32_t per_packet;   /* without packets: so many requests form one */
    const uint32_t *order; /* of the `count` requests if there are no packets; NULL: as they are */
    const flux_sum *sums;
    const float *radii;
    photon_kernel kernel;
    float *integrals;
    uint32_t *list, *left, *modelled; /* list: capacity `count` */
};

/* Shared memory of a warp: boxes still to be visited, and its lookups. */
struct pending_scratch {
    uint32_t boxes[BOXES], items[ITEMS]; /* boxes of the group; boxes of single lookups */
    uint32_t rough[ROUGH];               /* tile << LOOKUP_BITS | lookup */
    vec3 position[32], normal[32];
    float radius[32];
    uint32_t triangle[32], request[32];
    uint32_t candidates[32], lit[2][32], dark[2][32], flags[32];
};

/* The lookups first .. first + size - 1 of the warp, with size a power of two. Uniform in the warp,
   except for the members of a lane. */
struct lookup_group {
    vec3 lo, hi;                   /* bounding box of the query points */
    float bound2;                  /* largest squared radius */
    vec3 axis;                     /* axis of the cone of their normals */
    float cosine, sine;            /* cosine and sine of the cone's angle; cosine 0: no cone */
    uint32_t boxes, items, rough;  /* numbers of boxes to be visited */
    uint32_t passed;               /* boxes visited by the group */
    uint32_t slots;                /* 32 / size: boxes that are traversed concurrently */
    uint32_t slot, slot_of_lookup; /* slot and lookup of this lane */
    bool is_valid;                 /* this lane has a lookup */
    tile_lookup lookup;
};

__device__ __forceinline__ uint32_t lane_id() {
    return threadIdx.x & 31;
}

__device__ __forceinline__ uint32_t before_me(unsigned lanes) {
    return (uint32_t)__popc(lanes & ((1u << lane_id()) - 1));
}

__device__ __forceinline__ tile_lookup lookup_of(const measure_work &work,
                                                 const pending_scratch &scratch, uint32_t which) {
    return tile_lookup_begin(scratch.position[which], scratch.normal[which],
                             scratch.triangle[which], scratch.radius[which], work.kernel);
}

__device__ __forceinline__ void add_units(uint32_t (*to)[32], uint32_t which, int64_t units) {
    const uint32_t low = (uint32_t)units, high = (uint32_t)(units >> 32);
    if (units == 0) return;
    const uint32_t before = atomicAdd(&to[0][which], low);
    const uint32_t carried = high + (before + low < low ? 1 : 0);
    if (carried) atomicAdd(&to[1][which], carried);
}

/* Adds what a lane has found to its lookup. */
__device__ __forceinline__ void add_result(pending_scratch &scratch, uint32_t which,
                                           const tile_lookup &lookup) {
    add_units(scratch.lit, which, lookup.lit);
    add_units(scratch.dark, which, lookup.dark);
    const uint32_t flags =
        (lookup.modelled ? MODELLED : 0) | (lookup.in_the_dark ? IN_THE_DARK : 0);
    if (flags) atomicOr(&scratch.flags[which], flags);
}

/* Loads the members of a box that every visit reads. */
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

/* Loads the members of a box that is evaluated in one step. */
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

/* --- groups ----------------------------------------------------------------------------------- */

template <class MERGE> __device__ __forceinline__ float of_warp(float value, const MERGE &merge) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value = merge(value, __shfl_xor_sync(ALL, value, step));
    return value;
}

__device__ __forceinline__ float warp_min(float value) {
    return of_warp(value, [](float a, float b) { return float_min(a, b); });
}

__device__ __forceinline__ float warp_max(float value) {
    return of_warp(value, [](float a, float b) { return float_max(a, b); });
}

/* Sets the lookup of this lane; lanes beyond the group use its first one for the bounds. */
__device__ __forceinline__ lookup_group group_of(const measure_work &work,
                                                 const pending_scratch &scratch, uint32_t first,
                                                 uint32_t size, uint32_t is_valid) {
    lookup_group made;
    made.slots = 32 / size;
    made.slot = lane_id() / size;
    made.slot_of_lookup = first + (lane_id() & (size - 1));
    made.is_valid = made.slot_of_lookup < is_valid;
    made.lookup = lookup_of(work, scratch, made.is_valid ? made.slot_of_lookup : first);
    const vec3 p = made.lookup.position;
    made.lo = vec3_make(warp_min(p.x), warp_min(p.y), warp_min(p.z));
    made.hi = vec3_make(warp_max(p.x), warp_max(p.y), warp_max(p.z));
    made.bound2 = warp_max(made.lookup.bound2);
    made.axis = scratch.normal[first];
    made.cosine = float_max(warp_min(vec3_dot(made.axis, made.lookup.normal)), 0);
    made.sine = sqrtf(float_max(0, 1 - made.cosine * made.cosine));
    made.boxes = made.items = made.rough = made.passed = 0;
    return made;
}

__device__ __forceinline__ bool lies_together(const lookup_group &group) {
    const float diagonal2 = vec3_length2(vec3_sub(group.hi, group.lo));
    return group.slots == 32 || diagonal2 <= TOGETHER * TOGETHER * group.bound2;
}

/* Returns true if nothing in the box counts for any lookup of the group. */
__device__ __forceinline__ bool box_is_outside(const lookup_group &group, const tile_box &box) {
    const vec3 distance =
        vec3_max(vec3_max(vec3_sub(box.lo, group.hi), vec3_sub(group.lo, box.hi)), vec3_all(0));
    if (distance.x * distance.x + distance.y * distance.y + distance.z * distance.z > group.bound2)
        return true;
    const float cosine = box.cosine * group.cosine - box.sine * group.sine;
    if (!(box.cosine > 0 && group.cosine > 0 && cosine > 0)) return false;
    const float sine = box.sine * group.cosine + box.cosine * group.sine;
    const float along = fabsf(vec3_dot(box.axis, group.axis));
    const float across = sqrtf(float_max(0, 1 - along * along));
    return along < cosine && along * cosine + across * sine < TILE_COSINE - TURNED_AWAY;
}

/* Tests 32 boxes of the group: pushes their children, or the boxes themselves for each lookup. */
__device__ __forceinline__ void pass_boxes(const measure_work &work, pending_scratch &scratch,
                                           lookup_group *group) {
    const uint32_t boxes_left = BOXES - group->boxes;
    const uint32_t maximum = boxes_left < 32 ? boxes_left : 32;
    const uint32_t taken = group->boxes < maximum ? group->boxes : maximum;
    group->boxes -= taken;
    group->passed += taken;
    const bool has = lane_id() < taken;
    const uint32_t number = has ? scratch.boxes[group->boxes + lane_id()] : 0;
    __syncwarp(); /* all lanes have read before children are written */
    bool parts = false, item = false;
    uint32_t second = 0;
    if (has) {
        const tile_box box = box_to_judge(work.tiles.boxes, number);
        const float size2 = vec3_length2(vec3_sub(box.hi, box.lo));
        const bool small = box.cosine > 0 && size2 <= TILE_TOGETHER * TILE_TOGETHER * group->bound2;
        const bool candidates = !box_is_outside(*group, box);
        item = candidates && (small || box.skip == number + 1);
        parts = candidates && !item;
        second = box.second;
    }
    const unsigned items = __ballot_sync(ALL, item), opened = __ballot_sync(ALL, parts);
    if (item) scratch.items[group->items + before_me(items)] = number;
    if (parts) {
        const uint32_t to = group->boxes + 2 * before_me(opened);
        scratch.boxes[to] = second;
        scratch.boxes[to + 1] = number + 1;
    }
    group->items += (uint32_t)__popc(items);
    group->boxes += 2 * (uint32_t)__popc(opened);
    __syncwarp();
}

/* Evaluates the last of `rough` collected tiles, at most 32, by the closed form. Not inlined, so
   that its registers are not occupied all the time. */
static __device__ __noinline__ void intersect_rough(const tile *tiles, photon_kernel kernel,
                                                    pending_scratch &scratch, uint32_t rough) {
    const uint32_t taken = rough < 32 ? rough : 32;
    if (lane_id() < taken) {
        const uint32_t pair = scratch.rough[rough - taken + lane_id()], which = pair & 31u;
        const tile tile = tile_to_take(tiles, pair >> LOOKUP_BITS);
        tile_lookup lookup =
            tile_lookup_begin(scratch.position[which], scratch.normal[which],
                              scratch.triangle[which], scratch.radius[which], kernel);
        vec3 p[3];
        tile_see(&lookup, &tile, p);
        const float part = triangle_kernel_integral(lookup.kernel, p[0], p[1], p[2], tile.normal);
        tile_add(&lookup, &tile, tile_weight(&lookup, &tile, TILE_COSINE), part);
        add_result(scratch, which, lookup);
    }
    __syncwarp();
}

/* Visits each lane's tiles for its lookup; collects those that need the closed form. */
__device__ __forceinline__ void intersect_tiles(const measure_work &work, pending_scratch &scratch,
                                                lookup_group *group, uint32_t begin,
                                                uint32_t count) {
    for (uint32_t t = 0; __any_sync(ALL, t < count); ++t) {
        bool rough = false;
        if (t < count) {
            const tile tile = tile_to_take(work.tiles.tiles, begin + t);
            const float weight = tile_weight(&group->lookup, &tile, TILE_COSINE);
            vec3 p[3];
            float part = 0;
            if (weight != 0) {
                tile_see(&group->lookup, &tile, p);
                rough = !tile_is_smooth(&group->lookup, &tile, p, &part);
            }
            if (weight != 0 && !rough) tile_add(&group->lookup, &tile, weight, part);
        }
        const unsigned all = __ballot_sync(ALL, rough);
        if (rough)
            scratch.rough[group->rough + before_me(all)] =
                (begin + t) << LOOKUP_BITS | group->slot_of_lookup;
        group->rough += (uint32_t)__popc(all);
        __syncwarp();
        if (group->rough >= 32) {
            intersect_rough(work.tiles.tiles, work.kernel, scratch, group->rough);
            group->rough -= 32;
        }
    }
}

/* Visits the next box of a lane; returns its tiles if it is a leaf to be opened. */
struct walk_step {
    uint32_t begin, count;
};
__device__ __forceinline__ walk_step walk_box(const measure_work &work, tile_lookup *lookup,
                                              uint32_t *next, uint32_t *end) {
    walk_step step = {0, 0};
    tile_box box = box_to_judge(work.tiles.boxes, *next);
    const tile_verdict verdict = tile_box_judge(lookup, &box, TILE_COSINE);
    const bool opens = verdict == TILE_OPEN_BOX, leaf = box.skip == *next + 1;
    if (verdict == TILE_AS_ONE) {
        box_to_take(work.tiles.boxes, *next, &box);
        tile_box_take(lookup, &box);
    }
    if (opens && leaf) step = {box.begin, box.second};
    if (*end == 0) *end = box.skip;
    ++lookup->tested;
    lookup->tested += step.count;
    *next = opens && !leaf ? *next + 1 : box.skip;
    return step;
}

/* Visits all boxes collected for each lookup: one lane per lookup and box. */
__device__ __forceinline__ void walk_items(const measure_work &work, pending_scratch &scratch,
                                           lookup_group *group) {
    for (uint32_t item = group->slot; __any_sync(ALL, item < group->items); item += group->slots) {
        uint32_t next = 0, end = 0;
        bool goes = group->is_valid && item < group->items;
        if (goes) next = scratch.items[item];
        while (__any_sync(ALL, goes)) {
            walk_step step = {0, 0};
            if (goes) {
                step = walk_box(work, &group->lookup, &next, &end);
                goes = next < end;
            }
            intersect_tiles(work, scratch, group, step.begin, step.count);
        }
    }
    group->items = 0;
    __syncwarp();
}

/* Visits everything for the group's lookups; returns false if something may be missing. */
__device__ __forceinline__ bool intersect_group(const measure_work &work, pending_scratch &scratch,
                                                lookup_group *group) {
    if (lane_id() == 0) scratch.boxes[0] = 0; /* the root */
    group->boxes = 1;
    __syncwarp();
    while (group->boxes | group->items) {
        if (group->boxes == BOXES || group->passed > SURELY) return false;
        if (group->boxes && group->items + 32 <= ITEMS)
            pass_boxes(work, scratch, group);
        else
            walk_items(work, scratch, group);
    }
    if (group->rough) intersect_rough(work.tiles.tiles, work.kernel, scratch, group->rough);
    if (group->is_valid) {
        add_result(scratch, group->slot_of_lookup, group->lookup);
        atomicAdd(&scratch.candidates[group->slot_of_lookup], group->lookup.tested);
    }
    __syncwarp();
    const bool all =
        __all_sync(ALL, !group->is_valid ||
                            scratch.candidates[group->slot_of_lookup] + group->passed <= SURELY);
    __syncwarp(); /* all lanes have read before sums are cleared for the halves */
    return all;
}

__device__ __forceinline__ void clear_sums(pending_scratch &scratch, uint32_t which) {
    scratch.candidates[which] = scratch.flags[which] = 0;
    scratch.lit[0][which] = scratch.lit[1][which] = scratch.dark[0][which] =
        scratch.dark[1][which] = 0;
}

/* Processes all lookups of the warp, in groups as large as the distances between them allow. */
__device__ __forceinline__ void intersect_lookups(const measure_work &work,
                                                  pending_scratch &scratch, uint32_t is_valid) {
    uint32_t first = 0, size = 32;
    while (size > 1 && size / 2 >= is_valid) size /= 2;
    while (first < is_valid) {
        lookup_group group = group_of(work, scratch, first, size, is_valid);
        const bool done = lies_together(group) && intersect_group(work, scratch, &group);
        const uint32_t slot = first + lane_id();
        if (!done && lane_id() < size) {
            clear_sums(scratch, slot);
            if (size == 1) scratch.candidates[slot] = NOT_TRAVERSED;
        }
        __syncwarp();
        if (!done && size > 1) {
            size /= 2;
            continue;
        }
        first += size;
        while (size < 32 && first % (2 * size) == 0 && first + size < is_valid) size *= 2;
    }
}

} // namespace tile_groups
#endif
