#include "accel/triangles.h"
#include "accel/trace.h"
#include "core/device.h"
#include "core/memory.h"
#include "core/parallel.h"
#include <assert.h>
#include <stdio.h>

/* Rays and answers are copied a piece at a time between the caller's structs and ours. */
static_assert(sizeof(kd_ray) == sizeof(ray) &&
                  offsetof(kd_ray, direction) == offsetof(ray, direction) &&
                  offsetof(kd_ray, tmax) == offsetof(ray, tmax),
              "a ray is copied whole");
static_assert(sizeof(kd_ray_hit) == sizeof(ray_hit) &&
                  offsetof(kd_ray_hit, triangle) == offsetof(ray_hit, triangle),
              "a hit is copied whole");
static_assert(sizeof(kd_ray_counts) == sizeof(tritree_counts) &&
                  offsetof(kd_ray_counts, triangles) == offsetof(tritree_counts, triangles),
              "counts are copied whole");
static_assert(KD_NO_TRIANGLE == KD_NONE, "a miss is a miss");

kd_triangle_mesh kd_triangle_mesh_make(const float *vertices, uint64_t vertex_count,
                                       const uint32_t *indices, uint64_t triangle_count) {
    const kd_triangle_mesh mesh = {vertices, vertex_count, 0, indices, triangle_count};
    return mesh;
}

void kd_triangles_options_default(kd_triangles_options *options) {
    const tritree_options defaults = tritree_options_default();
    memset(options, 0, sizeof *options);
    snprintf(options->device, sizeof options->device, "auto");
    snprintf(options->builder, sizeof options->builder, "auto");
    options->traversal_cost = defaults.traversal_cost;
    options->intersect_cost = defaults.intersect_cost;
    options->empty_factor = defaults.empty_factor;
}

kd_status triangles_check_options(const kd_triangles_options *options) {
    KD_REQUIRE(memchr(options->device, 0, sizeof options->device) &&
                   memchr(options->builder, 0, sizeof options->builder),
               KD_ERROR_USAGE,
               "the device or builder of the options has no end: fill options by "
               "kd_triangles_options_default");
    KD_REQUIRE(options->max_depth >= 0, KD_ERROR_USAGE, "leaves at most %d deep, expected >= 0",
               options->max_depth);
    KD_REQUIRE(options->threads >= 0, KD_ERROR_USAGE, "%d threads, expected >= 0",
               options->threads);
    if (strcmp(options->device, "auto") != 0) { /* which is the CPU */
        device found;
        KD_TRY(device_find(&found, options->device));
        KD_REQUIRE(found.kind == DEVICE_CPU, KD_ERROR_DEVICE,
                   "device \"%s\" is there, but these trees are built and asked on the CPU",
                   options->device);
    }
    if (options->threads > 0) parallel_set_threads(options->threads);
    return KD_OK;
}

static kd_status choose_builder(const tritree_builder **out, const char *name) {
    if (name[0] == '\0' || strcmp(name, "auto") == 0)
        name = parallel_threads() > 1 ? "parallel" : "sweep";
    *out = tritree_builder_find(name);
    KD_REQUIRE(*out, KD_ERROR_USAGE, "there is no triangle tree builder \"%s\"", name);
    KD_REQUIRE(strstr((*out)->devices, "cpu"), KD_ERROR_DEVICE,
               "the builder \"%s\" works on %s only", name, (*out)->devices);
    return KD_OK;
}

static kd_status check_mesh(const kd_triangle_mesh *mesh) {
    KD_REQUIRE(mesh, KD_ERROR_USAGE, "no triangles given (NULL)");
    KD_REQUIRE(mesh->vertex_count <= UINT32_MAX && mesh->triangle_count < KD_NONE, KD_ERROR_USAGE,
               "%llu vertices and %llu triangles, expected less than 2^32 and 2^32 - 1",
               (unsigned long long)mesh->vertex_count, (unsigned long long)mesh->triangle_count);
    KD_REQUIRE(mesh->vertices || mesh->vertex_count == 0, KD_ERROR_USAGE, "%llu vertices at NULL",
               (unsigned long long)mesh->vertex_count);
    KD_REQUIRE(mesh->stride_bytes == 0 ||
                   (mesh->stride_bytes >= sizeof(vec3) && mesh->stride_bytes % sizeof(float) == 0),
               KD_ERROR_USAGE,
               "%llu bytes from a vertex to the next, expected a multiple of 4 from 12 on, or 0",
               (unsigned long long)mesh->stride_bytes);
    KD_REQUIRE(mesh->indices || mesh->vertex_count / 3 >= mesh->triangle_count, KD_ERROR_USAGE,
               "%llu triangles without indices need %llu vertices, there are %llu",
               (unsigned long long)mesh->triangle_count,
               (unsigned long long)(3 * mesh->triangle_count),
               (unsigned long long)mesh->vertex_count);
    return KD_OK;
}

static kd_status copy_mesh(kd_triangles *to, const kd_triangle_mesh *mesh) {
    const uint64_t stride = mesh->stride_bytes ? mesh->stride_bytes : sizeof(vec3);
    const uint64_t index_count = 3 * mesh->triangle_count;
    KD_TRY(KD_RESERVE(to->positions, mesh->vertex_count));
    KD_TRY(KD_RESERVE(to->triangles, index_count));
    for (uint64_t i = 0; i < mesh->vertex_count; ++i)
        memcpy(&to->positions[i], (const char *)mesh->vertices + i * stride, sizeof(vec3));
    for (uint64_t i = 0; i < index_count; ++i)
        to->triangles[i] = mesh->indices ? mesh->indices[i] : (uint32_t)i;
    return KD_OK;
}

kd_status kd_triangles_open(kd_triangles **out, const kd_triangle_mesh *mesh,
                            const kd_triangles_options *options) {
    kd_status status = KD_OK;
    kd_triangles_options defaults;
    kd_triangles_options_default(&defaults);
    if (!options) options = &defaults;
    KD_REQUIRE(out, KD_ERROR_USAGE, "no place for the tree given (NULL)");
    *out = NULL;
    KD_TRY(triangles_check_options(options));
    KD_TRY(check_mesh(mesh));
    const tritree_builder *builder = NULL;
    KD_TRY(choose_builder(&builder, options->builder));
    kd_triangles *opened = NULL;
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    snprintf(opened->builder, sizeof opened->builder, "%s", builder->name);
    KD_TRY_GOTO(copy_mesh(opened, mesh));
    const tritree_input input = {opened->positions, opened->triangles, (uint32_t)mesh->vertex_count,
                                 (uint32_t)mesh->triangle_count};
    const tritree_options how = {options->traversal_cost, options->intersect_cost,
                                 options->empty_factor, options->max_depth};
    KD_TRY_GOTO(tritree_open(&opened->tree, &input, &how, builder->name, NULL));
    *out = opened;
done:
    if (status != KD_OK) kd_triangles_close(opened);
    return status;
}

void kd_triangles_close(kd_triangles *tree) {
    if (!tree) return;
    tritree_close(&tree->tree);
    memory_free(tree->positions);
    memory_free(tree->triangles);
    memory_free(tree);
}

static uint64_t bytes_held(const kd_triangles *of) {
    const tritree *tree = &of->tree;
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < tree->node_count; ++i)
        if (tritree_is_leaf(tree->nodes[i]))
            blocks += (tritree_count(tree->nodes[i]) + TRIANGLE_BLOCK - 1) / TRIANGLE_BLOCK;
    return sizeof *of + tree->input.position_count * sizeof(vec3) +
           3ull * tree->input.triangle_count * sizeof(uint32_t) +
           2ull * tree->node_count * sizeof(tritree_node) +
           tree->reference_count * sizeof(uint32_t) + blocks * sizeof(triangle_block);
}

void kd_triangles_describe(const kd_triangles *of, kd_triangles_info *info) {
    memset(info, 0, sizeof *info);
    const tritree *tree = &of->tree;
    const tritree_statistics *s = &tree->statistics;
    info->vertices = tree->input.position_count;
    info->triangles = tree->input.triangle_count;
    info->degenerate_triangles = s->degenerate_triangles;
    info->nodes = s->nodes;
    info->leaves = s->leaves;
    info->empty_leaves = s->empty_leaves;
    info->references = s->references;
    info->depth = s->depth;
    info->sah_cost = s->sah_cost;
    info->build_seconds = s->build_seconds;
    memcpy(info->builder, of->builder, sizeof info->builder);
    device cpu;
    device_cpu_describe(&cpu);
    memcpy(info->device, cpu.name, sizeof info->device);
    memcpy(info->lo, &tree->box.lo, sizeof info->lo);
    memcpy(info->hi, &tree->box.hi, sizeof info->hi);
    info->bytes = bytes_held(of);
    info->hash = tritree_hash(tree);
}

enum { PIECE = 1024 }; /* rays copied at a time, 48 KB of stack */

typedef struct asked {
    tritree_view view;
    const kd_ray *rays;
    kd_ray_hit *hits; /* NULL: any hit will do */
    uint8_t *blocked;
    kd_ray_counts *counts;
} asked;

/* A ray that cannot hit anything loses its direction, which ends its walk at once. */
static ray take_ray(const kd_ray *from) {
    ray taken;
    memcpy(&taken, from, sizeof taken);
    if (!vec3_is_finite(taken.origin) || !vec3_is_finite(taken.direction) ||
        !(taken.tmin < taken.tmax))
        taken = ray_make(vec3_all(0), vec3_all(0), 0, taken.tmax);
    return taken;
}

static void ask_piece(void *context, int64_t begin, int64_t end, int thread) {
    const asked *a = (const asked *)context;
    const uint64_t count = (uint64_t)(end - begin);
    ray rays[PIECE];
    ray_hit hits[PIECE];
    tritree_counts counts[PIECE];
    (void)thread;
    for (uint64_t i = 0; i < count; ++i) rays[i] = take_ray(&a->rays[(uint64_t)begin + i]);
    tritree_counts *wanted = a->counts ? counts : NULL;
    kd_status status = KD_OK;
    if (a->hits) {
        status = trace_closest(&a->view, rays, hits, count, wanted, NULL);
        memcpy(a->hits + begin, hits, count * sizeof *hits);
    } else {
        status = trace_occluded(&a->view, rays, a->blocked + begin, count, wanted, NULL);
    }
    if (wanted) memcpy(a->counts + begin, counts, count * sizeof *counts);
    assert(status == KD_OK); /* nobody cancels, and the count is small */
    (void)status;
}

static kd_status ask(const kd_triangles *tree, asked *a, uint64_t count) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "no tree given (NULL)");
    KD_REQUIRE(count == 0 || (a->rays && (a->hits || a->blocked)), KD_ERROR_USAGE,
               "%llu rays, but no %s given (NULL)", (unsigned long long)count,
               a->rays ? "place for the answers" : "rays");
    KD_REQUIRE(count <= INT64_MAX / sizeof(kd_ray), KD_ERROR_USAGE,
               "%llu rays do not fit in memory", (unsigned long long)count);
    a->view = tritree_get_view(&tree->tree);
    parallel_for((int64_t)count, PIECE, ask_piece, a);
    return KD_OK;
}

kd_status kd_triangles_intersect(const kd_triangles *tree, const kd_ray *rays, uint64_t count,
                                 kd_ray_hit *hits, kd_ray_counts *counts) {
    asked a = {.rays = rays, .hits = hits, .counts = counts};
    return ask(tree, &a, count);
}

kd_status kd_triangles_occluded(const kd_triangles *tree, const kd_ray *rays, uint64_t count,
                                uint8_t *blocked, kd_ray_counts *counts) {
    asked a = {.rays = rays, .blocked = blocked, .counts = counts};
    return ask(tree, &a, count);
}
