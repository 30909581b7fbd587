/* Idea: neighbouring queries meet the same nodes, so they are worked on in the order of a Morton
         curve through the tree's box; answers go where the caller's order wants them.
   Work: a radix sort of 8 bytes a query, beside the queries themselves. */
#include "points/neighbours/query.h"
#include "core/math/morton.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "points/tree/walk_nd.h"
#include <stdatomic.h>

enum { QUERY_GRAIN = 256, ROOM_ON_STACK = 1536 /* answers of a query that need no memory */ };

typedef struct query_work {
    const point_target *target;
    const point_queries *queries;
    uint64_t *order; /* code << 32 | query, or NULL: as they come */
    uint32_t k;
    point_rows rows;              /* nearest: k a query; within: from offsets on */
    const uint64_t *offsets;      /* NULL: nearest */
    uint64_t *counts;             /* only these are wanted, or NULL */
    const point_own *own;         /* the tree's points ask, in its order; or NULL */
    const point_visitor *visitor; /* instead of rows; or NULL */
    uint32_t targets;             /* for a visitor: how many trees there are */
    _Atomic uint64_t unmet_bytes; /* that could not be had */
    _Atomic uint64_t mismatched;  /* rows whose offsets leave another room than there are answers */
} query_work;

static uint32_t morton_code(const pointtree_nd_view *tree, const void *query) {
    const uint32_t bits = 30 / tree->dims;
    uint32_t cells[POINT_DIMS_MAX], code = 0;
    double most = 0;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double side = tree->box.hi[axis] - tree->box.lo[axis];
        if (side > most) most = side;
    }
    const double last = (double)((1u << bits) - 1), scale = most > 0 ? (last + 1) / most : 0;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double x = (point_coordinate(query, tree->scalar, axis) - tree->box.lo[axis]) * scale;
        cells[axis] = (uint32_t)(x > 0 ? x < last ? x : last : 0);
    }
    for (uint32_t bit = bits; bit-- > 0;)
        for (uint32_t axis = 0; axis < tree->dims; ++axis)
            code = code << 1 | (cells[axis] >> bit & 1);
    return code;
}

static void code_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const query_work *work = (const query_work *)context;
    const point_array *points = &work->queries->points;
    const pointtree_nd_view *tree = &work->target->tree;
    for (int64_t i = begin; i < end && points->dims != 3; ++i) {
        const uint32_t code = morton_code(tree, point_array_at(points, (uint64_t)i));
        work->order[i] = (uint64_t)code << 32 | (uint64_t)i;
    }
    if (points->dims != 3) return;
    const double *lo = tree->box.lo, *hi = tree->box.hi;
    const double widest = fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
    const double fine = widest > 0 && 1024 / widest <= DBL_MAX ? 1024 / widest : 0;
    for (int64_t i = begin; i < end; ++i) {
        const void *query = point_array_at(points, (uint64_t)i);
        const double at[3] = {point_coordinate(query, points->scalar, 0),
                              point_coordinate(query, points->scalar, 1),
                              point_coordinate(query, points->scalar, 2)};
        work->order[i] = (uint64_t)morton_code3(lo, fine, at) << 32 | (uint64_t)i;
    }
}

uint64_t point_query_scratch_bytes(const point_queries *queries) {
    if (!queries->sort) return 0;
    assert(queries->points.count <= UINT32_MAX);
    const uint64_t items = (queries->points.count * sizeof(uint64_t) + 63) / 64 * 64;
    return items + radix_sort_scratch_bytes(queries->points.count);
}

static void order_queries(query_work *work, void *scratch) {
    const uint64_t count = work->queries->points.count;
    if (!work->queries->sort || work->target->tree.count == 0) return;
    work->order = (uint64_t *)scratch;
    void *rest = (char *)scratch + (count * sizeof(uint64_t) + 63) / 64 * 64;
    parallel_for((int64_t)count, 1 << 14, code_piece, work);
    radix_sort(work->order, count, 32, 62, rest);
}

static double query_bound2(const query_work *work, uint64_t i) {
    const point_queries *queries = work->queries;
    const point_scalar scalar = queries->points.scalar;
    double radius = queries->max_radius;
    if (queries->radii) {
        const double own = scalar == POINT_DOUBLE ? ((const double *)queries->radii)[i]
                                                  : (double)((const float *)queries->radii)[i];
        if (own < radius) radius = own;
    }
    const point_norm norm = queries->metric ? queries->metric->norm : POINT_NORM_2;
    const double bound2 = metric_bound(scalar, norm, radius);
    if (!queries->bounds2) return bound2;
    const double known = scalar == POINT_DOUBLE ? ((const double *)queries->bounds2)[i]
                                                : (double)((const float *)queries->bounds2)[i];
    return known < bound2 ? known : bound2;
}

static void put_answer(const query_work *work, uint64_t at, uint32_t id, double dist2) {
    const uint32_t *renamed = work->target->renamed;
    if (work->rows.ids) work->rows.ids[at] = renamed && id != KD_NONE ? renamed[id] : id;
    if (!work->rows.dist2) return;
    if (work->queries->points.scalar == POINT_DOUBLE)
        ((double *)work->rows.dist2)[at] = dist2;
    else
        ((float *)work->rows.dist2)[at] = (float)dist2;
}

/* Of sorted keys, which shrink if the id is in them. */
static uint32_t leave_out_key(uint64_t *keys, uint32_t count, uint32_t id) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (leaf_key_id(keys[i]) != id) keys[kept++] = keys[i];
    return kept;
}

/* A query: where, which of the array it is, whose row it fills, and how many answers of its own
   point are found and left out. */
typedef struct asked_query {
    const void *place;
    uint64_t at, row;
    uint32_t skipped; /* id; KD_NONE: none */
    uint32_t more;    /* 1 if one is */
} asked_query;

/* Axes that are not there are 0. */
static vec3 vec3_of(const void *query, uint32_t dims) {
    const float *q = (const float *)query;
    return vec3_make(q[0], dims > 1 ? q[1] : 0, dims == 3 ? q[2] : 0);
}

/* One query by buckets; `room` holds its keys. KD_NONE: the offsets are not those of its answers.
 */
static uint32_t answer_by_index(const query_work *work, const asked_query *asked, uint64_t *room,
                                uint32_t *near) {
    const leafindex *index = work->target->index;
    const uint64_t i = asked->row;
    const uint32_t more = asked->more;
    const vec3 query = vec3_of(asked->place, work->queries->points.dims);
    const float bound2 = (float)query_bound2(work, asked->at);
    if (work->counts) return leafindex_within_keys(index, query, bound2, 0, NULL) - more;
    uint64_t at = i * work->k;
    uint32_t count;
    if (work->offsets) {
        at = work->offsets[i];
        if (work->offsets[i + 1] - at > index->shape.count) return KD_NONE;
        count = (uint32_t)(work->offsets[i + 1] - at) + more;
        if (leafindex_within_keys(index, query, bound2, count, room) != count) return KD_NONE;
        leaf_keys_sort(room, count);
    } else {
        count = leafindex_nearest_keys(index, query, work->k + more, bound2, room, near);
    }
    if (more) {
        count = leave_out_key(room, count, asked->skipped);
        if (!work->offsets && count > work->k) count = work->k;
    }
    const uint32_t *renamed = work->target->renamed;
    uint32_t *ids = work->rows.ids;
    float *dist2 = (float *)work->rows.dist2;
    for (uint32_t j = 0; ids && j < count; ++j) ids[at + j] = leaf_key_id(room[j]);
    for (uint32_t j = 0; ids && renamed && j < count; ++j) ids[at + j] = renamed[ids[at + j]];
    for (uint32_t j = 0; dist2 && j < count; ++j) dist2[at + j] = leaf_key_dist2(room[j]);
    return count;
}

/* Of a sorted list, which shrinks if the id is in it. */
static uint32_t leave_out(neighbour_nd *list, uint32_t count, uint32_t id) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (list[i].id != id) list[kept++] = list[i];
    return kept;
}

/* Axes that are not there are 0. */
static void take_three(double three[3], const point_target *target, const void *query) {
    const double *at = (const double *)query;
    for (uint32_t axis = 0; axis < 3; ++axis) three[axis] = axis < target->tree.dims ? at[axis] : 0;
}

static uint32_t find_within(const query_work *work, const void *query, double bound2,
                            uint32_t wanted, neighbour_nd *room) {
    const point_target *target = work->target;
    const point_metric *metric = work->queries->metric;
    if (metric) return pointtree_metric_within(&target->tree, metric, query, bound2, wanted, room);
    if (target->index_double) {
        double three[3];
        take_three(three, target, query);
        return leafindex_double_within(target->index_double, three, bound2, wanted, room);
    }
    return target->index_nd ? leafindex_nd_within(target->index_nd, query, bound2, wanted, room)
                            : pointtree_nd_within(&target->tree, query, bound2, wanted, room);
}

static uint32_t find_nearest(const query_work *work, const void *query, uint32_t k, double bound2,
                             neighbour_nd *room, uint32_t *near) {
    const point_target *target = work->target;
    const point_metric *metric = work->queries->metric;
    if (metric) return pointtree_metric_nearest_k(&target->tree, metric, query, k, bound2, room);
    if (target->index_double) {
        double three[3];
        take_three(three, target, query);
        return leafindex_double_nearest_k(target->index_double, three, k, bound2, room, near);
    }
    return target->index_nd ? leafindex_nd_nearest_k(target->index_nd, query, k, bound2, room)
                            : pointtree_nd_nearest_k(&target->tree, query, k, bound2, room);
}

/* One query by a stack-free walk, or by buckets of doubles or of any dimensions. */
static uint32_t answer_by_neighbours(const query_work *work, const asked_query *asked,
                                     neighbour_nd *room, uint32_t *near) {
    const pointtree_nd_view *tree = &work->target->tree;
    const void *query = asked->place;
    const double bound2 = query_bound2(work, asked->at);
    const uint64_t i = asked->row;
    uint64_t at = i * work->k;
    uint32_t count, wanted = 0;
    if (work->counts || work->offsets) {
        if (work->offsets) {
            at = work->offsets[i];
            if (work->offsets[i + 1] - at > tree->count) return KD_NONE;
            wanted = (uint32_t)(work->offsets[i + 1] - at) + asked->more;
        }
        count = find_within(work, query, bound2, wanted, room);
        if (work->counts) return count - asked->more;
        if (count != wanted) return KD_NONE;
        neighbour_nd_sort(room, count);
    } else {
        count = find_nearest(work, query, work->k + asked->more, bound2, room, near);
    }
    if (asked->more) {
        count = leave_out(room, count, asked->skipped);
        if (!work->offsets && count > work->k) count = work->k;
    }
    for (uint32_t j = 0; j < count; ++j) put_answer(work, at + j, room[j].id, room[j].dist2);
    return count;
}

/* Bytes of room that a query needs. */
static uint64_t room_bytes(const query_work *work, const asked_query *asked) {
    if (work->counts) return 0;
    const uint64_t count = work->target->tree.count, i = asked->row;
    const uint64_t wanted =
        (work->offsets ? work->offsets[i + 1] - work->offsets[i] : work->k) + asked->more;
    const uint64_t answers = wanted < count ? wanted : count;
    return work->target->index
               ? (work->offsets ? answers : leafindex_room((uint32_t)answers)) * sizeof(uint64_t)
               : answers * sizeof(neighbour_nd);
}

/* Working room that grows. */
typedef struct query_room {
    uint64_t on_stack[ROOM_ON_STACK], bytes;
    void *at, *own;
    uint32_t near;    /* where the last query began */
    asked_query last; /* of row UINT64_MAX: none */
} query_room;

static void room_open(query_room *room) {
    room->bytes = sizeof room->on_stack;
    room->at = room->on_stack;
    room->own = NULL;
    room->near = 0;
    room->last.row = UINT64_MAX;
}

static bool room_grow(query_room *room, query_work *work, uint64_t needed) {
    if (needed <= room->bytes) return true;
    memory_free(room->own);
    if (memory_reserve(&room->own, needed, 1) != KD_OK) {
        atomic_store(&work->unmet_bytes, needed);
        room->own = NULL;
        return false;
    }
    room->at = room->own;
    room->bytes = needed;
    return true;
}

/* Whether the query before, in order, lies at the same place and its row of nearest points serves:
   many do where places are steps of a grid. */
static bool answer_again(query_work *work, const asked_query *asked, query_room *room) {
    const point_array *points = &work->queries->points;
    if (work->counts || work->offsets || work->own || asked->more || work->queries->radii ||
        work->queries->bounds2)
        return false;
    const asked_query last = room->last;
    const bool again = last.row != UINT64_MAX &&
                       memcmp(point_array_at(points, asked->at), point_array_at(points, last.at),
                              points->dims * point_scalar_bytes(points->scalar)) == 0;
    room->last = *asked;
    if (!again) return false;
    const uint64_t scalar_bytes = point_scalar_bytes(points->scalar);
    const uint64_t from = last.row * work->k, to = asked->row * work->k;
    char *dist2 = (char *)work->rows.dist2;
    if (work->rows.ids)
        memcpy(work->rows.ids + to, work->rows.ids + from, work->k * sizeof *work->rows.ids);
    if (dist2)
        memcpy(dist2 + to * scalar_bytes, dist2 + from * scalar_bytes, work->k * scalar_bytes);
    if (work->rows.counts) work->rows.counts[asked->row] = work->rows.counts[last.row];
    return true;
}

/* False: there is not room enough. */
static bool answer(query_work *work, const asked_query *asked, query_room *room) {
    if (answer_again(work, asked, room)) return true;
    if (!room_grow(room, work, room_bytes(work, asked))) return false;
    const uint32_t count =
        work->target->index
            ? answer_by_index(work, asked, (uint64_t *)room->at, &room->near)
            : answer_by_neighbours(work, asked, (neighbour_nd *)room->at, &room->near);
    if (count == KD_NONE) atomic_fetch_add(&work->mismatched, 1);
    if (work->counts) work->counts[asked->row] = count;
    if (work->counts || work->offsets) return true;
    for (uint32_t missing = count; missing < work->k; ++missing)
        put_answer(work, asked->row * work->k + missing, KD_NONE, (double)INFINITY);
    if (work->rows.counts) work->rows.counts[asked->row] = count;
    return true;
}

/* The visitor hears of one query's points. */
static void tell(const query_work *work, uint64_t i) {
    const void *query = point_array_at(&work->queries->points, i);
    point_visitor to = *work->visitor;
    to.query = i;
    to.bound = query_bound2(work, i);
    for (uint32_t t = 0; t < work->targets && to.bound >= 0; ++t) {
        const point_target *target = &work->target[t];
        double three[3];
        to.renamed = target->renamed;
        if (target->index) {
            leafindex_tell(target->index, vec3_of(query, target->tree.dims), &to);
        } else if (target->index_double) {
            take_three(three, target, query);
            leafindex_double_tell(target->index_double, three, &to);
        } else if (target->index_nd) {
            leafindex_nd_tell(target->index_nd, query, &to);
        } else {
            pointtree_tell(&target->tree, work->queries->metric, query, &to);
        }
    }
}

static void tell_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const query_work *work = (const query_work *)context;
    for (int64_t j = begin; j < end; ++j)
        tell(work, work->order ? (uint32_t)work->order[j] : (uint64_t)j);
}

static void answer_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    query_work *work = (query_work *)context;
    query_room room;
    room_open(&room);
    for (int64_t j = begin; j < end; ++j) {
        const uint64_t i = work->order ? (uint32_t)work->order[j] : (uint64_t)j;
        const asked_query asked = {point_array_at(&work->queries->points, i), i, i, KD_NONE, 0};
        if (!answer(work, &asked, &room)) break;
    }
    memory_free(room.own);
}

/* The i-th point of a bucket, which is that of a node: its id, and where it is, of floats in
 *copied. */
static uint32_t own_point(const point_target *target, const leaf_points *leaf, uint32_t i,
                          uint32_t node, float copied[3], const void **place) {
    const pointtree_nd_view *tree = &target->tree;
    if (!target->index) {
        *place = (const char *)tree->coordinates +
                 (uint64_t)node * tree->dims * point_scalar_bytes(tree->scalar);
        return tree->ids[node];
    }
    copied[0] = leaf->x[i];
    copied[1] = leaf->y[i];
    copied[2] = leaf->z[i];
    *place = copied;
    return leaf->id[i];
}

/* The points of some buckets ask. */
static void answer_buckets(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    query_work *work = (query_work *)context;
    const point_target *target = work->target;
    const uint32_t *renamed = target->renamed;
    const leaf_shape shape = leaf_shape_of(target->tree.count);
    query_room room;
    room_open(&room);
    bool goes_on = true;
    for (uint32_t s = (uint32_t)begin; goes_on && s < (uint32_t)end; ++s) {
        uint32_t nodes[LEAF_POINTS];
        leaf_points leaf = {NULL, NULL, NULL, NULL, 0};
        const uint32_t filled = leaf_members(&shape, s, nodes);
        if (target->index) leaf = leafindex_bucket(target->index, s);
        room.near = s / LEAF_GROUP;
        for (uint32_t i = 0; goes_on && i < filled; ++i) {
            float copied[3];
            const void *place;
            const uint32_t node = nodes[i], *order = work->own->order;
            const uint32_t id = own_point(target, &leaf, i, node, copied, &place);
            const asked_query asked = {place, node, order ? node : id,
                                       work->own->skips ? id : KD_NONE, work->own->skips};
            if (order) work->own->order[node] = renamed ? renamed[id] : id;
            goes_on = answer(work, &asked, &room);
        }
    }
    memory_free(room.own);
}

static kd_status answer_all(query_work *work, void *scratch) {
    order_queries(work, scratch);
    if (work->own)
        parallel_for(leaf_shape_of(work->target->tree.count).leaf_count, QUERY_GRAIN / LEAF_POINTS,
                     answer_buckets, work);
    else
        parallel_for((int64_t)work->queries->points.count, QUERY_GRAIN,
                     work->visitor ? tell_piece : answer_piece, work);
    const uint64_t unmet = atomic_load(&work->unmet_bytes);
    KD_REQUIRE(unmet == 0, KD_ERROR_MEMORY,
               "out of memory: the answers of one query need %llu bytes",
               (unsigned long long)unmet);
    const uint64_t mismatched = atomic_load(&work->mismatched);
    KD_REQUIRE(mismatched == 0, KD_ERROR_USAGE,
               "the offsets of %llu queries do not fit their answers, expected those of the same "
               "query's count",
               (unsigned long long)mismatched);
    return KD_OK;
}

kd_status point_query_nearest(const point_target *target, const point_queries *queries, uint32_t k,
                              const point_rows *out, void *scratch) {
    query_work work = {.target = target, .queries = queries, .k = k, .rows = *out};
    return answer_all(&work, scratch);
}

kd_status point_query_count_within(const point_target *target, const point_queries *queries,
                                   uint64_t *offsets, void *scratch) {
    query_work work = {.target = target, .queries = queries, .counts = offsets};
    KD_TRY(answer_all(&work, scratch));
    const uint64_t count = queries->points.count;
    offsets[count] = scan_exclusive_u64(offsets, offsets, count);
    return KD_OK;
}

kd_status point_query_within(const point_target *target, const point_queries *queries,
                             const uint64_t *offsets, uint32_t *ids, void *dist2, void *scratch) {
    const point_rows rows = {ids, dist2, NULL};
    query_work work = {.target = target, .queries = queries, .rows = rows, .offsets = offsets};
    return answer_all(&work, scratch);
}

kd_status point_query_visit(const point_target *targets, uint32_t count,
                            const point_queries *queries, const point_visitor *visitor,
                            void *scratch) {
    query_work work = {.target = targets, .queries = queries, .visitor = visitor, .targets = count};
    return answer_all(&work, scratch);
}

/* --- all points ask ----------------------------------------------------------------------------
 */

/* The tree's points, by nodes. */
static point_queries own_queries(const point_target *target, const point_own *own) {
    const pointtree_nd_view *tree = &target->tree;
    const point_array points =
        point_array_make(tree->coordinates, tree->count, tree->dims, tree->scalar);
    const point_queries queries = {points, NULL, own->max_radius, NULL, false, own->metric};
    return queries;
}

kd_status point_own_nearest(const point_target *target, const point_own *own, uint32_t k,
                            const point_rows *out) {
    const point_queries queries = own_queries(target, own);
    query_work work = {.target = target, .queries = &queries, .k = k, .rows = *out, .own = own};
    return answer_all(&work, NULL);
}

kd_status point_own_count_within(const point_target *target, const point_own *own,
                                 uint64_t *offsets) {
    const point_queries queries = own_queries(target, own);
    query_work work = {.target = target, .queries = &queries, .counts = offsets, .own = own};
    KD_TRY(answer_all(&work, NULL));
    const uint64_t count = target->tree.count;
    offsets[count] = scan_exclusive_u64(offsets, offsets, count);
    return KD_OK;
}

kd_status point_own_within(const point_target *target, const point_own *own,
                           const uint64_t *offsets, uint32_t *ids, void *dist2) {
    const point_rows rows = {ids, dist2, NULL};
    const point_queries queries = own_queries(target, own);
    query_work work = {
        .target = target, .queries = &queries, .rows = rows, .offsets = offsets, .own = own};
    return answer_all(&work, NULL);
}
