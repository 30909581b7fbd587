#include "accel/triangles.h"
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/wide/wide_tree.h"
#include "core/device/device.h"
#include "core/device/device_stream.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/parallel/call.h"
#include "core/parallel/parallel.h"
#include "core/version.h"
#include <stdio.h>

kd_triangle_mesh kd_triangle_mesh_make(const float *vertices, uint64_t vertex_count,
                                       const uint32_t *indices, uint64_t triangle_count) {
    const kd_triangle_mesh mesh = {vertices, vertex_count, 0, indices, triangle_count};
    return mesh;
}

void kd_triangles_options_default_sized(kd_triangles_options *options, size_t struct_size) {
    const tritree_options defaults = tritree_options_default();
    kd_triangles_options filled;
    memset(&filled, 0, sizeof filled);
    snprintf(filled.device, sizeof filled.device, "auto");
    snprintf(filled.builder, sizeof filled.builder, "auto");
    filled.traversal_cost =
        2; /* compared with 1.5: 0.8 of the build's time, at most 1.03 of that of rays */
    filled.intersect_cost = defaults.intersect_cost;
    filled.empty_factor = defaults.empty_factor;
    sized_give(options, struct_size, &filled, sizeof filled);
}

kd_status triangles_take_options(kd_triangles_options *out,
                                 const kd_triangles_options *caller_options) {
    const kd_triangles_options *options = out;
    kd_triangles_options_default(out);
    if (caller_options)
        KD_TRY(sized_take(out, sizeof *out, caller_options, "kd_triangles_options_default"));
    KD_REQUIRE(memchr(options->device, 0, sizeof options->device) &&
                   memchr(options->builder, 0, sizeof options->builder),
               KD_ERROR_USAGE,
               "`device` or `builder` of `options` is not terminated; call "
               "kd_triangles_options_default first");
    KD_REQUIRE(options->max_depth >= 0, KD_ERROR_USAGE, "`max_depth` is %d; expected 0 or more",
               options->max_depth);
    KD_TRY(call_check_threads(options->threads));
    if (!name_is_auto(options->device)) {
        device device;
        KD_TRY(device_find(&device, options->device));
    }
    return KD_OK;
}

static kd_status check_mesh_memory(const kd_triangle_mesh *mesh, bool host) {
    const caller_array arrays[] = {{mesh->vertices, "vertices", sizeof *mesh->vertices},
                                   {mesh->indices, "indices", sizeof *mesh->indices}};
    return caller_memory_check(arrays, 2, host);
}

static kd_status check_mesh(const kd_triangle_mesh *mesh) {
    KD_REQUIRE(mesh, KD_ERROR_USAGE, "`mesh` must not be NULL");
    KD_REQUIRE(mesh->vertex_count <= UINT32_MAX && mesh->triangle_count < KD_NONE, KD_ERROR_USAGE,
               "`vertex_count` is %llu and `triangle_count` is %llu; supported: less than 2^32 and "
               "less than 2^32 - 1",
               (unsigned long long)mesh->vertex_count, (unsigned long long)mesh->triangle_count);
    KD_REQUIRE(mesh->vertices || mesh->vertex_count == 0, KD_ERROR_USAGE,
               "`vertices` must not be NULL: `vertex_count` is %llu",
               (unsigned long long)mesh->vertex_count);
    KD_TRY(
        caller_stride_check(mesh->vertex_count, mesh->stride_bytes, 3, sizeof(float), "vertices"));
    KD_REQUIRE(mesh->indices || mesh->vertex_count / 3 >= mesh->triangle_count, KD_ERROR_USAGE,
               "%llu triangles without `indices` need %llu vertices; `vertex_count` is %llu",
               (unsigned long long)mesh->triangle_count,
               (unsigned long long)(3 * mesh->triangle_count),
               (unsigned long long)mesh->vertex_count);
    return check_mesh_memory(mesh, false);
}

/* Returns an array in host memory: the caller's, or *owned, a copy from a device. */
static kd_status to_host(const void **out, void **owned, const void *data, uint64_t bytes) {
    *out = data;
    if (bytes == 0 || device_cuda_count() == 0 || device_of_pointer(data) < 0) return KD_OK;
    KD_TRY(memory_reserve(owned, bytes, 1));
    *out = *owned;
    KD_TRY(device_copy(*owned, data, bytes, NULL));
    return device_stream_wait(NULL);
}

static kd_status copy_mesh(kd_triangles *tree, const kd_triangle_mesh *mesh, bool from_device) {
    const uint64_t stride = mesh->stride_bytes ? mesh->stride_bytes : sizeof(vec3);
    const uint64_t vertices = mesh->vertex_count, index_count = 3 * mesh->triangle_count;
    const void *from = mesh->vertices, *indices = mesh->indices;
    void *owned[2] = {NULL, NULL};
    kd_status status = KD_OK;
    if (from_device) {
        KD_TRY_GOTO(
            to_host(&from, &owned[0], from, vertices ? (vertices - 1) * stride + sizeof(vec3) : 0));
        if (indices)
            KD_TRY_GOTO(to_host(&indices, &owned[1], indices, index_count * sizeof(uint32_t)));
    }
    KD_TRY_GOTO(KD_RESERVE(tree->positions, vertices));
    KD_TRY_GOTO(KD_RESERVE(tree->triangles, index_count));
    for (uint64_t i = 0; i < vertices; ++i)
        memcpy(&tree->positions[i], (const char *)from + i * stride, sizeof(vec3));
    for (uint64_t i = 0; i < index_count; ++i)
        tree->triangles[i] = indices ? ((const uint32_t *)indices)[i] : (uint32_t)i;
done:
    memory_free(owned[0]);
    memory_free(owned[1]);
    return status;
}

static kd_status build_on_cpu(kd_triangles *out, const kd_triangle_mesh *mesh,
                              const kd_triangles_options *options, int32_t cuda) {
    const tritree_builder *builder = NULL;
    KD_TRY(check_mesh_memory(mesh, cuda < 0));
    KD_TRY(tritree_builder_choose(&builder, options->builder));
    snprintf(out->builder, sizeof out->builder, "%s", builder->name);
    KD_TRY(copy_mesh(out, mesh, cuda >= 0));
    const tritree_input input = {out->positions, out->triangles, (uint32_t)mesh->vertex_count,
                                 (uint32_t)mesh->triangle_count};
    const tritree_options tree_options = out->tree.options;
    job_control *job = job_current();
    job_stage_begin(job, "build", input.triangle_count);
    const kd_status status = tritree_open(&out->tree, &input, &tree_options, builder->name, job);
    job_stage_end(job);
    return status == KD_OK ? job_check(job) : status;
}

/* Arguments of an open on a device. */
typedef struct opening {
    kd_triangles *out;
    const kd_triangle_mesh *mesh;
    const kd_triangles_options *options;
    int32_t cuda;
} opening;

static kd_status build_on_cuda(void *context, const tritree_builder_cuda *row) {
    const opening *arguments = (const opening *)context;
    if (row) {
        snprintf(arguments->out->builder, sizeof arguments->out->builder, "%s", row->name);
        return triangles_cuda_build(arguments->out, arguments->mesh, row, arguments->cuda);
    }
    KD_TRY(build_on_cpu(arguments->out, arguments->mesh, arguments->options, arguments->cuda));
    return triangles_cuda_adopt(arguments->out, arguments->cuda);
}

static kd_status build_on_device(opening *opening) {
    int32_t previous = 0;
    /* the free memory of this device limits the choice of the builder */
    KD_TRY(device_enter(opening->cuda, &previous));
    const kd_status status =
        tritree_build_by_turns(opening->options->builder, opening->mesh->vertex_count,
                               opening->mesh->triangle_count, build_on_cuda, opening);
    device_leave(previous);
    return status;
}

const char *kd_triangles_builders(void) {
#define BUILDER_NAME(name) " " #name
#ifdef KD_HAVE_CUDA
    return &(TRITREE_BUILDER_ROWS(BUILDER_NAME) " binned")[1];
#else
    return &(TRITREE_BUILDER_ROWS(BUILDER_NAME))[1];
#endif
}

kd_status kd_triangles_open(kd_triangles **out, const kd_triangle_mesh *mesh,
                            const kd_triangles_options *options) {
    KD_CALL(0);
    kd_status status = KD_OK;
    kd_triangles_options taken;
    KD_REQUIRE(out, KD_ERROR_USAGE, "`out` must not be NULL");
    *out = NULL;
    KD_TRY(triangles_take_options(&taken, options));
    options = &taken;
    KD_TRY(check_mesh(mesh));
    call_set_threads(&kd_call_scope, options->threads);
    const double started = timing_now();
    int32_t cuda = -1;
    KD_TRY(device_choose(&cuda, options->device, mesh->vertices, mesh->triangle_count, true));
    kd_triangles *opened = NULL;
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    opened->stream = options->stream;
    opened->threads = options->threads;
    opened->tree.options = (tritree_options){options->traversal_cost, options->intersect_cost,
                                             options->empty_factor, options->max_depth};
    opening opening = {opened, mesh, options, cuda};
    if (cuda >= 0) status = build_on_device(&opening);
    if (cuda < 0 || device_retreats(options->device, status, mesh->vertices)) {
        triangles_drop_host(opened);
        status = build_on_cpu(opened, mesh, options, -1);
    }
    opened->tree.statistics.build_seconds = timing_now() - started;
    *out = opened;
    if (status != KD_OK) {
        kd_triangles_close(opened);
        *out = NULL;
    }
    return status;
}

kd_status triangles_finish(kd_triangles *tree, const kd_triangles_options *options) {
    int32_t cuda = -1;
    KD_TRY(device_choose(&cuda, options->device, NULL, tree->tree.input.triangle_count, true));
    tree->stream = options->stream;
    tree->threads = options->threads;
    if (cuda < 0) return KD_OK;
    const kd_status status = triangles_cuda_adopt(tree, cuda);
    return device_retreats(options->device, status, NULL) ? KD_OK : status;
}

void triangles_drop_host(kd_triangles *tree) {
    tritree kept = tree->tree;
    tritree_close(&tree->tree);
    memory_free(tree->positions);
    memory_free(tree->triangles);
    tree->positions = NULL;
    tree->triangles = NULL;
    kept.nodes = NULL;
    kept.references = NULL;
    kept.rows = NULL;
    kept.wide = NULL;
    kept.input.positions = NULL;
    kept.input.triangles = NULL;
    tree->tree = kept;
}

void kd_triangles_close(kd_triangles *tree) {
    if (!tree) return;
    triangles_close_nearest_tree(tree);
    triangles_drop_host(tree);
    triangles_cuda_close(tree->cuda);
    memory_free(tree);
}

static uint64_t bytes_held(const kd_triangles *triangles) {
    const tritree *tree = &triangles->tree;
    const uint64_t nearest = triangles_nearest_bytes(triangles);
    if (triangles->cuda)
        return sizeof *triangles + sizeof *triangles->cuda + triangles->cuda->tree.bytes + nearest;
    return sizeof *triangles + nearest + tree->input.position_count * sizeof(vec3) +
           3ull * tree->input.triangle_count * sizeof(uint32_t) +
           tree->input.triangle_count * sizeof(triangle_rows) +
           tree->node_count * sizeof(tritree_node) + tree->reference_count * sizeof(uint32_t) +
           wide_tree_bytes(tree->wide);
}

static void describe_tree(const tritree *tree, kd_triangles_info *info) {
    const tritree_statistics *s = &tree->statistics;
    info->nodes = s->nodes;
    info->leaves = s->leaves;
    info->empty_leaves = s->empty_leaves;
    info->depth = s->depth;
    info->sah_cost = s->sah_cost;
    info->hash = tritree_hash(tree);
}

/* Fills the fields that depend on where the tree is. For a tree on a device, statistics that
   require its nodes are 0 if these cannot be copied to the host. */
static void describe_place(const kd_triangles *tree, kd_triangles_info *info) {
    device device;
    memset(&device, 0, sizeof device);
    if (tree->cuda) {
        kd_triangles *copy = NULL;
        device_cuda_describe(&device, tree->cuda->device);
        info->nodes = tree->tree.node_count;
        if (triangles_cuda_fetch(&copy, tree, false) == KD_OK) describe_tree(&copy->tree, info);
        kd_triangles_close(copy);
    } else {
        device_cpu_describe(&device);
        describe_tree(&tree->tree, info);
    }
    memcpy(info->device, device.name, sizeof info->device);
    snprintf(info->form, sizeof info->form, "%s",
             tree->cuda        ? tritree_cuda_form(&tree->cuda->tree)
             : tree->tree.wide ? "wide"
                               : "nodes");
}

static void describe(const kd_triangles *triangles, kd_triangles_info *info) {
    const tritree *tree = &triangles->tree;
    info->vertices = tree->input.position_count;
    info->triangles = tree->input.triangle_count;
    info->degenerate_triangles = tree->statistics.degenerate_triangles;
    info->references = tree->reference_count;
    info->build_seconds = tree->statistics.build_seconds;
    memcpy(info->builder, triangles->builder, sizeof info->builder);
    memcpy(info->lo, &tree->box.lo, sizeof info->lo);
    memcpy(info->hi, &tree->box.hi, sizeof info->hi);
    info->bytes = bytes_held(triangles);
    describe_place(triangles, info);
}

void kd_triangles_describe_sized(const kd_triangles *tree, kd_triangles_info *info,
                                 size_t struct_size) {
    kd_triangles_info full;
    memset(&full, 0, sizeof full);
    if (tree && info) describe(tree, &full);
    sized_give(info, struct_size, &full, sizeof full);
}
