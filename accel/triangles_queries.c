/* Queries of <kandela/triangles.h>. On the CPU, rays and hits are copied in pieces between the
   caller's structs or arrays and the internal ones; on a device triangles_cuda_cast does the
   work. */
#include "accel/rays/batch.h"
#include "accel/rays/nearest.h"
#include "accel/rays/winding.h"
#include "accel/triangles.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include "core/parallel/parallel.h"
#include "core/version.h"
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

/* The public structs and the internal ones have the same layout, so they are copied by memcpy. */
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
static_assert(sizeof(kd_triangle_node) == sizeof(tritree_node) &&
                  offsetof(kd_triangle_node, word) == offsetof(tritree_node, word),
              "kd_triangle_node is a tritree_node");

enum { PIECE = 1024 }; /* rays per copy */

typedef struct query_batch {
    tritree_view view;
    const kd_ray_batch *batch;
} query_batch;

void kd_ray_batch_default_sized(kd_ray_batch *batch, size_t struct_size) {
    kd_ray_batch zeros;
    memset(&zeros, 0, sizeof zeros);
    sized_give(batch, struct_size, &zeros, sizeof zeros);
}

static ray read_ray(const kd_ray_batch *batch, uint64_t i) {
    ray taken;
    if (batch->rays) {
        memcpy(&taken, &batch->rays[i], sizeof taken);
        return taken;
    }
    return ray_make(
        vec3_make(batch->origin[0][i], batch->origin[1][i], batch->origin[2][i]),
        vec3_make(batch->direction[0][i], batch->direction[1][i], batch->direction[2][i]),
        batch->tmin ? batch->tmin[i] : 0, batch->tmax ? batch->tmax[i] : INFINITY);
}

/* A ray that cannot hit anything gets direction 0, which ends its traversal immediately. */
static ray take_ray(const kd_ray_batch *batch, uint64_t i) {
    const ray taken = read_ray(batch, i);
    if (vec3_is_finite(taken.origin) && vec3_is_finite(taken.direction) && taken.tmin < taken.tmax)
        return taken;
    return ray_make(vec3_all(0), vec3_all(0), 0, taken.tmax);
}

static void give_hits(const kd_ray_batch *batch, uint64_t begin, const ray_hit *hits,
                      uint64_t count) {
    if (batch->hits) {
        memcpy(batch->hits + begin, hits, count * sizeof *hits);
        return;
    }
    for (uint64_t i = 0; i < count; ++i) {
        if (batch->t) batch->t[begin + i] = hits[i].t;
        if (batch->u) batch->u[begin + i] = hits[i].u;
        if (batch->v) batch->v[begin + i] = hits[i].v;
        if (batch->triangles) batch->triangles[begin + i] = hits[i].triangle;
    }
}

/* Working memory for some rays of a batch. */
typedef struct rays_and_hits {
    ray *rays;
    ray_hit *hits;
    tritree_counts *counts; /* NULL: not requested */
} rays_and_hits;

static void query_some(const query_batch *a, uint64_t begin, uint64_t count,
                       const rays_and_hits *work) {
    const kd_ray_batch *batch = a->batch;
    for (uint64_t i = 0; i < count; ++i) work->rays[i] = take_ray(batch, begin + i);
    /* Both fail only in a cancelled call, whose own loop returns that status. */
    if (batch->blocked) {
        (void)trace_occluded(&a->view, work->rays, batch->blocked + begin, count, work->counts,
                             NULL);
    } else {
        (void)trace_closest(&a->view, work->rays, work->hits, count, work->counts, NULL);
        give_hits(batch, begin, work->hits, count);
    }
    if (work->counts) memcpy(batch->counts + begin, work->counts, count * sizeof *work->counts);
}

/* A piece has 72 KB of working memory, too much for a caller's stack. If the heap is exhausted, the
   piece is traced a few rays at a time. */
static void query_piece(void *context, int64_t first, int64_t end, int thread) {
    enum { FEW = 64 };
    typedef struct piece_memory {
        ray rays[PIECE];
        ray_hit hits[PIECE];
        tritree_counts counts[PIECE];
    } piece_memory;
    const query_batch *a = (const query_batch *)context;
    (void)thread;
    piece_memory *memory =
        end - first > FEW ? (piece_memory *)memory_try_allocate(sizeof *memory) : NULL;
    if (memory) {
        const rays_and_hits work = {memory->rays, memory->hits,
                                    a->batch->counts ? memory->counts : NULL};
        query_some(a, (uint64_t)first, (uint64_t)(end - first), &work);
        memory_free(memory);
        return;
    }
    ray rays[FEW];
    ray_hit hits[FEW];
    tritree_counts counts[FEW];
    const rays_and_hits work = {rays, hits, a->batch->counts ? counts : NULL};
    for (int64_t i = first; i < end; i += FEW)
        query_some(a, (uint64_t)i, (uint64_t)(end - i < FEW ? end - i : FEW), &work);
}

/* Checks that every array of a batch is aligned and, if the tree is on the host, in host memory. */
static kd_status check_memory(const kd_ray_batch *batch, bool host) {
    const caller_array arrays[] = {{batch->rays, "rays", sizeof(float)},
                                   {batch->origin[0], "origin[0]", sizeof(float)},
                                   {batch->origin[1], "origin[1]", sizeof(float)},
                                   {batch->origin[2], "origin[2]", sizeof(float)},
                                   {batch->direction[0], "direction[0]", sizeof(float)},
                                   {batch->direction[1], "direction[1]", sizeof(float)},
                                   {batch->direction[2], "direction[2]", sizeof(float)},
                                   {batch->tmin, "tmin", sizeof(float)},
                                   {batch->tmax, "tmax", sizeof(float)},
                                   {batch->hits, "hits", sizeof(float)},
                                   {batch->t, "t", sizeof(float)},
                                   {batch->u, "u", sizeof(float)},
                                   {batch->v, "v", sizeof(float)},
                                   {batch->triangles, "triangles", sizeof(uint32_t)},
                                   {batch->blocked, "blocked", 1},
                                   {batch->counts, "counts", sizeof(uint64_t)}};
    return caller_memory_check(arrays, sizeof arrays / sizeof *arrays, host);
}

/* Rays are given either as structs or as all six arrays. */
static kd_status check_rays(const kd_ray_batch *batch) {
    int layouts = 0;
    for (int axis = 0; axis < 3; ++axis)
        layouts += (batch->origin[axis] != NULL) + (batch->direction[axis] != NULL);
    KD_REQUIRE(batch->rays || layouts == 6, KD_ERROR_USAGE,
               "`count` is %llu, but `rays` is NULL and only %d of the 6 arrays `origin` and "
               "`direction` are set",
               (unsigned long long)batch->count, layouts);
    KD_REQUIRE(!batch->rays || (layouts == 0 && !batch->tmin && !batch->tmax), KD_ERROR_USAGE,
               "set either `rays` or the arrays, not both: `%s` is set, too",
               layouts ? "origin` or `direction" : "tmin` or `tmax");
    return KD_OK;
}

static kd_status check_batch(const kd_triangles *tree, const kd_ray_batch *batch) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(batch->count <= INT64_MAX / sizeof(kd_ray), KD_ERROR_USAGE,
               "`count` is %llu; so many rays exceed the address space",
               (unsigned long long)batch->count);
    KD_REQUIRE(
        batch->order >= KD_RAYS_MEASURED && batch->order <= KD_RAYS_INCOHERENT, KD_ERROR_USAGE,
        "`order` is %d; expected 0 (measured), 1 (coherent) or 2 (incoherent)", (int)batch->order);
    if (batch->count == 0) return KD_OK;
    KD_TRY(check_rays(batch));
    const int kinds = (batch->hits != NULL) + (batch->blocked != NULL) +
                      (batch->t || batch->u || batch->v || batch->triangles);
    KD_REQUIRE(kinds > 0, KD_ERROR_USAGE,
               "`count` is %llu, but `hits`, the hit arrays (`t`, `u`, `v`, `triangles`) and "
               "`blocked` are all NULL",
               (unsigned long long)batch->count);
    KD_REQUIRE(kinds == 1, KD_ERROR_USAGE,
               "%d kinds of results requested: set exactly one of `hits`, the hit arrays (`t`, "
               "`u`, `v`, `triangles`) and `blocked`",
               kinds);
    return check_memory(batch, tree->cuda == NULL);
}

static kd_status cast(const kd_triangles *tree, const kd_ray_batch *batch) {
    KD_TRY(check_batch(tree, batch));
    if (batch->count == 0) return KD_OK;
    if (tree->cuda) return triangles_cuda_cast(tree, batch);
    query_batch a = {tritree_get_view(&tree->tree), batch};
    return parallel_for_stage("query", (int64_t)batch->count, PIECE, query_piece, &a);
}

kd_status kd_triangles_cast(const kd_triangles *tree, const kd_ray_batch *batch) {
    KD_CALL(tree ? tree->threads : 0);
    kd_ray_batch taken;
    KD_REQUIRE(batch, KD_ERROR_USAGE, "`batch` must not be NULL");
    kd_ray_batch_default(&taken);
    KD_TRY(sized_take(&taken, sizeof taken, batch, "kd_ray_batch_default"));
    return cast(tree, &taken);
}

kd_status kd_triangles_intersect(const kd_triangles *tree, const kd_ray *rays, uint64_t count,
                                 kd_ray_hit *hits, kd_ray_counts *counts) {
    KD_CALL(tree ? tree->threads : 0);
    const kd_ray_batch batch = {.count = count, .rays = rays, .hits = hits, .counts = counts};
    return cast(tree, &batch);
}

kd_status kd_triangles_occluded(const kd_triangles *tree, const kd_ray *rays, uint64_t count,
                                uint8_t *blocked, kd_ray_counts *counts) {
    KD_CALL(tree ? tree->threads : 0);
    const kd_ray_batch batch = {.count = count, .rays = rays, .blocked = blocked, .counts = counts};
    return cast(tree, &batch);
}

/* Nearest-triangle queries of <kandela/triangles.h>. The first query builds their tree; concurrent
   ones wait for it. */

static_assert(sizeof(kd_near_triangle) == sizeof(near_place) &&
                  offsetof(kd_near_triangle, distance) == offsetof(near_place, distance) &&
                  offsetof(kd_near_triangle, feature) == offsetof(near_place, feature),
              "an answer is given as it is");

static const nearest_tree *nearest_of(const kd_triangles *tree) {
    return __atomic_load_n(&tree->nearest, __ATOMIC_ACQUIRE);
}

uint64_t triangles_nearest_bytes(const kd_triangles *tree) {
    const nearest_tree *nearest = nearest_of(tree);
    kd_triangles_info host;
    kd_triangles_describe(__atomic_load_n(&tree->host, __ATOMIC_ACQUIRE), &host);
    if (!nearest) return host.bytes;
    const bool dipoles = __atomic_load_n(&tree->dipoles, __ATOMIC_ACQUIRE) != NULL;
    return host.bytes + sizeof *nearest + nearest_tree_bytes(nearest) +
           (dipoles ? winding_dipoles_bytes(&nearest->view) : 0);
}

void triangles_close_nearest_tree(kd_triangles *tree) {
    nearest_tree *owned = tree->nearest;
    kd_triangles_close(tree->host);
    memory_free(tree->dipoles);
    tree->host = NULL;
    tree->dipoles = NULL;
    if (!owned) return;
    if (tree->cuda) {
        device_memory_free(owned->nodes);
        device_memory_free(owned->leaves);
    } else {
        nearest_tree_close(owned);
    }
    memory_free(owned);
    tree->nearest = NULL;
}

static kd_status make_on_cpu(nearest_tree *out, const kd_triangles *tree) {
    return nearest_tree_open(out, tree->positions, tree->triangles,
                             tree->tree.input.triangle_count);
}

static kd_status to_device(void **out, const void *from, uint64_t bytes) {
    KD_TRY(device_memory_reserve(out, bytes));
    return device_memory_upload(*out, from, bytes);
}

/* Builds the tree on the host from a copy of the mesh, then moves it to the device. */
static kd_status make_on_cuda(nearest_tree *out, const kd_triangles *tree) {
    kd_triangles *copy = NULL;
    nearest_tree made;
    KD_TRY(triangles_cuda_fetch(&copy, tree, true));
    kd_status status = make_on_cpu(&made, copy);
    kd_triangles_close(copy);
    if (status != KD_OK) return status;
    *out = made;
    out->nodes = NULL;
    out->leaves = NULL;
    KD_TRY_GOTO(to_device((void **)&out->nodes, made.nodes, made.node_count * sizeof *made.nodes));
    KD_TRY_GOTO(to_device((void **)&out->leaves, made.leaves,
                          (uint64_t)made.view.leaf_count * NEAREST_LEAF_FLOATS * sizeof(float)));
    out->view.nodes = out->nodes;
    out->view.leaves = out->leaves;
    out->view.positions = tree->cuda->tree.view.positions;
    out->view.triangles = tree->cuda->tree.view.triangles;
done:
    nearest_tree_close(&made);
    return status;
}

static kd_status make_nearest(kd_triangles *tree) {
    nearest_tree *made = NULL;
    int32_t previous = 0;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    kd_status status = tree->cuda ? device_enter(tree->cuda->device, &previous) : KD_OK;
    if (status == KD_OK) {
        status = tree->cuda ? make_on_cuda(made, tree) : make_on_cpu(made, tree);
        if (status != KD_OK && tree->cuda) {
            device_memory_free(made->nodes);
            device_memory_free(made->leaves);
        }
        if (tree->cuda) device_leave(previous);
    }
    if (status == KD_OK)
        __atomic_store_n(&tree->nearest, made, __ATOMIC_RELEASE);
    else
        memory_free(made);
    return status;
}

static kd_status make_dipoles(kd_triangles *tree) {
    winding_dipole *made = NULL;
    KD_TRY(winding_dipoles_make(&made, &tree->nearest->view));
    __atomic_store_n(&tree->dipoles, made, __ATOMIC_RELEASE);
    return KD_OK;
}

static kd_status make_host(kd_triangles *tree) {
    kd_triangles *made = NULL;
    int32_t previous = 0;
    KD_TRY(device_enter(tree->cuda->device, &previous));
    const kd_status status = triangles_cuda_fetch(&made, tree, true);
    device_leave(previous);
    if (status == KD_OK) __atomic_store_n(&tree->host, made, __ATOMIC_RELEASE);
    return status;
}

/* Calls make(tree) unless *made is set; concurrent calls wait. Casting away const is sound:
   kd_triangles_open created the object, and the results of queries do not change. */
static kd_status prepare(const kd_triangles *tree, void *const *made,
                         kd_status (*make)(kd_triangles *tree)) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (__atomic_load_n(made, __ATOMIC_ACQUIRE)) return KD_OK;
    pthread_mutex_lock(&one_at_a_time);
    const kd_status status =
        __atomic_load_n(made, __ATOMIC_ACQUIRE) ? KD_OK : make((kd_triangles *)(uintptr_t)tree);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

kd_status triangles_prepare_nearest(const kd_triangles *tree) {
    return prepare(tree, (void *const *)(const void *)&tree->nearest, make_nearest);
}

kd_status kd_triangles_closest_point(const kd_triangles *tree, const float *points, uint64_t count,
                                     float max_distance, kd_near_triangle *nearest) {
    KD_CALL(tree ? tree->threads : 0);
    const caller_array arrays[] = {{points, "points", sizeof(float)},
                                   {nearest, "nearest", sizeof(float)}};
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(max_distance >= 0, KD_ERROR_USAGE, "`max_distance` is %g; expected 0 or more",
               (double)max_distance);
    KD_REQUIRE(count <= INT64_MAX / sizeof *nearest, KD_ERROR_USAGE,
               "`count` is %llu; so many points exceed the address space",
               (unsigned long long)count);
    if (count == 0) return KD_OK;
    KD_REQUIRE(points && nearest, KD_ERROR_USAGE, "`count` is %llu, but `%s` is NULL",
               (unsigned long long)count, points ? "nearest" : "points");
    KD_TRY(caller_memory_check(arrays, 2, tree->cuda == NULL));
    KD_TRY(triangles_prepare_nearest(tree));
    if (tree->cuda) return triangles_cuda_closest(tree, points, count, max_distance, nearest);
    return nearest_find(&tree->nearest->view, (const vec3 *)points, count, max_distance,
                        (near_place *)nearest);
}

/* Winding numbers and crossings of <kandela/triangles.h>. They are computed on the host: a tree on
   a device makes a copy of itself there. */

/* Replaces a tree on a device by its copy on the host. */
static kd_status prepare_host(const kd_triangles **tree) {
    if (!(*tree)->cuda) return KD_OK;
    KD_TRY(prepare(*tree, (void *const *)(const void *)&(*tree)->host, make_host));
    *tree = (*tree)->host;
    return KD_OK;
}

static kd_status prepare_winding(const kd_triangles **tree, const float *points, uint64_t count,
                                 bool dipoles) {
    const caller_array array = {points, "points", sizeof(float)};
    KD_REQUIRE(*tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(count <= INT64_MAX / sizeof(vec3), KD_ERROR_USAGE,
               "`count` is %llu; so many points exceed the address space",
               (unsigned long long)count);
    KD_REQUIRE(points || count == 0, KD_ERROR_USAGE, "`count` is %llu, but `points` is NULL",
               (unsigned long long)count);
    KD_TRY(caller_memory_check(&array, 1, true));
    KD_TRY(prepare_host(tree));
    KD_TRY(triangles_prepare_nearest(*tree));
    return dipoles ? prepare(*tree, (void *const *)(const void *)&(*tree)->dipoles, make_dipoles)
                   : KD_OK;
}

kd_status kd_triangles_winding_number(const kd_triangles *tree, const float *points, uint64_t count,
                                      double accuracy, double *winding) {
    KD_CALL(tree ? tree->threads : 0);
    const caller_array array = {winding, "winding", sizeof(double)};
    KD_REQUIRE(accuracy >= 1, KD_ERROR_USAGE, "`accuracy` is %g; expected 1 to INFINITY", accuracy);
    KD_REQUIRE(winding || count == 0, KD_ERROR_USAGE, "`count` is %llu, but `winding` is NULL",
               (unsigned long long)count);
    KD_TRY(caller_memory_check(&array, 1, true));
    KD_TRY(prepare_winding(&tree, points, count, true));
    return winding_numbers(&tree->nearest->view, tree->dipoles, (const vec3 *)points, count,
                           accuracy, winding);
}

kd_status kd_triangles_crossings(const kd_triangles *tree, const float *points, uint64_t count,
                                 uint32_t *crossings, int32_t *winding) {
    KD_CALL(tree ? tree->threads : 0);
    const caller_array arrays[] = {{crossings, "crossings", sizeof *crossings},
                                   {winding, "winding", sizeof *winding}};
    KD_TRY(caller_memory_check(arrays, 2, true));
    KD_TRY(prepare_winding(&tree, points, count, false));
    return winding_crossings(&tree->nearest->view, (const vec3 *)points, count, crossings, winding);
}

static kd_status download_from_device(const kd_triangles *tree, float *vertices,
                                      uint32_t *indices) {
    const tritree_view *view = &tree->cuda->tree.view;
    const tritree_input *input = &tree->tree.input;
    int32_t previous = 0;
    KD_TRY(device_enter(tree->cuda->device, &previous));
    kd_status status = KD_OK;
    if (vertices)
        status =
            device_memory_download(vertices, view->positions, input->position_count * sizeof(vec3));
    if (indices && status == KD_OK)
        status = device_memory_download(indices, view->triangles,
                                        3 * (uint64_t)input->triangle_count * sizeof *indices);
    device_leave(previous);
    return status;
}

kd_status kd_triangles_download(const kd_triangles *tree, float *vertices, uint32_t *indices) {
    KD_CALL(tree ? tree->threads : 0);
    const caller_array arrays[] = {{vertices, "vertices", sizeof *vertices},
                                   {indices, "indices", sizeof *indices}};
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_TRY(caller_memory_check(arrays, 2, true));
    if (tree->cuda) return download_from_device(tree, vertices, indices);
    const tritree_input *input = &tree->tree.input;
    if (vertices && input->position_count)
        memcpy(vertices, tree->positions, input->position_count * sizeof(vec3));
    if (indices && input->triangle_count)
        memcpy(indices, tree->triangles, 3 * (size_t)input->triangle_count * sizeof *indices);
    return KD_OK;
}

kd_status kd_triangles_download_nodes(const kd_triangles *tree, kd_triangle_node *nodes,
                                      uint32_t *references) {
    KD_CALL(tree ? tree->threads : 0);
    const caller_array arrays[] = {{nodes, "nodes", sizeof *references},
                                   {references, "references", sizeof *references}};
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_TRY(caller_memory_check(arrays, 2, true));
    kd_triangles *copy = NULL;
    if (tree->cuda) KD_TRY(triangles_cuda_fetch(&copy, tree, false));
    const tritree *from = copy ? &copy->tree : &tree->tree;
    if (nodes && from->node_count) memcpy(nodes, from->nodes, from->node_count * sizeof *nodes);
    if (references && from->reference_count)
        memcpy(references, from->references, from->reference_count * sizeof *references);
    kd_triangles_close(copy);
    return KD_OK;
}
