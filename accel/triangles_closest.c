/* Nearest triangles of <kandela/triangles.h>. Their tree is made by whoever asks first, while
   others that ask wait. */
#include "accel/rays/nearest_tree.h"
#include "accel/triangles_device.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static_assert(sizeof(kd_near_triangle) == sizeof(near_place) &&
                  offsetof(kd_near_triangle, distance) == offsetof(near_place, distance) &&
                  offsetof(kd_near_triangle, feature) == offsetof(near_place, feature),
              "an answer is given as it is");

static const nearest_tree *nearest_of(const kd_triangles *tree) {
    return __atomic_load_n(&tree->nearest, __ATOMIC_ACQUIRE);
}

uint64_t triangles_nearest_bytes(const kd_triangles *tree) {
    const nearest_tree *nearest = nearest_of(tree);
    return nearest ? sizeof *nearest + nearest_tree_bytes(nearest) : 0;
}

void triangles_drop_nearest(kd_triangles *tree) {
    nearest_tree *owned = tree->nearest;
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

/* Made on the host from a copy of the mesh, then moved. */
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

/* What a tree answers is the same before and after: it was made by kd_triangles_open, not const. */
static kd_status prepare(const kd_triangles *tree) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (nearest_of(tree)) return KD_OK;
    pthread_mutex_lock(&one_at_a_time);
    const kd_status status =
        nearest_of(tree) ? KD_OK : make_nearest((kd_triangles *)(uintptr_t)tree);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

kd_status kd_triangles_closest_point(const kd_triangles *tree, const float *points, uint64_t count,
                                     float max_distance, kd_near_triangle *nearest) {
    const caller_array arrays[] = {{points, "points", sizeof(float)},
                                   {nearest, "places for nearest triangles", sizeof(float)}};
    KD_REQUIRE(tree, KD_ERROR_USAGE, "no tree given (NULL)");
    KD_REQUIRE(max_distance >= 0, KD_ERROR_USAGE, "triangles no farther than %g, expected >= 0",
               (double)max_distance);
    KD_REQUIRE(count <= INT64_MAX / sizeof *nearest, KD_ERROR_USAGE,
               "%llu points do not fit in memory", (unsigned long long)count);
    if (count == 0) return KD_OK;
    KD_REQUIRE(points && nearest, KD_ERROR_USAGE, "%llu points, but no %s given (NULL)",
               (unsigned long long)count, points ? "place for the answers" : "points");
    KD_TRY(caller_memory_check(arrays, 2, tree->cuda == NULL));
    KD_TRY(prepare(tree));
    if (tree->cuda) return triangles_cuda_closest(tree, points, count, max_distance, nearest);
    nearest_find(&tree->nearest->view, (const vec3 *)points, count, max_distance,
                 (near_place *)nearest);
    return KD_OK;
}
