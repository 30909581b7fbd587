#include "points/tree/pointtree.h"
#include "core/device/device.h"
#include "core/hash.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/tree/bounds.h"
#include "points/tree/build.h"

kd_status pointtree_check_request(const point_array *points, const pointtree_options *options,
                                  const pointtree_builder *row) {
    KD_REQUIRE(!options->unique || row->removes, KD_ERROR_USAGE,
               "builder \"%s\" cannot remove equal points; use brown", row->name);
    KD_REQUIRE(options->cells == 0 || row->order == POINTTREE_BY_CELL, KD_ERROR_USAGE,
               "builder \"%s\" cannot round coordinates to cells; use wehr", row->name);
    KD_REQUIRE(options->cells >= 0 && options->cells <= DBL_MAX, KD_ERROR_USAGE,
               "`cells` is %g per unit; expected a finite number, 0 or more", options->cells);
    KD_REQUIRE(points->count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "`count` is %llu; one tree supports at most %u points",
               (unsigned long long)points->count, POINTTREE_COUNT_MAX);
    KD_REQUIRE(points->coordinates || points->count == 0, KD_ERROR_USAGE,
               "`coordinates` must not be NULL: `count` is %llu",
               (unsigned long long)points->count);
    KD_REQUIRE(points->dims >= POINT_DIMS_MIN && points->dims <= POINT_DIMS_MAX, KD_ERROR_USAGE,
               "`dims` is %u; supported: %u to %u", points->dims, POINT_DIMS_MIN, POINT_DIMS_MAX);
    KD_REQUIRE(points->scalar == POINT_FLOAT || points->scalar == POINT_DOUBLE, KD_ERROR_USAGE,
               "`scalar` is %d; expected 0 (float) or 1 (double)", (int)points->scalar);
    const uint64_t scalar_bytes = point_scalar_bytes(points->scalar);
    KD_TRY(caller_stride_check(points->count, points->stride_bytes, points->dims, scalar_bytes,
                               "points"));
    KD_REQUIRE((uintptr_t)points->coordinates % scalar_bytes == 0, KD_ERROR_USAGE,
               "`coordinates` is %p; it must be aligned to %llu bytes", points->coordinates,
               (unsigned long long)scalar_bytes);
    KD_REQUIRE(options->split == POINTTREE_ROUND_ROBIN || options->split == POINTTREE_WIDEST,
               KD_ERROR_USAGE, "`split` is %d; expected 0 (round robin) or 1 (widest side)",
               (int)options->split);
    return KD_OK;
}

typedef struct gather_work {
    const point_array *points;
    const pointtree *out;
} gather_work;

static void gather_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const gather_work *work = (const gather_work *)context;
    const pointtree *out = work->out;
    const size_t bytes = out->dims * point_scalar_bytes(out->scalar);
    char *to = (char *)out->coordinates + (size_t)begin * bytes;
    if (bytes == sizeof(vec3))
        for (int64_t i = begin; i < end; ++i, to += sizeof(vec3))
            memcpy(to, point_array_at(work->points, out->ids[i]), sizeof(vec3));
    else
        for (int64_t i = begin; i < end; ++i, to += bytes)
            memcpy(to, point_array_at(work->points, out->ids[i]), bytes);
}

void pointtree_gather(pointtree *out, const point_array *points) {
    gather_work work = {points, out};
    parallel_for(out->count, 1 << 14, gather_piece, &work);
}

point_box pointtree_domain(const pointtree *out, const point_array *points, uint32_t node) {
    point_box domain = out->box;
    for (uint32_t child = node; child > 0;) {
        const uint32_t parent = (child - 1) / 2, axis = out->axes[parent];
        const double plane = point_array_coordinate(points, out->ids[parent], axis);
        point_box_clip(&domain, axis, plane, child == 2 * parent + 2);
        child = parent;
    }
    return domain;
}

static kd_status build(pointtree *out, const point_array *points, const pointtree_builder *row,
                       job_control *job) {
    kd_status status = KD_OK;
    void *packed = NULL;
    point_array input = point_array_make(NULL, points->count, points->dims, points->scalar);
    if (points->stride_bytes == input.stride_bytes) {
        input.coordinates = points->coordinates;
    } else {
        KD_TRY(memory_reserve(&packed, points->count, input.stride_bytes));
        for (uint64_t i = 0; i < points->count; ++i)
            memcpy((char *)packed + i * input.stride_bytes, point_array_at(points, i),
                   input.stride_bytes);
        input.coordinates = packed;
    }
    KD_TRY_GOTO(row->build(out, &input, job));
done:
    memory_free(packed);
    return status;
}

kd_status pointtree_open_by(pointtree *out, const point_array *points,
                            const pointtree_options *options, const pointtree_builder *row,
                            job_control *job) {
    memset(out, 0, sizeof *out);
    const pointtree_options defaults = {POINTTREE_ROUND_ROBIN, false, 0};
    if (!options) options = &defaults;
    KD_TRY(pointtree_check_request(points, options, row));
    const double started = timing_now();
    kd_status status = KD_OK;
    const uint64_t count = points->count;
    out->count = (uint32_t)count;
    out->dims = points->dims;
    out->scalar = points->scalar;
    out->options = *options;
    out->order = row->order;
    KD_TRY_GOTO(point_scan(&out->box, points));
    KD_TRY_GOTO(
        memory_reserve(&out->coordinates, count, points->dims * point_scalar_bytes(out->scalar)));
    KD_TRY_GOTO(KD_RESERVE(out->ids, count));
    if (options->split == POINTTREE_WIDEST) KD_TRY_GOTO(KD_RESERVE(out->axes, count));
    large_pages_prefer(out->coordinates, count * points->dims * point_scalar_bytes(out->scalar));
    large_pages_prefer(out->ids, count * sizeof *out->ids);
    if (count) KD_TRY_GOTO(build(out, points, row, job));
    out->build_seconds = timing_now() - started;
done:
    if (status != KD_OK) pointtree_close(out);
    return status;
}

void pointtree_close(pointtree *owned) {
    memory_free(owned->coordinates);
    memory_free(owned->ids);
    memory_free(owned->axes);
    memset(owned, 0, sizeof *owned);
}

pointtree_nd_view pointtree_get_nd_view(const pointtree *tree) {
    pointtree_nd_view view;
    view.coordinates = tree->coordinates;
    view.ids = tree->ids;
    view.axes = tree->axes;
    view.count = tree->count;
    view.dims = tree->dims;
    view.scalar = tree->scalar;
    view.box = tree->box;
    view.order = tree->order;
    view.cells = tree->options.cells;
    view.unique = tree->options.unique;
    return view;
}

pointtree_view pointtree_get_view(const pointtree *tree) {
    assert(tree->count == 0 || (tree->dims == 3 && tree->scalar == POINT_FLOAT));
    assert(tree->options.cells == 0); /* pointtree_walk_next does not support slack */
    pointtree_view view;
    view.points = tree->points;
    view.ids = tree->ids;
    view.axes = tree->axes;
    view.count = tree->count;
    view.box = box3_empty();
    if (tree->count == 0) return view;
    for (int axis = 0; axis < 3; ++axis) {
        vec3_set_axis(&view.box.lo, axis, (float)tree->box.lo[axis]);
        vec3_set_axis(&view.box.hi, axis, (float)tree->box.hi[axis]);
    }
    return view;
}

uint64_t pointtree_hash(const pointtree *tree) {
    const uint64_t hash = hash_bytes(tree->ids, tree->count * sizeof *tree->ids);
    return tree->axes ? hash_combine(hash, tree->axes, tree->count) : hash;
}
