/* Builds a distributed tree.
   Idea: ranks (threads with a device each, or processes) hold slices of the input. They select the
         planes of the upper levels together and send each point to its part; then each builds the
         sub-tree of its points with the builder of a single tree.
   Invariants: the points of a part stay in input order, so its builder, and its queries, break ties
               as a single tree does.
   Memory: besides the sub-trees, two copies of the points while they are moved, with 4 or 8 bytes
           for each number. */
#include "distributed/points/parts.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/job.h"
#include "core/memory.h"
#include "distributed/points/share.h"
#include "distributed/ranks/ranks.h"
#include "points/tree/bounds.h"
#include <stdio.h>
#include <string.h>

/* State of one rank while its part is built. */
typedef struct tree_building {
    ranks *comm;
    /* fields equal on all ranks are written by rank 0 of a process */
    points_parts *parts;
    points_part *part;
    kd_points_options options; /* `device` names a single device */
    int32_t device;            /* destination device of the points; -1: host */
    void *staged;              /* copy of the slice if it was in other memory */
    point_share share;
    part_summary summary, *all;
    top_node *nodes;
    share_split split;
    void *coordinates, *numbers; /* points received */
    /* size + 1: ranges of the points received from each rank */
    uint64_t *begins;
    /* for each rank: number of points that it sends to every part */
    uint64_t *matrix;
} tree_building;

static int32_t size_of(const tree_building *build) {
    return build->comm->size;
}

/* --- memory of the host or of the part's device --------------------------------------------- */

static kd_status build_allocate(const tree_building *build, void **out, uint64_t count,
                                uint64_t bytes) {
    return build->device < 0 ? memory_reserve(out, count, bytes)
                             : device_memory_reserve(out, count ? count * bytes : 1);
}

static void build_free(const tree_building *build, void *owned) {
    (build->device < 0 ? memory_free : device_memory_free)(owned);
}

static int copy_bytes(void *to, const void *from, uint64_t bytes) {
    return device_copy(to, from, bytes, NULL) != KD_OK || device_stream_wait(NULL) != KD_OK;
}

/* Moves the slice to the memory in which the part will be built. */
static kd_status stage(tree_building *build) {
    point_array *points = &build->share.points;
    build->share.on_device = build->device >= 0;
    if (points->count == 0 || (build->device < 0 && !device_in_use())) return KD_OK;
    if (device_of_pointer(points->coordinates) == build->device) return KD_OK;
    const uint64_t bytes = (points->count - 1) * points->stride_bytes +
                           points->dims * point_scalar_bytes(points->scalar);
    KD_TRY(build_allocate(build, &build->staged, bytes, 1));
    KD_TRY(device_copy(build->staged, points->coordinates, bytes, NULL));
    points->coordinates = build->staged;
    return device_stream_wait(NULL);
}

/* --- the whole input ------------------------------------------------------------------------ */

static kd_status gather_summaries(tree_building *build) {
    build->all[build->comm->rank] = build->summary;
    return ranks_all_gather_even(build->comm, build->all, sizeof *build->all);
}

/* Determines the number of points, their numbers and the bounding box of all slices. */
static kd_status visit_all(tree_building *build, point_box *box, uint64_t *count) {
    uint64_t before = 0;
    *count = 0;
    *box = point_box_empty();
    KD_TRY(ranks_agree(build->comm, share_scan(&build->summary.box, &build->share)));
    build->summary.count = build->share.points.count;
    KD_TRY(gather_summaries(build));
    for (int32_t r = 0; r < size_of(build); ++r) {
        const part_summary *one = &build->all[r];
        if (r < build->comm->rank) before += one->count;
        *count += one->count;
        for (uint32_t axis = 0; one->count && axis < POINT_DIMS_MAX; ++axis) {
            if (one->box.lo[axis] < box->lo[axis]) box->lo[axis] = one->box.lo[axis];
            if (one->box.hi[axis] > box->hi[axis]) box->hi[axis] = one->box.hi[axis];
        }
    }
    const uint64_t first = build->parts->first;
    KD_REQUIRE(first <= KD_NO_POINT64 - 1 && *count <= KD_NO_POINT64 - 1 - first, KD_ERROR_USAGE,
               "%llu points from `first_id` %llu on exceed the largest id, 2^64 - 2",
               (unsigned long long)*count, (unsigned long long)first);
    build->share.first = first + before;
    build->share.wide = first + *count > KD_NO_POINT;
    return KD_OK;
}

/* --- moving the points ---------------------------------------------------------------------- */

/* Exchanges the number of points that each rank sends to each part. */
static kd_status learn_counts(tree_building *build) {
    const int32_t size = size_of(build);
    uint64_t *counts = NULL;
    KD_TRY(KD_RESERVE(counts, (uint64_t)size));
    for (int32_t p = 0; p < size; ++p)
        counts[p] = build->split.begins[p + 1] - build->split.begins[p];
    const kd_status status =
        ranks_agree_on(build->comm, KD_OK, counts, (uint32_t)size, build->matrix);
    memory_free(counts);
    KD_TRY(status);
    build->begins[0] = 0;
    for (int32_t r = 0; r < size; ++r)
        build->begins[r + 1] =
            build->begins[r] +
            build->matrix[(uint64_t)r * (uint64_t)size + (uint64_t)build->comm->rank];
    return KD_OK;
}

static kd_status exchange(tree_building *build, const void *from, void *to, uint64_t item_bytes) {
    const int32_t size = size_of(build);
    uint64_t *out = NULL;
    KD_TRY(KD_RESERVE(out, 2 * ((uint64_t)size + 1)));
    uint64_t *in = out + size + 1;
    for (int32_t r = 0; r <= size; ++r) {
        out[r] = build->split.begins[r] * item_bytes;
        in[r] = build->begins[r] * item_bytes;
    }
    const kd_status status = ranks_all_to_all(build->comm, from, out, to, in);
    memory_free(out);
    return status;
}

static kd_status reserve_arrived(tree_building *build) {
    const point_array *points = &build->share.points;
    const uint64_t count = build->begins[size_of(build)];
    KD_TRY(build_allocate(build, &build->coordinates, count * points->dims,
                          point_scalar_bytes(points->scalar)));
    return build_allocate(build, &build->numbers, count, share_number_bytes(build->share.wide));
}

static kd_status move_points(tree_building *build) {
    const point_array *points = &build->share.points;
    KD_TRY(ranks_agree(build->comm, share_divide(&build->split, &build->share, build->nodes,
                                                 (uint32_t)size_of(build))));
    KD_TRY(learn_counts(build));
    KD_TRY(ranks_agree(build->comm, reserve_arrived(build)));
    KD_TRY(exchange(build, build->split.coordinates, build->coordinates,
                    points->dims * point_scalar_bytes(points->scalar)));
    KD_TRY(exchange(build, build->split.numbers, build->numbers,
                    share_number_bytes(build->share.wide)));
    share_split_close(&build->split);
    return KD_OK;
}

/* --- the sub-tree --------------------------------------------------------------------------- */

static kd_status build_part(tree_building *build) {
    const point_array *points = &build->share.points;
    kd_point_array array =
        kd_point_array_make(build->coordinates, build->begins[size_of(build)], points->dims,
                            points->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT);
    point_share arrived = build->share;
    arrived.points =
        point_array_make(build->coordinates, array.count, points->dims, points->scalar);
    if (!build->share.wide) array.ids = (const uint32_t *)build->numbers;
    KD_TRY(share_scan(&build->summary.box, &arrived));
    build->summary.count = array.count;
    KD_TRY(kd_points_open(&build->part->tree, &array, &build->options));
    if (!build->share.wide) return KD_OK;
    if (build->device >= 0) {
        KD_TRY(KD_RESERVE(build->part->numbers, array.count));
        return array.count ? device_memory_download(build->part->numbers, build->numbers,
                                                    array.count * sizeof(uint64_t))
                           : KD_OK;
    }
    build->part->numbers = (uint64_t *)build->numbers;
    build->numbers = NULL;
    return KD_OK;
}

static kd_status reserve(tree_building *build) {
    const uint64_t size = (uint64_t)size_of(build);
    KD_REQUIRE(size <= PARTS_MAX, KD_ERROR_USAGE, "the tree has %llu parts; supported: at most %d",
               (unsigned long long)size, PARTS_MAX);
    KD_TRY(KD_RESERVE_ZEROED(build->all, size));
    KD_TRY(KD_RESERVE(build->nodes, (uint64_t)top_nodes((uint32_t)size)));
    KD_TRY(KD_RESERVE(build->begins, size + 1));
    return KD_RESERVE(build->matrix, size * size);
}

/* Checks that all slices have the same dims, scalar and first id. */
static kd_status check_kinds(tree_building *build, kd_status local_status) {
    const point_array *points = &build->share.points;
    const uint64_t kinds[] = {points->dims, points->scalar, build->parts->first};
    uint64_t *all = NULL;
    KD_TRY(KD_RESERVE(all, 3 * (uint64_t)size_of(build)));
    kd_status status = ranks_agree_on(build->comm, local_status, kinds, 3, all);
    for (int32_t r = 1; status == KD_OK && r < size_of(build); ++r)
        if (memcmp(all, all + (size_t)r * 3, sizeof kinds) != 0)
            status = status_fail(KD_ERROR_USAGE, __FILE__, __LINE__,
                                 "rank %d differs from rank 0 in `dims`, `scalar` or `first_id`; "
                                 "they must be equal on all ranks",
                                 r);
    memory_free(all);
    return status;
}

static kd_status build_trees(tree_building *build, kd_status status) {
    point_box box;
    uint64_t count = 0;
    const double began = timing_now();
    if (status == KD_OK) status = reserve(build);
    if (status == KD_OK) status = stage(build);
    KD_TRY(check_kinds(build, status));
    KD_TRY(visit_all(build, &box, &count));
    KD_TRY(top_select(build->nodes, build->comm, &build->share, &box, count, build->parts->first,
                      (uint32_t)size_of(build)));
    KD_TRY(move_points(build));
    const double top_seconds = timing_now() - began;
    KD_TRY(ranks_agree(build->comm, build_part(build)));
    KD_TRY(gather_summaries(build));
    build->part->begin = 0;
    build->part->device = build->device;
    for (int32_t r = 0; r < build->comm->rank; ++r) build->part->begin += build->all[r].count;
    if (build->comm->rank != 0 && !parts_are_shared(build->parts)) return KD_OK;
    build->parts->all = build->all;
    build->all = NULL;
    build->parts->count = count;
    build->parts->wide = build->share.wide;
    build->parts->top_seconds = top_seconds;
    return KD_OK;
}

static void tree_building_close(tree_building *owned) {
    share_split_close(&owned->split);
    memory_free(owned->all);
    memory_free(owned->nodes);
    memory_free(owned->begins);
    memory_free(owned->matrix);
    build_free(owned, owned->coordinates);
    build_free(owned, owned->numbers);
    build_free(owned, owned->staged);
}

/* --- parts of this process ------------------------------------------------------------------ */

typedef struct party {
    points_parts *out;
    const kd_point_array *arrays;
    uint32_t array_count;
    bool on_devices; /* some parts or the input are on CUDA devices */
    const kd_points_options *options;
} party;

static point_array slice_of(const kd_point_array *points, uint64_t begin, uint64_t end) {
    point_array slice = point_array_make(points->coordinates, end - begin, points->dims,
                                         points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT);
    if (points->stride_bytes) slice.stride_bytes = points->stride_bytes;
    if (begin) slice.coordinates = (const char *)slice.coordinates + begin * slice.stride_bytes;
    return slice;
}

static void name_device(kd_points_options *options, const char *list, int32_t index) {
    char name[64];
    device_list_name(name, list, index);
    snprintf(options->device, sizeof options->device, "%s", name);
    options->stream = NULL; /* a stream cannot serve all devices */
}

/* Selects the device of a rank's part, -1 for the CPU, and enables access to the memory of the
   others. */
static kd_status enter(tree_building *build, const char *list, int32_t *previous) {
    device place;
    KD_TRY(device_find(&place, build->options.device));
    if (place.kind != DEVICE_CUDA) return KD_OK;
    KD_TRY(device_enter(place.index, previous));
    build->device = place.index;
    for (int32_t r = 0; r < build->comm->size; ++r) {
        device other;
        char name[64];
        device_list_name(name, list, r);
        if (device_find(&other, name) == KD_OK && other.kind == DEVICE_CUDA)
            KD_TRY(share_device_reach(other.index));
    }
    return KD_OK;
}

static kd_status build_one_tree(void *context, ranks *comm) {
    const party *work = (const party *)context;
    uint64_t begin = 0, end = 0;
    int32_t previous = 0;
    tree_building build = {.comm = comm, .parts = work->out, .device = -1};
    build.part = &work->out->part[comm->rank];
    build.options = *work->options;
    name_device(&build.options, work->options->device, comm->rank);
    const bool one = work->array_count == 1;
    const kd_point_array *from = &work->arrays[one ? 0 : comm->rank];
    ranks_part(comm, comm->rank, from->count, &begin, &end);
    build.share.points = one ? slice_of(from, begin, end) : slice_of(from, 0, from->count);
    if (work->on_devices) comm->copy = copy_bytes;
    const kd_status entered = enter(&build, work->options->device, &previous);
    const kd_status status = build_trees(&build, entered);
    if (comm->rank == 0)
        work->out->sent = comm->sent; /* representative: the other ranks send
                                           about as much */
    tree_building_close(&build);
    if (build.device >= 0) device_leave(previous);
    return status;
}

/* Builds one device's copy of the whole tree. */
static kd_status copy_one(void *context, ranks *comm) {
    const party *work = (const party *)context;
    kd_points_options options = *work->options;
    name_device(&options, work->options->device, comm->rank);
    return kd_points_open(&work->out->part[comm->rank].tree, work->arrays, &options);
}

/* If an array in host memory has a point that is not finite, reports its index in the whole
   array. */
static kd_status name_the_bad(const kd_point_array *arrays, uint32_t count, kd_status status) {
    if (count != 1 || (device_in_use() && device_of_pointer(arrays->coordinates) >= 0))
        return status;
    const point_array all = slice_of(arrays, 0, arrays->count);
    point_box box;
    const kd_status scanned = point_scan(&box, &all);
    return scanned == KD_OK ? status : scanned;
}

kd_status parts_open(points_parts *out, const kd_point_array *arrays, uint32_t count,
                     const kd_points_options *options) {
    party work = {.out = out, .arrays = arrays, .array_count = count, .options = options};
    const int32_t size = device_list_count(options->device);
    for (int32_t r = 0; r < size; ++r) { /* initialises devices before threads use them */
        device device;
        char name[64];
        device_list_name(name, options->device, r);
        KD_TRY(device_find(&device, name));
        work.on_devices = work.on_devices || device.kind == DEVICE_CUDA;
    }
    out->size = size;
    KD_TRY(KD_RESERVE_ZEROED(out->part, (uint64_t)size));
    const kd_status status =
        ranks_threads_run(size, out->copies ? copy_one : build_one_tree, &work);
    if (status != KD_OK) parts_close(out);
    return status == KD_ERROR_INPUT ? name_the_bad(arrays, count, status) : status;
}

/* --- the part of one process ---------------------------------------------------------------- */

kd_status parts_open_shared(points_parts *out, const kd_point_array *points,
                            const kd_points_options *options, kd_status checked) {
    tree_building build = {.comm = &out->shared, .parts = out, .device = -1};
    out->size = out->shared.size;
    if (checked == KD_OK) checked = KD_RESERVE_ZEROED(out->part, 1);
    build.part = out->part;
    build.options = *options;
    if (checked == KD_OK) build.share.points = slice_of(points, 0, points->count);
    const kd_status status = build_trees(&build, checked);
    out->sent = out->shared.sent;
    tree_building_close(&build);
    return status;
}

/* --- after the build ------------------------------------------------------------------------ */

static int32_t parts_local(const points_parts *parts) {
    return !parts->part ? 0 : parts_are_shared(parts) ? 1 : parts->size;
}

void parts_close(points_parts *owned) {
    for (int32_t p = 0; p < parts_local(owned); ++p) {
        kd_points_close(owned->part[p].tree);
        memory_free(owned->part[p].numbers);
    }
    memory_free(owned->part);
    memory_free(owned->all);
    owned->part = NULL;
    owned->all = NULL;
    if (owned->on_close) owned->on_close(owned->shared.user_data);
    owned->on_close = NULL;
}

uint64_t parts_bytes(const points_parts *parts) {
    uint64_t bytes = (uint64_t)parts->size * sizeof *parts->all;
    for (int32_t p = 0; p < parts_local(parts); ++p) {
        kd_points_info info;
        kd_points_describe_sized(parts->part[p].tree, &info, offsetof(kd_points_info, hash));
        bytes += sizeof *parts->part + info.bytes;
        if (parts->part[p].numbers) bytes += info.count * sizeof *parts->part[p].numbers;
    }
    return bytes;
}

kd_status parts_fetch(const points_parts *parts, void *coordinates) {
    const uint64_t bytes = parts->dims * point_scalar_bytes(parts->scalar);
    kd_status status = KD_OK;
    void *points = NULL;
    uint32_t *ids = NULL;
    for (int32_t p = 0; p < (parts->copies ? 1 : parts->size); ++p) {
        const uint64_t count = parts->copies ? parts->count : parts->all[p].count;
        KD_TRY_GOTO(memory_reserve(&points, count, bytes));
        KD_TRY_GOTO(KD_RESERVE(ids, count));
        KD_TRY_GOTO(kd_points_download(parts->part[p].tree, points, ids, NULL));
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t number = parts->wide ? parts->part[p].numbers[ids[i]] : ids[i];
            memcpy((char *)coordinates + (number - parts->first) * bytes,
                   (char *)points + i * bytes, bytes);
        }
        memory_free(points);
        memory_free(ids);
        points = NULL;
        ids = NULL;
    }
done:
    memory_free(points);
    memory_free(ids);
    return status;
}
