/* Nodes of few triangles for the exact SAH builders; sweep.h describes the algorithm. */
#include "accel/sweep/clip_halves.h"
#include "accel/sweep/sweep.h"
#include "core/memory.h"

enum { LANES = VECTOR8_LANES, UNROLLED = 2 };

/* Costs of the planes where triangles begin and end; NaN if a plane is not inside the node. For
   axes with flat triangles also the costs of planes in the node's faces; INFINITY if no triangle
   lies in the face. */
typedef struct plane_costs {
    float begin[3][SMALL_NODE_CAPACITY], end[3][SMALL_NODE_CAPACITY];
    float lower[3], upper[3];
} plane_costs;

typedef struct side_counts {
    int8 left, right, planar;
} side_counts;

/* For eight triangles, counts the triangles relative to the planes where these begin and where they
   end: those that begin before the plane, those that end after it and, if `planar`, those that lie
   in it. */
VECTOR8_FN void count_sides(const small_node *node, int axis, const float8 *lo, const float8 *hi,
                            bool planar, side_counts counts[2]) {
    int8 begun[2] = {{0}, {0}}, gone[2] = {{0}, {0}}, either[2] = {{0}, {0}};
    const size_t count = node->count; /* a size_t: no check for wrap-around in this loop */
    for (size_t i = 0; i < count; i += UNROLLED) /* padding lanes do not count */
        for (size_t k = 0; k < UNROLLED; ++k) {
            const float begin = node->lo[axis][i + k], end = node->hi[axis][i + k];
            begun[0] -= begin < *lo;
            gone[0] -= end <= *lo;
            begun[1] -= begin < *hi;
            gone[1] -= end <= *hi;
            if (!planar) continue;
            either[0] -= (begin < *lo) | (end <= *lo);
            either[1] -= (begin < *hi) | (end <= *hi);
        }
    for (int k = 0; k < 2; ++k) {
        counts[k].left = begun[k];
        counts[k].right = (int32_t)node->count - gone[k];
        counts[k].planar = planar ? either[k] - begun[k] : gone[k] & 0;
    }
}

VECTOR8_FN float8 cost_planes(const sah_costs *costs, const sah_axis *areas, const float8 *plane,
                              const side_counts *counts, bool planar) {
    const int8 left = counts->left, right = counts->right, in_plane = counts->planar;
    float8 cost = sah_split_cost8(costs, areas, *plane, left + in_plane, right);
    if (planar)
        cost = float8_min(cost, sah_split_cost8(costs, areas, *plane, left, right + in_plane));
    const int8 inside = (*plane > areas->lo) & (*plane < areas->hi);
    return (float8)((int8)cost | ~inside);
}

/* Computes the costs of all planes of an axis; returns the least. */
VECTOR8_FN float8 cost_axis(const small_build *build, const small_node *node, const sah_axis *areas,
                            int axis, bool planar, plane_costs *costs) {
    float8 minimum = float8_all(INFINITY);
    for (uint32_t k = 0; k < node->count; k += LANES) {
        const float8 lo = float8_load(node->lo[axis] + k), hi = float8_load(node->hi[axis] + k);
        side_counts counts[2];
        count_sides(node, axis, &lo, &hi, planar, counts);
        const float8 begin = cost_planes(&build->costs, areas, &lo, &counts[0], planar);
        const float8 end = cost_planes(&build->costs, areas, &hi, &counts[1], planar);
        float8_store(costs->begin[axis] + k, begin);
        float8_store(costs->end[axis] + k, end);
        minimum = float8_min(begin, minimum);
        minimum = float8_min(end, minimum);
    }
    return minimum;
}

/* sah_axis_of for all axes: same operations, so the results are equal bit for bit. */
VECTOR8_FN void axes_of(box3 box, sah_axis areas[3]) {
    const double4 size = double4_of(float4v_of(box.hi)) - double4_of(float4v_of(box.lo));
    const double4 u = __builtin_shufflevector(size, size, 1, 2, 0, 3);
    const double4 v = __builtin_shufflevector(size, size, 2, 0, 1, 3);
    const double4 product = u * v;
    const double area = (product[2] + product[0]) + product[1];
    const float4v base = double4_rounded(product / area), slope = double4_rounded((u + v) / area);
    for (int axis = 0; axis < 3; ++axis) {
        areas[axis].lo = vec3_axis(box.lo, axis);
        areas[axis].hi = vec3_axis(box.hi, axis);
        areas[axis].base = area > 0 ? base[axis] : 1.0f;
        areas[axis].slope = area > 0 ? slope[axis] : 0.0f;
    }
}

VECTOR8_FN bool any_planar(const small_node *node) {
    int8 flat = {0};
    for (uint32_t k = 0; k < node->count; k += LANES)
        for (int axis = 0; axis < 3; ++axis)
            flat |= float8_load(node->lo[axis] + k) == float8_load(node->hi[axis] + k);
    return int8_any(flat);
}

VECTOR8_FN bool has_planar(const small_node *node, int axis) {
    int8 flat = {0};
    for (uint32_t k = 0; k < node->count; k += LANES)
        flat |= float8_load(node->lo[axis] + k) == float8_load(node->hi[axis] + k);
    return int8_any(flat);
}

/* Computes the costs of planes in the node's faces, which separate triangles in them from all
   others; returns the least. */
VECTOR8_FN float cost_own_sides(const small_build *build, const small_node *node,
                                const sah_axis *areas, int axis, plane_costs *costs) {
    uint32_t lower = 0, upper = 0;
    for (uint32_t k = 0; k < node->count; k += LANES) {
        lower +=
            (uint32_t)__builtin_popcount(int8_bits(float8_load(node->hi[axis] + k) == areas->lo));
        upper +=
            (uint32_t)__builtin_popcount(int8_bits(float8_load(node->lo[axis] + k) == areas->hi));
    }
    costs->lower[axis] = costs->upper[axis] = INFINITY;
    if (!(areas->lo < areas->hi)) return INFINITY;
    if (lower)
        costs->lower[axis] =
            sah_split_cost(&build->costs, areas, areas->lo, lower, node->count - lower);
    if (upper)
        costs->upper[axis] =
            sah_split_cost(&build->costs, areas, areas->hi, node->count - upper, upper);
    return float_min(costs->lower[axis], costs->upper[axis]);
}

/* Planar triangles go to the cheaper side, or to the left at equal cost. */
static bool planar_goes_left(const small_build *build, const small_node *node,
                             const sah_axis *areas, const sah_split *split) {
    uint32_t left = 0, right = 0;
    for (uint32_t i = 0; i < node->count; ++i) {
        left += node->lo[split->axis][i] < split->position;
        right += node->hi[split->axis][i] > split->position;
    }
    uint32_t planar = 0;
    for (uint32_t i = 0; i < node->count; ++i)
        planar += node->lo[split->axis][i] == split->position &&
                  node->hi[split->axis][i] == split->position;
    return sah_split_cost(&build->costs, areas, split->position, left + planar, right) <=
           sah_split_cost(&build->costs, areas, split->position, left, right + planar);
}

/* Returns the first position on an axis whose plane has this cost, or INFINITY. */
VECTOR8_FN float first_of_cost(const small_node *node, int axis, const plane_costs *costs,
                               float cost) {
    float first = INFINITY;
    for (uint32_t k = 0; k < node->count; k += LANES) {
        uint32_t begin = int8_bits(float8_load(costs->begin[axis] + k) == cost);
        uint32_t end = int8_bits(float8_load(costs->end[axis] + k) == cost);
        for (; begin; begin &= begin - 1)
            first = float_min(first, node->lo[axis][k + (uint32_t)__builtin_ctz(begin)]);
        for (; end; end &= end - 1)
            first = float_min(first, node->hi[axis][k + (uint32_t)__builtin_ctz(end)]);
    }
    return first;
}

/* Returns the first plane with cost `minimum`. */
VECTOR8_FN sah_split first_plane(const small_build *build, const small_node *node,
                                 const sah_axis areas[3], const bool planar[3],
                                 const plane_costs *costs, float minimum) {
    sah_split split = {.cost = minimum, .planar_left = true};
    for (;; ++split.axis) {
        const int axis = split.axis;
        split.position = areas[axis].lo;
        if (planar[axis] && costs->lower[axis] == minimum) return split;
        split.position = first_of_cost(node, axis, costs, minimum);
        if (split.position < INFINITY || axis == 2) break;
        if (planar[axis] && costs->upper[axis] == minimum) break;
    }
    if (!planar[split.axis]) return split;
    if (split.position < INFINITY) {
        split.planar_left = planar_goes_left(build, node, &areas[split.axis], &split);
    } else {
        split.position = areas[split.axis].hi;
        split.planar_left = false;
    }
    return split;
}

/* Finds the best plane of a node with flat triangles. Returns false if a leaf is not more
   expensive. */
static __attribute__((noinline)) bool search_planar(const small_build *build,
                                                    const small_node *node, const sah_axis areas[3],
                                                    sah_split *split) {
    plane_costs costs;
    bool planar[3];
    float8 least8 = float8_all(INFINITY);
    float minimum = INFINITY; /* least cost of planes in the node's faces */
    for (int axis = 0; axis < 3; ++axis) {
        planar[axis] = has_planar(node, axis);
        const float8 inside = planar[axis]
                                  ? cost_axis(build, node, &areas[axis], axis, true, &costs)
                                  : cost_axis(build, node, &areas[axis], axis, false, &costs);
        least8 = float8_min(inside, least8);
        if (planar[axis])
            minimum = float_min(minimum, cost_own_sides(build, node, &areas[axis], axis, &costs));
    }
    minimum = float_min(minimum, float8_of_min(least8));
    if (!(minimum < build->costs.intersect * (float)node->count)) return false;
    *split = first_plane(build, node, areas, planar, &costs, minimum);
    return true;
}

/* Finds the best plane. Returns false if a leaf is not more expensive. */
VECTOR8_FN bool search(const small_build *build, const small_node *node, sah_split *split) {
    sah_axis areas[3];
    axes_of(node->box, areas);
    if (any_planar(node)) return search_planar(build, node, areas, split);
    plane_costs costs;
    const float8 x = cost_axis(build, node, &areas[0], 0, false, &costs);
    const float8 y = cost_axis(build, node, &areas[1], 1, false, &costs);
    const float8 z = cost_axis(build, node, &areas[2], 2, false, &costs);
    const float minimum = float8_of_min(float8_min(float8_min(x, y), z));
    if (!(minimum < build->costs.intersect * (float)node->count)) return false;
    split->cost = minimum;
    split->axis = int8_any(x == minimum) ? 0 : int8_any(y == minimum) ? 1 : 2;
    split->position = first_of_cost(node, split->axis, &costs, minimum);
    split->planar_left = true;
    return true;
}

static inline sweep_rows rows_of(small_node *node) {
    return (sweep_rows){node->place,
                        {node->lo[0], node->lo[1], node->lo[2]},
                        {node->hi[0], node->hi[1], node->hi[2]}};
}

static void set_part(small_node *node, uint32_t i, const clip_part *part) {
    for (int axis = 0; axis < 3; ++axis) {
        node->lo[axis][i] = part->lo[axis];
        node->hi[axis][i] = part->hi[axis];
    }
}

static void take_back(small_node *node, uint32_t i) {
    --node->count;
    for (; i < node->count; ++i) {
        node->place[i] = node->place[i + 1];
        for (int axis = 0; axis < 3; ++axis) {
            node->lo[axis][i] = node->lo[axis][i + 1];
            node->hi[axis][i] = node->hi[axis][i + 1];
        }
    }
}

/* Fills the lanes after the last triangle so that they contain no plane and are on neither side of
   one. */
static void close_rows(small_node *node) {
    static_assert(LANES % UNROLLED == 0, "nothing is read behind a whole vector");
    const int8 number = {0, 1, 2, 3, 4, 5, 6, 7};
    const int8 there = number < (int32_t)(node->count % LANES);
    const uint32_t k = node->count / LANES * LANES;
    if (k == node->count) return;
    for (int axis = 0; axis < 3; ++axis) {
        const float8 lo =
            float8_select(there, float8_load(node->lo[axis] + k), float8_all(INFINITY));
        const float8 hi = float8_select(there, float8_load(node->hi[axis] + k), float8_all(NAN));
        float8_store(node->lo[axis] + k, lo);
        float8_store(node->hi[axis] + k, hi);
    }
}

typedef struct straddler_list {
    uint8_t left[SMALL_NODE_MAX], right[SMALL_NODE_MAX]; /* indices in the children */
    uint32_t count;
} straddler_list;

static void cut_straddlers(const small_build *build, const clip_split *cut,
                           const straddler_list *straddlers, small_node *left, small_node *right) {
    uint32_t left_lost = 0, right_lost = 0;
    for (uint32_t i = 0; i < straddlers->count; ++i) {
        const uint32_t left_at = straddlers->left[i] - left_lost;
        const uint32_t right_at = straddlers->right[i] - right_lost;
        clip_part part[2];
        const int parts = clip_halves(cut, build->corner + 3 * left->place[left_at], part);
        set_part(left, left_at, &part[0]);
        set_part(right, right_at, &part[1]);
        if (parts == 3) continue;
        if (!(parts & 1)) take_back(left, left_at);
        if (!(parts & 2)) take_back(right, right_at);
        left_lost += !(parts & 1);
        right_lost += !(parts & 2);
    }
}

/* Distributes the triangles of `node` to `left` and, in its own rows, to the right child: their
   number never exceeds that of the triangles already read. */
static void share_out(small_node *node, const sah_split *split, small_node *left,
                      straddler_list *straddlers) {
    const sweep_rows rows = rows_of(node), left_rows = rows_of(left);
    const float position = split->position;
    const uint32_t count = node->count;
    uint32_t left_count = 0, right_count = 0;
    straddlers->count = 0;
    for (uint32_t k = 0; k < count; k += LANES) {
        const float8 lo = float8_load(node->lo[split->axis] + k);
        const float8 hi = float8_load(node->hi[split->axis] + k);
        const uint32_t valid = count - k < LANES ? (1u << (count - k)) - 1 : 0xffu;
        const uint32_t planar = int8_bits((lo == position) & (hi == position));
        const uint32_t in_left = split->planar_left ? planar : 0, in_right = planar & ~in_left;
        const uint32_t to_left = (int8_bits(lo < position) | in_left) & valid;
        const uint32_t to_right = (int8_bits(hi > position) | in_right) & valid;
        for (uint32_t on_both = to_left & to_right; on_both; on_both &= on_both - 1) {
            const uint32_t below = (on_both & (0u - on_both)) - 1;
            straddlers->left[straddlers->count] =
                (uint8_t)(left_count + (uint32_t)__builtin_popcount(to_left & below));
            straddlers->right[straddlers->count++] =
                (uint8_t)(right_count + (uint32_t)__builtin_popcount(to_right & below));
        }
        rows_give(&left_rows, left_count, &rows, k, to_left);
        rows_give(&rows, right_count, &rows, k, to_right);
        left_count += (uint32_t)__builtin_popcount(to_left);
        right_count += (uint32_t)__builtin_popcount(to_right);
    }
    left->count = left_count;
    node->count = right_count;
}

static kd_status write_leaf(const small_build *build, const small_node *node) {
    uint32_t *ids = NULL;
    KD_TRY(tree_writer_leaf(build->writer, node->at, node->count, &ids));
    for (uint32_t i = 0; i < node->count; ++i) ids[i] = build->ids[node->place[i]];
    return KD_OK;
}

/* Splits a node into `left` and the right child, which replaces the node. Not inlined, because the
   frame of the recursive caller has to be small. */
static __attribute__((noinline)) kd_status split_node(const small_build *build, small_node *node,
                                                      const sah_split *split, small_node *left) {
    const clip_split cut = clip_split_make(node->box, split->axis, split->position);
    straddler_list straddlers;
    share_out(node, split, left, &straddlers);
    cut_straddlers(build, &cut, &straddlers, left, node);
    KD_TRY(tree_writer_inner(build->writer, node->at, split->axis, split->position, &left->at));
    node->at = left->at + 1;
    left->depth = ++node->depth;
    left->box = node->box;
    vec3_set_axis(&left->box.hi, split->axis, split->position);
    vec3_set_axis(&node->box.lo, split->axis, split->position);
    return KD_OK;
}

/* Returns false if the node becomes a leaf. Not inlined, as split_node. */
static __attribute__((noinline)) bool find_split(const small_build *build, small_node *node,
                                                 sah_split *split) {
    const float leaf_cost = build->costs.intersect * (float)node->count;
    if (!(leaf_cost > build->costs.traversal) || node->depth >= build->max_depth) return false;
    close_rows(node);
    if (!search(build, node, split)) return false;
    split->position += 0.0f; /* -0 becomes 0 */
    return true;
}

static kd_status build_below(const small_build *build, small_node *node) {
    sah_split split;
    while (find_split(build, node, &split)) {
        KD_TRY(small_node_open(&node->left));
        KD_TRY(split_node(build, node, &split, node->left));
        KD_TRY(build_below(build, node->left));
    }
    return write_leaf(build, node);
}

kd_status small_node_open(small_node **node) {
    if (*node) return KD_OK;
    KD_TRY(KD_RESERVE(*node, 1));
    (*node)->left = NULL;
    return KD_OK;
}

void small_node_close(small_node *owned) {
    while (owned) {
        small_node *left = owned->left;
        memory_free(owned);
        owned = left;
    }
}

kd_status small_nodes_build(small_build *build, small_node *node) {
    float4v corner[3 * SMALL_NODE_MAX];
    for (uint32_t i = 0; i < node->count; ++i) {
        const uint32_t *index = build->input->triangles + 3 * (uint64_t)build->ids[i];
        node->place[i] = i;
        for (int k = 0; k < 3; ++k)
            corner[3 * i + (uint32_t)k] = float4v_of(build->input->positions[index[k]]);
    }
    build->corner = corner;
    return build_below(build, node);
}
