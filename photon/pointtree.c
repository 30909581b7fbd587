#include "photon/pointtree.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/timing.h"
#include "photon/builders.h"
#include <stdio.h>

const pointtree_builder pointtree_builders[] = {
    {"recursive", "serial recursion by definition: the oracle", "cpu",
     build_recursive_scratch_bytes, build_recursive},
    {NULL, NULL, NULL, NULL, NULL}};

const pointtree_builder *pointtree_builder_find(const char *name) {
    for (const pointtree_builder *row = pointtree_builders; row->name; ++row)
        if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

static kd_status find_builder(const pointtree_builder **out, const char *name) {
    *out = name && *name ? pointtree_builder_find(name) : &pointtree_builders[0];
    if (*out) return KD_OK;
    char names[256] = "";
    for (const pointtree_builder *row = pointtree_builders; row->name; ++row) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", row->name);
    }
    KD_FAIL(KD_ERROR_USAGE, "unknown point tree builder \"%s\", expected one of: %s", name, names);
}

typedef struct point_scan {
    const vec3 *points;
    box3 *boxes;   /* one per piece */
    uint32_t *bad; /* first point of the piece that is not finite, or KD_NONE */
} point_scan;

enum { SCAN_GRAIN = 1 << 16 };

static void scan_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    point_scan *scan = (point_scan *)context;
    box3 box = box3_empty();
    uint32_t bad = KD_NONE;
    for (int64_t i = begin; i < end; ++i) {
        /* + 0: the box does not depend on which of -0 and +0 comes first */
        const vec3 point = vec3_add(scan->points[i], vec3_all(0));
        if (!vec3_is_finite(point) && bad == KD_NONE) bad = (uint32_t)i;
        box3_include(&box, point);
    }
    scan->boxes[begin / SCAN_GRAIN] = box;
    scan->bad[begin / SCAN_GRAIN] = bad;
}

/* The bounding box, and the refusal of what is not finite. */
static kd_status scan_points(const vec3 *points, uint32_t count, box3 *box) {
    kd_status status = KD_OK;
    const uint32_t pieces = (count + SCAN_GRAIN - 1) / SCAN_GRAIN;
    point_scan scan = {points, NULL, NULL};
    uint32_t bad = KD_NONE;
    KD_TRY_GOTO(KD_RESERVE(scan.boxes, pieces));
    KD_TRY_GOTO(KD_RESERVE(scan.bad, pieces));
    parallel_for(count, SCAN_GRAIN, scan_piece, &scan);
    *box = box3_empty();
    for (uint32_t i = 0; i < pieces; ++i) {
        box3_join(box, scan.boxes[i]);
        if (bad == KD_NONE) bad = scan.bad[i];
    }
    if (bad != KD_NONE)
        status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                             "point %u is (%g, %g, %g), expected finite coordinates", bad,
                             (double)points[bad].x, (double)points[bad].y, (double)points[bad].z);
done:
    memory_free(scan.boxes);
    memory_free(scan.bad);
    return status;
}

kd_status pointtree_open(pointtree *out, const vec3 *points, uint64_t count,
                         const pointtree_options *options, const char *builder, job *watched) {
    memset(out, 0, sizeof *out);
    const pointtree_options defaults = {POINTTREE_ROUND_ROBIN};
    if (!options) options = &defaults;
    const pointtree_builder *row = NULL;
    KD_TRY(find_builder(&row, builder));
    KD_REQUIRE(count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "%llu points, expected at most %u in one tree", (unsigned long long)count,
               POINTTREE_COUNT_MAX);
    KD_REQUIRE(points || count == 0, KD_ERROR_USAGE, "no points given (NULL), count is %llu",
               (unsigned long long)count);
    KD_REQUIRE(options->split == POINTTREE_ROUND_ROBIN || options->split == POINTTREE_WIDEST,
               KD_ERROR_USAGE, "split rule %d, expected 0 (round robin) or 1 (widest side)",
               (int)options->split);
    const double started = timing_now();
    kd_status status = KD_OK;
    out->count = (uint32_t)count;
    KD_TRY_GOTO(scan_points(points, out->count, &out->box));
    KD_TRY_GOTO(KD_RESERVE(out->points, count));
    KD_TRY_GOTO(KD_RESERVE(out->ids, count));
    if (options->split == POINTTREE_WIDEST) KD_TRY_GOTO(KD_RESERVE(out->axes, count));
    if (count) KD_TRY_GOTO(row->build(out, points, out->count, options, watched));
    out->build_seconds = timing_now() - started;
done:
    if (status != KD_OK) pointtree_close(out);
    return status;
}

void pointtree_close(pointtree *owned) {
    memory_free(owned->points);
    memory_free(owned->ids);
    memory_free(owned->axes);
    memset(owned, 0, sizeof *owned);
}

pointtree_view pointtree_get_view(const pointtree *from) {
    pointtree_view view;
    view.points = from->points;
    view.ids = from->ids;
    view.axes = from->axes;
    view.count = from->count;
    view.box = from->box;
    return view;
}

uint64_t pointtree_hash(const pointtree *from) {
    const uint64_t hash = hash_bytes(from->ids, from->count * sizeof *from->ids);
    return from->axes ? hash_combine(hash, from->axes, from->count) : hash;
}
