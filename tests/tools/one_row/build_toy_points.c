/* A builder of point trees for nightly_one_row.sh: one file that ends with its row.
   Idea: sort the points of a subtree along its axis and take the one after the left subtree. With
   KANDELA_TOY_FAULT in the environment it swaps two points, which the tests of the table must
   detect. */
#include "core/memory.h"
#include "points/tree/build.h"
#include <stdlib.h>

typedef struct toy_item {
    double coordinate;
    uint32_t id;
} toy_item;

typedef struct toy {
    const point_array *points;
    pointtree *out;
    job_control *job;
} toy;

static int compare(const void *a, const void *b) {
    const toy_item *l = (const toy_item *)a, *r = (const toy_item *)b;
    if (l->coordinate < r->coordinate || l->coordinate > r->coordinate)
        return l->coordinate < r->coordinate ? -1 : 1;
    return l->id < r->id ? -1 : l->id > r->id;
}

static void build_node(const toy *work, uint32_t node, toy_item *items, const point_box *domain) {
    pointtree *out = work->out;
    const uint32_t count = pointtree_subtree_size(node, out->count);
    if (count == 0 || job_cancelled(work->job)) return;
    uint32_t axis = pointtree_level_of(node) % out->dims;
    if (out->axes) axis = point_box_widest(domain, out->dims, out->scalar);
    if (out->axes) out->axes[node] = (uint8_t)axis;
    for (uint32_t i = 0; i < count; ++i)
        items[i].coordinate = point_array_coordinate(work->points, items[i].id, axis);
    qsort(items, count, sizeof *items, compare);
    const uint32_t left = pointtree_subtree_size(2 * node + 1, out->count);
    const toy_item pivot = items[left];
    out->ids[node] = pivot.id;
    job_advance(work->job, 1);
    for (uint32_t side = 0; side < 2; ++side) {
        point_box child = *domain;
        point_box_clip(&child, axis, pivot.coordinate, side == 1);
        build_node(work, 2 * node + 1 + side, side ? items + left + 1 : items, &child);
    }
}

static uint64_t build_toy_scratch_bytes(uint64_t count) {
    return count * sizeof(toy_item);
}

static kd_status build_toy(pointtree *out, const point_array *points, job_control *job) {
    const toy work = {points, out, job};
    toy_item *items = NULL;
    KD_TRY(KD_RESERVE(items, points->count));
    for (uint32_t i = 0; i < out->count; ++i) items[i].id = i;
    build_node(&work, 0, items, &out->box);
    memory_free(items);
    KD_REQUIRE(!job_cancelled(job), KD_INTERRUPTED, "building the point tree was cancelled");
    if (getenv("KANDELA_TOY_FAULT") && out->count > 1) {
        const uint32_t root = out->ids[0];
        out->ids[0] = out->ids[1];
        out->ids[1] = root;
    }
    pointtree_gather(out, points);
    return KD_OK;
}

const pointtree_builder pointtree_builder_toy = {.name = "toy",
                                                 .source = "a test of the table",
                                                 .scratch_bytes = build_toy_scratch_bytes,
                                                 .build = build_toy,
                                                 .order = POINTTREE_BY_COORDINATE};
