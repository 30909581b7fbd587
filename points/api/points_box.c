/* Points in axis-aligned boxes: the calls of <kandela/points.h>. Boxes go by the walk of
   points/tree/walk_box.h, on all cores or a thread each of a device; a changed tree on the CPU is
   built anew for them. */
#include "core/device/caller_memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "points/api/changes.h"
#include "points/api/points_device_call.h"
#include "points/api/points_parts.h"
#include "points/device/boxes.h"
#include <stdatomic.h>

enum { BOX_GRAIN = 16 };

static kd_status take_corners(point_array *out, const kd_points *tree, const kd_point_array *given,
                              const char *name) {
    const uint64_t scalar_bytes = point_scalar_bytes(tree->tree.scalar);
    KD_REQUIRE(given, KD_ERROR_USAGE, "no %s corners given (NULL)", name);
    KD_REQUIRE(given->dims == tree->tree.dims && (int)given->scalar == (int)tree->tree.scalar,
               KD_ERROR_USAGE,
               "%s corners of %u dimensions and scalar type %d, expected the tree's, %u and %d",
               name, given->dims, (int)given->scalar, tree->tree.dims, (int)tree->tree.scalar);
    KD_REQUIRE(given->coordinates || given->count == 0, KD_ERROR_USAGE,
               "no %s corners given (NULL), their count is %llu", name,
               (unsigned long long)given->count);
    KD_TRY(caller_stride_check(given->count, given->stride_bytes, given->dims, scalar_bytes,
                               "corners"));
    *out = point_array_make(given->coordinates, given->count, given->dims, tree->tree.scalar);
    if (given->stride_bytes) out->stride_bytes = given->stride_bytes;
    return KD_OK;
}

static kd_status check(point_boxes *out, const kd_points *tree, const kd_point_array *lo,
                       const kd_point_array *hi, const uint64_t *offsets, const uint32_t *ids) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "no tree given (NULL)");
    KD_TRY(take_corners(&out->lo, tree, lo, "lower"));
    KD_TRY(take_corners(&out->hi, tree, hi, "upper"));
    KD_REQUIRE(lo->count == hi->count, KD_ERROR_USAGE, "%llu lower and %llu upper corners",
               (unsigned long long)lo->count, (unsigned long long)hi->count);
    const uint32_t scalar_bytes = (uint32_t)point_scalar_bytes(tree->tree.scalar);
    const caller_array arrays[] = {{lo->coordinates, "lower corners", scalar_bytes},
                                   {hi->coordinates, "upper corners", scalar_bytes},
                                   {offsets, "offsets", sizeof *offsets},
                                   {ids, "places for ids", sizeof *ids}};
    return caller_memory_check(arrays, sizeof arrays / sizeof *arrays, tree->cuda == NULL);
}

/* --- on the CPU ------------------------------------------------------------------------------- */

typedef struct box_work {
    const point_boxes *boxes;
    pointtree_nd_view tree;
    const uint32_t *renamed;
    uint64_t *counts;        /* these are wanted, or */
    const uint64_t *offsets; /* rows of ids */
    uint32_t *ids;
    _Atomic uint64_t mismatched;
} box_work;

static void answer_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    box_work *work = (box_work *)context;
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; ++i) {
        const void *lo = point_array_at(&work->boxes->lo, i);
        const void *hi = point_array_at(&work->boxes->hi, i);
        if (work->counts) {
            work->counts[i] = pointtree_box_ids(&work->tree, lo, hi, 0, NULL);
            continue;
        }
        const uint64_t at = work->offsets[i], room = work->offsets[i + 1] - at;
        uint32_t *row = work->ids ? work->ids + at : NULL;
        const uint32_t fit = (uint32_t)(room < work->tree.count ? room : work->tree.count);
        if (pointtree_box_ids(&work->tree, lo, hi, row ? fit : 0, row) != room) {
            atomic_fetch_add(&work->mismatched, 1);
            continue;
        }
        if (!row) continue;
        box_ids_sort(row, fit);
        for (uint32_t j = 0; work->renamed && j < fit; ++j) row[j] = work->renamed[row[j]];
    }
}

static kd_status answer_all(const kd_points *tree, box_work *work) {
    kd_points copy;
    const bool copied = !points_is_whole(tree);
    if (copied) KD_TRY(points_copy_whole(&copy, tree));
    const kd_points *of = copied ? &copy : tree;
    const kd_status status = points_lend(&work->tree, of);
    work->renamed = of->renamed;
    if (status == KD_OK)
        parallel_for((int64_t)work->boxes->lo.count, BOX_GRAIN, answer_piece, work);
    if (copied) points_release(&copy);
    KD_TRY(status);
    const uint64_t mismatched = atomic_load(&work->mismatched);
    KD_REQUIRE(mismatched == 0, KD_ERROR_USAGE,
               "the offsets of %llu boxes do not fit their answers, expected those of the same "
               "boxes' count",
               (unsigned long long)mismatched);
    return KD_OK;
}

/* --- on a device ------------------------------------------------------------------------------
 */

static kd_status begin(points_call *call, const kd_points *tree, point_boxes *boxes) {
    kd_points_query none;
    kd_points_query_default(&none);
    KD_TRY(points_call_begin(call, tree, &none));
    KD_TRY(points_call_whole(call, tree));
    point_array *const corners[] = {&boxes->lo, &boxes->hi};
    for (int i = 0; i < 2; ++i) {
        const point_array of = *corners[i];
        const uint64_t one = of.dims * point_scalar_bytes(of.scalar);
        KD_TRY(points_call_bring_in(call, &corners[i]->coordinates, of.coordinates,
                                    of.count ? (of.count - 1) * of.stride_bytes + one : 0));
    }
    return KD_OK;
}

static kd_status count_on_device(const kd_points *tree, point_boxes *boxes, uint64_t *offsets) {
    points_call call;
    kd_status status = KD_OK;
    void *found = NULL;
    KD_TRY_GOTO(begin(&call, tree, boxes));
    KD_TRY_GOTO(points_call_bring_out(&call, &found, offsets,
                                      (boxes->lo.count + 1) * sizeof *offsets, false));
    KD_TRY_GOTO(
        points_device_count_boxes(&call.query.index->tree, boxes, (uint64_t *)found, call.stream));
done:
    return points_call_end(&call, status);
}

/* Offsets are counted once more: those of other boxes would write anywhere. */
static kd_status fill_on_device(const kd_points *tree, point_boxes *boxes, const uint64_t *offsets,
                                uint32_t *ids) {
    points_call call;
    kd_status status = KD_OK;
    const uint64_t rows = boxes->lo.count + 1;
    uint64_t answers = 0;
    void *right = NULL, *to = NULL;
    const void *given = NULL;
    KD_TRY_GOTO(begin(&call, tree, boxes));
    const pointtree_nd_view *view = &call.query.index->tree;
    KD_TRY_GOTO(points_call_bring_in(&call, &given, offsets, rows * sizeof *offsets));
    KD_TRY_GOTO(points_call_take(&call, &right, rows * sizeof *offsets));
    KD_TRY_GOTO(points_device_count_boxes(view, boxes, (uint64_t *)right, call.stream));
    KD_TRY_GOTO(points_device_check_offsets((const uint64_t *)given, (const uint64_t *)right, rows,
                                            call.stream));
    KD_TRY_GOTO(
        device_copy(&answers, (const uint64_t *)right + rows - 1, sizeof answers, call.stream));
    KD_TRY_GOTO(device_stream_wait(call.stream));
    KD_TRY_GOTO(points_call_bring_out(&call, &to, ids, answers * sizeof *ids, false));
    if (to && answers > 0)
        KD_TRY_GOTO(points_device_fill_boxes(view, boxes, (const uint64_t *)right, call.on->renamed,
                                             (uint32_t *)to, call.stream));
done:
    return points_call_end(&call, status);
}

kd_status kd_points_in_box_count(const kd_points *tree, const kd_point_array *lo,
                                 const kd_point_array *hi, uint64_t *offsets) {
    point_boxes boxes;
    KD_REQUIRE(offsets, KD_ERROR_USAGE, "no place for the offsets given (NULL)");
    const kd_status checked = check(&boxes, tree, lo, hi, offsets, NULL);
    if (tree && tree->parts) return points_parts_count_boxes(tree, lo, hi, offsets, checked);
    KD_TRY(checked);
    if (tree->cuda) return count_on_device(tree, &boxes, offsets);
    box_work work = {.boxes = &boxes, .counts = offsets};
    KD_TRY(answer_all(tree, &work));
    offsets[lo->count] = scan_exclusive_u64(offsets, offsets, lo->count);
    return KD_OK;
}

kd_status kd_points_in_box(const kd_points *tree, const kd_point_array *lo,
                           const kd_point_array *hi, const uint64_t *offsets, uint32_t *ids) {
    point_boxes boxes;
    KD_REQUIRE(offsets, KD_ERROR_USAGE, "no offsets given (NULL)");
    kd_status checked = check(&boxes, tree, lo, hi, offsets, ids);
    if (tree && tree->parts) {
        if (checked == KD_OK) checked = points_check_offsets(offsets, lo->count);
        return points_parts_boxes(tree, lo, hi, offsets, ids, checked);
    }
    KD_TRY(checked);
    if (tree->cuda) return fill_on_device(tree, &boxes, offsets, ids);
    KD_TRY(points_check_offsets(offsets, lo->count));
    box_work work = {.boxes = &boxes, .offsets = offsets, .ids = ids};
    return answer_all(tree, &work);
}
