/* Queries of <kandela/ray_scenes.h>: checks of arguments, and the loop over rays on a CPU. */
#include "accel/ray_scene.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include "core/parallel/parallel.h"
#include "core/version.h"
#include <assert.h>
#include <pthread.h>

enum { GRAIN = 1024 /* rays or points per piece */ };

/* The public structs and the internal ones have the same layout. */
static_assert(sizeof(kd_scene_hit) == sizeof(scene_hit) &&
                  offsetof(kd_scene_hit, triangle) == offsetof(scene_hit, triangle) &&
                  offsetof(kd_scene_hit, normal) == offsetof(scene_hit, normal),
              "a hit is given as it is");
static_assert(sizeof(kd_scene_near) == sizeof(scene_near) &&
                  offsetof(kd_scene_near, instance) == offsetof(scene_near, instance),
              "a nearest point is given as it is");

void kd_ray_query_default_sized(kd_ray_query *query, size_t struct_size) {
    kd_ray_query zeros;
    memset(&zeros, 0, sizeof zeros);
    sized_give(query, struct_size, &zeros, sizeof zeros);
}

void kd_point_query_default_sized(kd_point_query *query, size_t struct_size) {
    kd_point_query filled;
    memset(&filled, 0, sizeof filled);
    filled.max_distance = INFINITY;
    sized_give(query, struct_size, &filled, sizeof filled);
}

/* --- Trees of boxes, made by the first query that needs them --- */

static kd_status make_nearest(kd_ray_scene *scene) {
    nearest_view *views = NULL;
    for (uint32_t i = 0; i < scene->tree_count; ++i)
        KD_TRY(triangles_prepare_nearest(scene->trees[i]));
    KD_TRY(KD_RESERVE(views, (uint64_t)scene->tree_count + 1));
    for (uint32_t i = 0; i < scene->tree_count; ++i) views[i] = scene->trees[i]->nearest->view;
    const kd_status status = scene->device >= 0 ? ray_scene_upload_nearest(scene, views) : KD_OK;
    if (status != KD_OK) {
        memory_free(views);
        return status;
    }
    __atomic_store_n(&scene->nearest, views, __ATOMIC_RELEASE);
    return KD_OK;
}

/* Casting away const is sound: kd_ray_scene_open created the object, and the results of queries do
   not change. */
kd_status ray_scene_prepare_nearest(const kd_ray_scene *scene) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (__atomic_load_n(&scene->nearest, __ATOMIC_ACQUIRE)) return KD_OK;
    pthread_mutex_lock(&one_at_a_time);
    const kd_status status = __atomic_load_n(&scene->nearest, __ATOMIC_ACQUIRE)
                                 ? KD_OK
                                 : make_nearest((kd_ray_scene *)(uintptr_t)scene);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

void ray_scene_drop_nearest(kd_ray_scene *scene) {
    memory_free(scene->nearest);
    scene->nearest = NULL;
}

/* --- Answers --- */

typedef struct answering {
    const scene_rays_view *view;
    const scene_wide *wide;
    const scene_query *query;
} answering;

static void answer_some(void *context, int64_t begin, int64_t end, int thread) {
    const answering *a = (const answering *)context;
    (void)thread;
    ray_scene_answer(a->view, a->wide, a->query, (uint64_t)begin, (uint64_t)end);
}

static kd_status answer(const kd_ray_scene *scene, const scene_query *given, void *stream) {
    uint32_t fault = 0;
    scene_query copy = *given;
    const scene_query *query = &copy;
    copy.fault = &fault;
    if (query->count == 0) return KD_OK;
    if (query->kind == SCENE_COUNT || query->kind == SCENE_ROWS || query->kind == SCENE_POINTS)
        KD_TRY(ray_scene_prepare_nearest(scene));
    if (scene->device >= 0) {
        KD_TRY(ray_scene_query_cuda(scene, query, stream));
    } else {
        scene_rays_view view = scene->view;
        view.nearest = __atomic_load_n(&scene->nearest, __ATOMIC_ACQUIRE);
        answering a = {&view, &scene->wide, &copy};
        KD_TRY(parallel_for_stage("query", (int64_t)query->count, GRAIN, answer_some, &a));
    }
    KD_REQUIRE(!fault, KD_ERROR_USAGE,
               "`worlds` has a value that is not below the number of worlds, %u",
               scene->world_count);
    return KD_OK;
}

static kd_status check_scene(const kd_ray_scene *scene) {
    KD_REQUIRE(scene, KD_ERROR_USAGE, "`scene` must not be NULL");
    KD_REQUIRE(scene->committed, KD_ERROR_USAGE,
               "the scene has changes that are not committed; call kd_ray_scene_commit first");
    return KD_OK;
}

/* Checks a query and converts it. `result` is the caller's array; it may be NULL if `items`, the
   number of its elements per ray, is 0. */
static kd_status take_query(scene_query *out, const kd_ray_scene *scene, const kd_ray_query *given,
                            kd_ray_query *query, const void *result, const char *name,
                            uint64_t items, uint32_t alignment) {
    KD_TRY(check_scene(scene));
    KD_REQUIRE(given, KD_ERROR_USAGE, "`query` must not be NULL");
    kd_ray_query_default(query);
    KD_TRY(sized_take(query, sizeof *query, given, "kd_ray_query_default"));
    const caller_array arrays[] = {{query->rays, "rays", sizeof(float)},
                                   {query->masks, "masks", sizeof(uint32_t)},
                                   {query->worlds, "worlds", sizeof(uint32_t)},
                                   {query->ignored, "ignored", sizeof(uint32_t)},
                                   {result, name, alignment}};
    KD_REQUIRE(query->count <= INT64_MAX / sizeof(kd_scene_hit), KD_ERROR_USAGE,
               "`count` is %llu; so many rays exceed the address space",
               (unsigned long long)query->count);
    KD_REQUIRE(query->rays || query->count == 0, KD_ERROR_USAGE,
               "`count` is %llu, but `rays` is NULL", (unsigned long long)query->count);
    KD_REQUIRE(result || query->count == 0 || items == 0, KD_ERROR_USAGE,
               "`count` is %llu, but `%s` is NULL", (unsigned long long)query->count, name);
    KD_TRY(caller_memory_check(arrays, 5, scene->device < 0));
    memset(out, 0, sizeof *out);
    out->count = query->count;
    out->rays = (const ray *)query->rays;
    out->masks = query->masks;
    out->worlds = query->worlds;
    out->ignored = query->ignored;
    return KD_OK;
}

kd_status kd_ray_scene_intersect(const kd_ray_scene *scene, const kd_ray_query *query,
                                 kd_scene_hit *hits) {
    KD_CALL(0);
    scene_query taken;
    kd_ray_query copy;
    KD_TRY(take_query(&taken, scene, query, &copy, hits, "hits", 1, sizeof(uint32_t)));
    taken.kind = SCENE_CLOSEST;
    taken.hits = (scene_hit *)hits;
    return answer(scene, &taken, copy.stream);
}

kd_status kd_ray_scene_occluded(const kd_ray_scene *scene, const kd_ray_query *query,
                                uint8_t *blocked) {
    KD_CALL(0);
    scene_query taken;
    kd_ray_query copy;
    KD_TRY(take_query(&taken, scene, query, &copy, blocked, "blocked", 1, sizeof *blocked));
    taken.kind = SCENE_ANY;
    taken.blocked = blocked;
    return answer(scene, &taken, copy.stream);
}

kd_status kd_ray_scene_count(const kd_ray_scene *scene, const kd_ray_query *query,
                             uint32_t *counts) {
    KD_CALL(0);
    scene_query taken;
    kd_ray_query copy;
    KD_TRY(take_query(&taken, scene, query, &copy, counts, "counts", 1, sizeof(uint32_t)));
    taken.kind = SCENE_COUNT;
    taken.counts = counts;
    return answer(scene, &taken, copy.stream);
}

kd_status kd_ray_scene_first(const kd_ray_scene *scene, const kd_ray_query *query, uint32_t k,
                             kd_scene_hit *hits, uint32_t *counts) {
    KD_CALL(0);
    scene_query taken;
    kd_ray_query copy;
    const caller_array array = {counts, "counts", sizeof *counts};
    KD_TRY(take_query(&taken, scene, query, &copy, hits, "hits", k, sizeof(uint32_t)));
    KD_TRY(caller_memory_check(&array, 1, scene->device < 0));
    KD_REQUIRE(k <= INT64_MAX / sizeof *hits / (taken.count ? taken.count : 1), KD_ERROR_USAGE,
               "`k` is %u and `count` is %llu; so many hits exceed the address space", k,
               (unsigned long long)taken.count);
    taken.kind = SCENE_ROWS;
    taken.row = k;
    taken.hits = (scene_hit *)hits;
    taken.counts = counts;
    return answer(scene, &taken, copy.stream);
}

kd_status kd_ray_scene_all(const kd_ray_scene *scene, const kd_ray_query *query,
                           const uint64_t *offsets, kd_scene_hit *hits) {
    KD_CALL(0);
    scene_query taken = {.count = 0};
    kd_ray_query copy;
    const caller_array array = {offsets, "offsets", sizeof *offsets};
    KD_REQUIRE(offsets, KD_ERROR_USAGE, "`offsets` must not be NULL");
    KD_TRY(caller_memory_check(&array, 1, true));
    KD_TRY(take_query(&taken, scene, query, &copy, hits, "hits", 0, sizeof(uint32_t)));
    for (uint64_t i = 0; i < taken.count; ++i)
        KD_REQUIRE(offsets[i] <= offsets[i + 1], KD_ERROR_USAGE,
                   "`offsets[%llu]` is %llu, less than the offset before it",
                   (unsigned long long)i + 1, (unsigned long long)offsets[i + 1]);
    const uint64_t total = taken.count ? offsets[taken.count] : 0;
    KD_REQUIRE(hits || total == 0, KD_ERROR_USAGE, "`hits` must not be NULL for %llu hits",
               (unsigned long long)total);
    KD_REQUIRE(total <= INT64_MAX / sizeof *hits, KD_ERROR_USAGE,
               "`offsets` ends with %llu; so many hits exceed the address space",
               (unsigned long long)total);
    taken.kind = SCENE_ROWS;
    taken.offsets = offsets;
    taken.hits = (scene_hit *)hits;
    return total ? answer(scene, &taken, copy.stream) : KD_OK;
}

kd_status kd_ray_scene_closest_point(const kd_ray_scene *scene, const kd_point_query *given,
                                     kd_scene_near *nearest) {
    KD_CALL(0);
    kd_point_query query;
    KD_TRY(check_scene(scene));
    KD_REQUIRE(given, KD_ERROR_USAGE, "`query` must not be NULL");
    kd_point_query_default(&query);
    KD_TRY(sized_take(&query, sizeof query, given, "kd_point_query_default"));
    KD_REQUIRE(query.max_distance >= 0, KD_ERROR_USAGE, "`max_distance` is %g; expected 0 or more",
               (double)query.max_distance);
    KD_REQUIRE(query.count <= INT64_MAX / sizeof *nearest, KD_ERROR_USAGE,
               "`count` is %llu; so many points exceed the address space",
               (unsigned long long)query.count);
    KD_REQUIRE((query.points && nearest) || query.count == 0, KD_ERROR_USAGE,
               "`count` is %llu, but `%s` is NULL", (unsigned long long)query.count,
               query.points ? "nearest" : "points");
    const caller_array arrays[] = {{query.points, "points", sizeof(float)},
                                   {query.masks, "masks", sizeof(uint32_t)},
                                   {query.worlds, "worlds", sizeof(uint32_t)},
                                   {nearest, "nearest", sizeof(uint32_t)}};
    KD_TRY(caller_memory_check(arrays, 4, scene->device < 0));
    scene_query taken;
    memset(&taken, 0, sizeof taken);
    taken.kind = SCENE_POINTS;
    taken.count = query.count;
    taken.points = (const vec3 *)query.points;
    taken.max_distance = query.max_distance;
    taken.masks = query.masks;
    taken.worlds = query.worlds;
    taken.nearest = (scene_near *)nearest;
    return answer(scene, &taken, query.stream);
}

/* --- Attributes --- */

typedef struct interpolation {
    const uint32_t *triangles;
    uint32_t geometry;
    const float *attribute;
    uint64_t width;
    const kd_scene_hit *hits;
    float *out;
} interpolation;

static void interpolate_some(void *context, int64_t begin, int64_t end, int thread) {
    const interpolation *a = (const interpolation *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const kd_scene_hit *hit = a->hits + i;
        if (hit->geometry != a->geometry || hit->triangle == KD_NO_TRIANGLE) continue;
        const uint32_t *corner = a->triangles + 3 * (size_t)hit->triangle;
        const double u = (double)hit->u, v = (double)hit->v, w = 1 - u - v;
        for (uint64_t k = 0; k < a->width; ++k)
            a->out[(uint64_t)i * a->width + k] =
                (float)(w * (double)a->attribute[corner[0] * a->width + k] +
                        u * (double)a->attribute[corner[1] * a->width + k] +
                        v * (double)a->attribute[corner[2] * a->width + k]);
    }
}

kd_status kd_ray_scene_interpolate(const kd_ray_scene *scene, uint32_t geometry,
                                   const float *attribute, uint64_t width, const kd_scene_hit *hits,
                                   uint64_t count, float *out) {
    KD_CALL(0);
    const caller_array arrays[] = {{attribute, "attribute", sizeof(float)},
                                   {hits, "hits", sizeof(float)},
                                   {out, "out", sizeof(float)}};
    KD_TRY(check_scene(scene));
    KD_REQUIRE(geometry < scene->tree_count, KD_ERROR_USAGE,
               "`geometry` is %u; the scene has %u geometries", geometry, scene->tree_count);
    KD_REQUIRE(attribute && hits && out, KD_ERROR_USAGE, "`%s` must not be NULL",
               !attribute ? "attribute"
               : !hits    ? "hits"
                          : "out");
    KD_REQUIRE(scene->device < 0, KD_ERROR_DEVICE,
               "attributes of a scene on a device cannot be interpolated by this call; copy the "
               "mesh by kd_triangles_download");
    KD_TRY(caller_memory_check(arrays, 3, true));
    const uint32_t triangle_count = scene->shapes[geometry].count;
    for (uint64_t i = 0; i < count; ++i)
        KD_REQUIRE(hits[i].geometry != geometry || hits[i].triangle < triangle_count ||
                       hits[i].triangle == KD_NO_TRIANGLE,
                   KD_ERROR_USAGE, "`hits[%llu].triangle` is %u; geometry %u has %u triangles",
                   (unsigned long long)i, hits[i].triangle, geometry, triangle_count);
    interpolation a = {
        scene->shapes[geometry].tree.triangles, geometry, attribute, width, hits, out};
    return parallel_for_stage("query", (int64_t)count, GRAIN, interpolate_some, &a);
}
