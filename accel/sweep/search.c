#include "accel/sweep/search.h"
#include "accel/sweep/sah8.h"
#include "core/memory.h"

enum { LANES = VECTOR8_LANES };
enum { LOW_HALF = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ }; /* of a 64-bit number */
static_assert(SWEEP_BLOCK_SPARE >= LANES + 1,
              "whole vectors of blocks are read, and the one after");
static_assert(SWEEP_BLOCK % LANES == 0, "a block is walked by vectors");

kd_status sweep_blocks_open(sweep_blocks *out, uint64_t event_count) {
    const uint64_t room = event_count / SWEEP_BLOCK + 1 + SWEEP_BLOCK_SPARE;
    KD_TRY(KD_RESERVE(out->plane, room));
    KD_TRY(KD_RESERVE(out->begun, room));
    KD_TRY(KD_RESERVE(out->ended, room));
    KD_TRY(KD_RESERVE(out->begun_most, room));
    return KD_RESERVE(out->bound, room);
}

void sweep_blocks_close(sweep_blocks *owned) {
    memory_free(owned->plane);
    memory_free(owned->begun);
    memory_free(owned->ended);
    memory_free(owned->begun_most);
    memory_free(owned->bound);
    memset(owned, 0, sizeof *owned);
}

typedef struct type_counts {
    uint32_t starts, planars;
} type_counts;

static inline type_counts count_types(const sweep_event *event, uint32_t count) {
    type_counts counts = {0, 0};
    for (uint32_t i = 0; i < count; ++i) {
        counts.starts += sweep_event_type(event[i]) == EVENT_START;
        counts.planars += sweep_event_type(event[i]) == EVENT_PLANAR;
    }
    return counts;
}

/* The same of a whole block: a bit of each event's type at a time. */
VECTOR8_FN type_counts count_block(const sweep_event *event) {
    static_assert(SWEEP_BLOCK == 16 && EVENT_START == 2 && EVENT_PLANAR == 1, "two bits of 16");
    uint32_t starts = 0, planars = 0;
    for (int k = 0; k < SWEEP_BLOCK; k += LANES) {
        int8 low, high;
        memcpy(&low, event + k, sizeof low);
        memcpy(&high, event + k + LANES / 2, sizeof high);
        const int8 codes =
            __builtin_shufflevector(low, high, LOW_HALF, LOW_HALF + 2, 8 + LOW_HALF, 10 + LOW_HALF,
                                    4 + LOW_HALF, 6 + LOW_HALF, 12 + LOW_HALF, 14 + LOW_HALF);
        starts = starts << LANES | int8_bits(codes);
        planars = planars << LANES | int8_bits(codes << 1);
    }
    const type_counts counts = {(uint32_t)__builtin_popcount(starts),
                                (uint32_t)__builtin_popcount(planars)};
    return counts;
}

/* Returns how many blocks there are; the entries after them are those of the list's end. */
VECTOR8_FN uint32_t count_blocks(const sweep_line *line, const sweep_blocks *blocks) {
    const sweep_event *event = line->events;
    int32_t begun = 0, ended = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < line->count; i += SWEEP_BLOCK, ++k) {
        const bool whole = line->count - i >= SWEEP_BLOCK;
        const uint32_t count = whole ? SWEEP_BLOCK : line->count - i;
        const type_counts types = whole ? count_block(event + i) : count_types(event + i, count);
        blocks->plane[k] = sweep_event_position(event[i]);
        blocks->begun[k] = begun;
        blocks->ended[k] = ended;
        blocks->begun_most[k] =
            sweep_event_type(event[i]) == EVENT_PLANAR ? (int32_t)line->triangles : begun;
        /* a group of planar events that goes on in the next block knows no bound */
        blocks->bound[k] =
            sweep_event_type(event[i + count - 1]) == EVENT_PLANAR ? -INFINITY : 0.0f;
        begun += (int32_t)(types.starts + types.planars);
        ended += (int32_t)(count - types.starts);
    }
    for (uint32_t i = k; i < k + LANES + 1; ++i) {
        blocks->plane[i] = sweep_event_position(event[line->count - 1]);
        blocks->begun[i] = blocks->begun_most[i] = begun;
        blocks->ended[i] = ended;
        blocks->bound[i] = 0;
    }
    return k;
}

/* Bounds of all blocks; returns one of the least cost from above. */
VECTOR8_FN float bound_blocks(const sweep_line *line, const sah_costs *costs, const sah_axis *of,
                              const sweep_blocks *blocks, uint32_t count) {
    const int32_t triangles = (int32_t)line->triangles;
    const float8 all = float8_all(costs->intersect);
    const float8 reduced = float8_all(costs->intersect * costs->empty_factor);
    float8 most = float8_all(INFINITY);
    for (uint32_t k = 0; k < count; k += LANES) {
        const float8 plane = float8_load(blocks->plane + k);
        const float8 next = float8_load(blocks->plane + k + 1);
        const int8 begun = int8_load(blocks->begun + k), ended = int8_load(blocks->ended + k);
        const int8 left = int8_load(blocks->begun_most + k);
        const float8 cost = sah_split_cost8(costs, of, plane, left, triangles - ended);
        const int8 lower = (plane > of->lo) & (plane < of->hi) & (cost < most);
        most = float8_select(lower, cost, most);
        /* sah_split_cost8 of the first plane's left side and the last one's right side */
        const int8 right = triangles - int8_load(blocks->ended + k + 1);
        const float8 left_part = of->base + of->slope * (plane - of->lo);
        const float8 right_part = of->base + of->slope * (of->hi - next);
        const float8 meets = left_part * __builtin_convertvector(begun, float8) +
                             right_part * __builtin_convertvector(right, float8);
        const float8 least =
            costs->traversal + float8_select((begun == 0) | (right == 0), reduced, all) * meets;
        const float8 bound = least + float8_load(blocks->bound + k);
        memcpy(blocks->bound + k, &bound, sizeof bound);
    }
    float from_above = INFINITY;
    for (int lane = 0; lane < LANES; ++lane) from_above = float_min(from_above, most[lane]);
    return from_above;
}

/* Where a walk over one axis' events stands. */
typedef struct axis_walk {
    const sah_costs *costs;
    sah_axis of;
    const sweep_event *event, *end;
    uint32_t left, right; /* triangles that began, that have not ended */
    float least, where;
} axis_walk;

/* Tries the event's plane, or that of a whole group of planar events, and goes past it. */
static inline void try_event(axis_walk *walk) {
    const float plane = sweep_event_position(*walk->event);
    const uint32_t type = sweep_event_type(*walk->event);
    walk->right -= type != EVENT_START;
    float cost = sah_split_cost(walk->costs, &walk->of, plane, walk->left, walk->right);
    if (type == EVENT_PLANAR) {
        uint32_t planar = 1;
        while (walk->event + 1 < walk->end && sweep_event_position(walk->event[1]) == plane &&
               sweep_event_type(walk->event[1]) == EVENT_PLANAR) {
            ++walk->event;
            ++planar;
            --walk->right;
        }
        cost = float_min(
            sah_split_cost(walk->costs, &walk->of, plane, walk->left + planar, walk->right),
            sah_split_cost(walk->costs, &walk->of, plane, walk->left, walk->right + planar));
        walk->left += planar - 1;
    }
    walk->left += type != EVENT_END;
    ++walk->event;
    if (plane > walk->of.lo && plane < walk->of.hi && cost < walk->least) {
        walk->least = cost;
        walk->where = plane;
    }
}

/* The same for eight events, none of them planar; false if one is. */
VECTOR8_FN bool try_eight(axis_walk *walk) {
    float position[LANES];
    int32_t left[LANES], right[LANES];
    uint32_t l = walk->left, r = walk->right, planar = 0;
    for (int k = 0; k < LANES; ++k) {
        const uint32_t type = sweep_event_type(walk->event[k]);
        position[k] = sweep_event_position(walk->event[k]);
        planar |= type & EVENT_PLANAR;
        r -= type != EVENT_START;
        left[k] = (int32_t)l;
        right[k] = (int32_t)r;
        l += type != EVENT_END;
    }
    if (planar) return false;
    const float8 plane = float8_load(position);
    const float8 cost =
        sah_split_cost8(walk->costs, &walk->of, plane, int8_load(left), int8_load(right));
    uint32_t better =
        int8_bits((cost < walk->least) & (plane > walk->of.lo) & (plane < walk->of.hi));
    for (; better; better &= better - 1) {
        const int lane = __builtin_ctz(better);
        if (!(cost[lane] < walk->least)) continue;
        walk->least = cost[lane];
        walk->where = position[lane];
    }
    walk->left = l;
    walk->right = r;
    walk->event += LANES;
    return true;
}

/* Past the rest of a group of planar events that was tried with the block before. */
static inline void skip_group(axis_walk *walk, const sweep_line *line, const sweep_event *until) {
    if (walk->event == line->events) return;
    const sweep_event before = walk->event[-1];
    if (sweep_event_type(before) != EVENT_PLANAR) return;
    while (walk->event < until && (*walk->event ^ before) >> EVENT_ID_BITS == 0) {
        ++walk->event;
        ++walk->left;
        --walk->right;
    }
}

/* Every event of the block is tried as a plane. Where several events share a position the counts in
   between are too high, never too low, so only true costs can win. */
VECTOR8_FN void walk_block(axis_walk *walk, const sweep_line *line, const sweep_blocks *blocks,
                           uint32_t k) {
    const uint32_t first = k * SWEEP_BLOCK;
    const uint32_t count = line->count - first < SWEEP_BLOCK ? line->count - first : SWEEP_BLOCK;
    const sweep_event *until = line->events + first + count;
    walk->event = line->events + first;
    walk->left = (uint32_t)blocks->begun[k];
    walk->right = line->triangles - (uint32_t)blocks->ended[k];
    skip_group(walk, line, until);
    while (walk->event < until) {
        if (until - walk->event >= LANES && try_eight(walk)) continue;
        const sweep_event *part = until - walk->event >= LANES ? walk->event + LANES : until;
        while (walk->event < part) try_event(walk);
    }
}

/* Tries the node's own side as the plane between what lies in it and all else. */
static inline void try_own_side(axis_walk *walk, const sweep_line *line, bool upper) {
    const float plane = upper ? walk->of.hi : walk->of.lo;
    const sweep_event outermost = line->events[upper ? line->count - 1 : 0];
    if (sweep_event_type(outermost) != EVENT_PLANAR || sweep_event_position(outermost) != plane)
        return;
    const uint32_t bound = sweep_events_find(
        line->events, line->count, sweep_event_make(plane, upper ? EVENT_PLANAR : EVENT_START, 0));
    const uint32_t flat = upper ? line->count - bound : bound, rest = line->triangles - flat;
    const float cost =
        sah_split_cost(walk->costs, &walk->of, plane, upper ? rest : flat, upper ? flat : rest);
    if (!(cost < walk->least)) return;
    walk->least = cost;
    walk->where = plane;
}

VECTOR8_FN sah_split search_line(const sweep_line *line, const sah_costs *costs, float limit,
                                 const sweep_blocks *blocks) {
    axis_walk walk = {.costs = costs, .of = sah_axis_of(line->box, line->axis), .least = limit};
    sah_split best = sah_split_none();
    walk.end = line->events + line->count;
    const uint32_t count = count_blocks(line, blocks);
    const float most = bound_blocks(line, costs, &walk.of, blocks, count);
    const bool thick = walk.of.lo < walk.of.hi;
    if (thick) try_own_side(&walk, line, false);
    for (uint32_t k = 0; k < count; ++k)
        if (blocks->bound[k] <= most && blocks->bound[k] < walk.least)
            walk_block(&walk, line, blocks, k);
    if (thick) try_own_side(&walk, line, true);
    if (!(walk.least < limit)) return best;
    best.cost = walk.least;
    best.position = walk.where;
    best.axis = line->axis;
    return best;
}

sah_split sweep_search(const sweep_line *line, const sah_costs *costs, float limit,
                       const sweep_blocks *blocks) {
    return search_line(line, costs, limit, blocks);
}

sweep_place sweep_find_place(const sweep_line *line, float position, const sweep_blocks *blocks) {
    sweep_place place;
    uint32_t at[3];
    for (uint32_t type = 0; type < 3; ++type)
        at[type] =
            sweep_events_find(line->events, line->count, sweep_event_make(position, type, 0));
    place.first = at[EVENT_END];
    place.planar = at[EVENT_PLANAR];
    place.beyond = at[EVENT_START];
    uint32_t k = place.first / SWEEP_BLOCK * SWEEP_BLOCK;
    type_counts types = count_types(line->events + k, place.first - k);
    place.begun = (uint32_t)blocks->begun[k / SWEEP_BLOCK] + types.starts + types.planars;
    k = place.beyond / SWEEP_BLOCK * SWEEP_BLOCK;
    types = count_types(line->events + k, place.beyond - k);
    place.ended = (uint32_t)blocks->ended[k / SWEEP_BLOCK] + place.beyond - k - types.starts;
    return place;
}
