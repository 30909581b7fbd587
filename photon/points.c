#include "photon/points.h"
#include "core/device.h"
#include "core/memory.h"
#include "core/timing.h"
#include <stdio.h>

kd_point_array kd_point_array_make(const void *coordinates, uint64_t count, uint32_t dims,
                                   kd_scalar scalar) {
    kd_point_array points;
    memset(&points, 0, sizeof points);
    points.coordinates = coordinates;
    points.count = count;
    points.dims = dims;
    points.scalar = scalar;
    return points;
}

void kd_points_options_default(kd_points_options *options) {
    memset(options, 0, sizeof *options);
    snprintf(options->device, sizeof options->device, "auto");
    options->split = KD_POINTS_SPLIT_WIDEST;
}

static kd_status check_options(const kd_points_options *options) {
    KD_REQUIRE(memchr(options->device, 0, sizeof options->device) &&
                   memchr(options->builder, 0, sizeof options->builder),
               KD_ERROR_USAGE,
               "the device or builder of the options has no end: fill options by "
               "kd_points_options_default");
    KD_REQUIRE(options->split == KD_POINTS_SPLIT_WIDEST ||
                   options->split == KD_POINTS_SPLIT_ROUND_ROBIN,
               KD_ERROR_USAGE, "split rule %d, expected 0 (widest side) or 1 (round robin)",
               (int)options->split);
    if (strcmp(options->device, "auto") == 0) return KD_OK; /* the CPU, where the builders are */
    device found;
    KD_TRY(device_find(&found, options->device));
    KD_REQUIRE(found.kind == DEVICE_CPU, KD_ERROR_DEVICE,
               "device \"%s\" is there, but no point tree builder works on it", options->device);
    return KD_OK;
}

kd_status points_finish(kd_points *points) {
    const pointtree *tree = &points->tree;
    if (tree->count == 0) return KD_OK;
    const pointtree_nd_view view = pointtree_get_nd_view(tree);
    if (tree->scalar != POINT_FLOAT || tree->dims > 3)
        return leafindex_nd_open(&points->index_nd, &view);
    return leafindex_open(&points->index, &view);
}

static void release(kd_points *points) {
    pointtree_close(&points->tree);
    leafindex_close(&points->index);
    leafindex_nd_close(&points->index_nd);
    memory_free(points->renamed);
    points->renamed = NULL;
}

/* Everything of *out is new; on failure nothing is held. */
static kd_status build(kd_points *out, const kd_point_array *points,
                       const kd_points_options *options) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->options = *options;
    const double started = timing_now();
    KD_REQUIRE(points, KD_ERROR_USAGE, "no points given (NULL)");
    KD_REQUIRE(points->scalar == KD_FLOAT || points->scalar == KD_DOUBLE, KD_ERROR_USAGE,
               "scalar type %d, expected 0 (float) or 1 (double)", (int)points->scalar);
    point_array input = point_array_make(points->coordinates, points->count, points->dims,
                                         points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT);
    if (points->stride_bytes) input.stride_bytes = points->stride_bytes;
    const pointtree_options tree_options = {
        options->split == KD_POINTS_SPLIT_WIDEST ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN, false,
        0};
    const pointtree_builder *row =
        options->builder[0] ? pointtree_builder_find(options->builder) : &pointtree_builders[0];
    if (row) memcpy(out->builder, row->name, strlen(row->name) + 1);
    KD_TRY_GOTO(pointtree_open_nd(&out->tree, &input, &tree_options, options->builder, NULL));
    if (points->ids) {
        KD_TRY_GOTO(KD_RESERVE(out->renamed, points->count));
        memcpy(out->renamed, points->ids, points->count * sizeof *points->ids);
    }
    KD_TRY_GOTO(points_finish(out));
    out->build_seconds = timing_now() - started;
done:
    if (status != KD_OK) release(out);
    return status;
}

kd_status kd_points_open(kd_points **out, const kd_point_array *points,
                         const kd_points_options *options) {
    kd_status status = KD_OK;
    kd_points_options defaults;
    kd_points_options_default(&defaults);
    if (!options) options = &defaults;
    KD_REQUIRE(out, KD_ERROR_USAGE, "no place for the tree given (NULL)");
    *out = NULL;
    KD_TRY(check_options(options));
    kd_points *opened = NULL;
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    KD_TRY_GOTO(build(opened, points, options));
    *out = opened;
done:
    if (status != KD_OK) memory_free(opened);
    return status;
}

kd_status kd_points_update(kd_points *tree, const kd_point_array *points) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "no tree given (NULL)");
    kd_points built;
    KD_TRY(build(&built, points, &tree->options));
    release(tree);
    *tree = built;
    return KD_OK;
}

void kd_points_close(kd_points *tree) {
    if (!tree) return;
    release(tree);
    memory_free(tree);
}

static uint64_t bytes_held(const kd_points *tree) {
    const pointtree *t = &tree->tree;
    uint64_t bytes = sizeof *tree;
    const uint64_t a_point = t->dims * point_scalar_bytes(t->scalar) + sizeof *t->ids +
                             (t->axes ? 1 : 0) + (tree->renamed ? sizeof *tree->renamed : 0);
    bytes += t->count * a_point;
    return bytes + leafindex_bytes(&tree->index) + leafindex_nd_bytes(&tree->index_nd);
}

void kd_points_describe(const kd_points *tree, kd_points_info *info) {
    memset(info, 0, sizeof *info);
    const pointtree *t = &tree->tree;
    info->count = t->count;
    info->dims = t->dims;
    info->scalar = t->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT;
    info->split = tree->options.split;
    memcpy(info->builder, tree->builder, sizeof info->builder);
    device cpu;
    device_cpu_describe(&cpu);
    memcpy(info->device, cpu.name, sizeof info->device);
    memcpy(info->lo, t->box.lo, sizeof info->lo);
    memcpy(info->hi, t->box.hi, sizeof info->hi);
    info->build_seconds = tree->build_seconds;
    info->bytes = bytes_held(tree);
    info->hash = pointtree_hash(t);
}

kd_status kd_points_download(const kd_points *tree, void *coordinates, uint32_t *ids,
                             uint8_t *axes) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "no tree given (NULL)");
    const pointtree *t = &tree->tree;
    if (coordinates)
        memcpy(coordinates, t->coordinates, t->count * t->dims * point_scalar_bytes(t->scalar));
    for (uint32_t i = 0; ids && i < t->count; ++i)
        ids[i] = tree->renamed ? tree->renamed[t->ids[i]] : t->ids[i];
    for (uint32_t i = 0; axes && i < t->count; ++i)
        axes[i] = t->axes ? t->axes[i] : (uint8_t)(pointtree_level_of(i) % t->dims);
    return KD_OK;
}
