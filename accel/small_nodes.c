#include "accel/small_nodes.h"
#include "accel/sah8.h"
#include "shaders/triangle_clip.h"

enum { LANES = VECTOR8_LANES, PLANES = 2 * SMALL_NODE_MOST };

/* The planes of one axis strictly inside the node, as often as triangles begin or end there; filled
   up to a multiple of LANES with the last one. Returns how many vectors. */
static int collect_planes(const small_node *node, int axis, float plane[PLANES + LANES]) {
    const float lo = vec3_axis(node->box.lo, axis), hi = vec3_axis(node->box.hi, axis);
    int count = 0;
    for (uint32_t i = 0; i < node->count; ++i) {
        const float first = node->lo[axis][i], last = node->hi[axis][i];
        plane[count] = first;
        count += first > lo && first < hi;
        plane[count] = last;
        count += last > lo && last < hi && last != first;
    }
    if (count == 0) return 0;
    const int vectors = (count + LANES - 1) / LANES;
    for (int i = count; i < vectors * LANES; ++i) plane[i] = plane[count - 1];
    return vectors;
}

/* Counts what lies on the sides of eight planes: triangles that begin before a plane, that end
   after it, and that lie in it. */
VECTOR8_FN void count8(const small_node *node, int axis, const float8 *plane, int8 *left,
                       int8 *right, int8 *planar) {
    int8 begun = {0}, gone = {0}, either = {0};
    for (uint32_t i = 0; i < node->count; ++i) {
        const int8 begins = node->lo[axis][i] < *plane, ends = node->hi[axis][i] <= *plane;
        begun -= begins;
        gone -= ends;
        either -= begins | ends;
    }
    *left = begun;
    *right = (int32_t)node->count - gone;
    *planar = either - begun;
}

/* The axis' best plane, if it beats `best`. */
VECTOR8_FN void search_axis(const small_build *build, const small_node *node, int axis,
                            sah_split *best) {
    float planes[PLANES + LANES];
    const int vectors = collect_planes(node, axis, planes);
    const sah_axis of = sah_axis_of(node->box, axis);
    float8 least = {0}, where = {0};
    int8 to_the_left = {0};
    for (int k = 0; k < vectors; ++k) {
        const float8 plane = float8_load(planes + k * LANES);
        int8 left, right, planar;
        count8(node, axis, &plane, &left, &right, &planar);
        const float8 to_left = sah_split_cost8(&build->costs, &of, plane, left + planar, right);
        const float8 to_right = sah_split_cost8(&build->costs, &of, plane, left, right + planar);
        const float8 cost = float8_select(to_left <= to_right, to_left, to_right);
        int8 better = (cost < least) | ((cost == least) & (plane < where));
        if (k == 0) better = ~(int8){0};
        least = float8_select(better, cost, least);
        where = float8_select(better, plane, where);
        to_the_left = int8_select(better, to_left <= to_right, to_the_left);
    }
    for (int lane = 0; vectors && lane < LANES; ++lane) {
        if (!(least[lane] < best->cost ||
              (least[lane] == best->cost && best->axis == axis && where[lane] < best->position)))
            continue;
        best->cost = least[lane];
        best->axis = axis;
        best->position = where[lane];
        best->planar_left = to_the_left[lane] != 0;
    }
}

static void search_here(const small_build *build, const small_node *node, sah_split *best) {
    for (int axis = 0; axis < 3; ++axis) search_axis(build, node, axis, best);
}

#ifdef VECTOR8_DISPATCH
VECTOR8_AVX2 static void search_avx2(const small_build *build, const small_node *node,
                                     sah_split *best) {
    for (int axis = 0; axis < 3; ++axis) search_axis(build, node, axis, best);
}
static void search(const small_build *build, const small_node *node, sah_split *best) {
    (vector8_has_avx2() ? search_avx2 : search_here)(build, node, best);
}
#else
#define search search_here
#endif

static void give(small_node *child, uint32_t id, box3 part) {
    const uint32_t i = child->count++;
    child->id[i] = id;
    for (int axis = 0; axis < 3; ++axis) {
        child->lo[axis][i] = vec3_axis(part.lo, axis);
        child->hi[axis][i] = vec3_axis(part.hi, axis);
    }
}

static box3 part_of(const small_node *node, uint32_t i) {
    box3 part;
    part.lo = vec3_make(node->lo[0][i], node->lo[1][i], node->lo[2][i]);
    part.hi = vec3_make(node->hi[0][i], node->hi[1][i], node->hi[2][i]);
    return part;
}

static void share_out(const small_build *build, const small_node *node, const sah_split *split,
                      small_node *left, small_node *right) {
    const float *lo = node->lo[split->axis], *hi = node->hi[split->axis];
    for (uint32_t i = 0; i < node->count; ++i) {
        const bool planar = lo[i] == hi[i] && lo[i] == split->position;
        if (planar ? split->planar_left : hi[i] <= split->position) {
            give(left, node->id[i], part_of(node, i));
        } else if (planar || lo[i] >= split->position) {
            give(right, node->id[i], part_of(node, i));
        } else {
            const uint32_t *index = build->input->triangles + 3 * (uint64_t)node->id[i];
            const vec3 *corner = build->input->positions;
            box3 below, above;
            const int parts =
                triangle_clip_halves(corner[index[0]], corner[index[1]], corner[index[2]],
                                     node->box, split->axis, split->position, &below, &above);
            if (parts & 1) give(left, node->id[i], below);
            if (parts & 2) give(right, node->id[i], above);
        }
    }
}

kd_status small_nodes_build(const small_build *build, const small_node *node) {
    const float leaf_cost = build->costs.intersect * (float)node->count;
    sah_split split = sah_split_none();
    if (leaf_cost > build->costs.traversal && node->depth < build->max_depth)
        search(build, node, &split);
    if (!(split.cost < leaf_cost)) {
        uint32_t *ids = NULL;
        KD_TRY(tree_writer_leaf(build->writer, node->at, node->count, &ids));
        if (node->count) memcpy(ids, node->id, node->count * sizeof *ids);
        return KD_OK;
    }
    small_node left, right;
    left.count = right.count = 0;
    left.depth = right.depth = node->depth + 1;
    left.box = right.box = node->box;
    vec3_set_axis(&left.box.hi, split.axis, split.position);
    vec3_set_axis(&right.box.lo, split.axis, split.position);
    share_out(build, node, &split, &left, &right);
    KD_TRY(tree_writer_inner(build->writer, node->at, split.axis, split.position, &left.at));
    right.at = left.at + 1;
    KD_TRY(small_nodes_build(build, &left));
    return small_nodes_build(build, &right);
}
