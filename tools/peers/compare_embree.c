/* Compares ray queries of Kandela and Embree in one process: the same triangles and rays (inputs.h,
   hard_rays.h), one thread, process CPU time, the libraries in turns, the best of five. Embree uses
   its best tree (BVH with spatial splits), with its fast test and with its watertight one
   ("robust"); Kandela's test is always watertight. Every result is compared. "same": the same
   triangle, with t equal to 1e-5 relative. "rounded": the same triangle, with t equal up to the
   rounding of its vertices' distances. "tied": another triangle at such a t. Other results are
   judged in double arithmetic. "grazing": the ray grazes an edge or the plane of the nearer
   triangle, or begins or ends on it, and both results are acceptable. "theirs": Kandela's result
   equals that of testing all triangles, bit for bit. Anything else is "wrong" and gives exit
   code 6.

   tinybvh, which is not watertight, takes part if it was found (-DKD_PEERS); its errors are
   reported but are not failures.

       compare_embree SCENE [SIDE]     images of SIDE x SIDE pixels [512] */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/tree/triangle.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/assembly/scene.h"
#include "tools/lab/bench/inputs.h"
#include "tools/peers/hard_rays.h"
#include "tools/peers/judge_ray.h"
#if COMPARE_EMBREE == 4
#include <embree4/rtcore.h>
#else
#include <embree3/rtcore.h>
#endif
#ifdef COMPARE_TINYBVH
#include "tools/peers/tinybvh_rays.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 5, LANES = 8, LIBRARIES = 7, QUERY_COUNT = 64 /* QUERY_COUNT: rays of a set */ };

typedef struct answers {
    ray_hit *hits; /* any hit: triangle is 0 or KD_NONE */
    uint8_t *blocked;
} answers;

typedef struct peer {
    enum RTCSceneFlags flags;
    RTCScene scene;
    double build_seconds;
} peer;

typedef struct ray_library {
    const char *name;
    void (*cast)(const void *tree, const bench_rays *set, answers *out);
    const void *tree;
} ray_library;

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void cast_kandela(const void *tree, const bench_rays *set, answers *out) {
    const tritree_view *view = (const tritree_view *)tree;
    if (set->any)
        trace_occluded(view, set->rays, out->blocked, set->count, NULL, NULL);
    else
        trace_closest(view, set->rays, out->hits, set->count, NULL, NULL);
}

/* Traces one ray per call, as a simple path tracer does. */
static void cast_kandela1(const void *tree, const bench_rays *set, answers *out) {
    const tritree_view *view = (const tritree_view *)tree;
    for (uint64_t i = 0; i < set->count; ++i)
        if (set->any)
            out->blocked[i] = tritree_occluded(view, set->rays[i]);
        else
            out->hits[i] = tritree_closest(view, set->rays[i]);
}

static struct RTCRay embree_ray(const ray *ray) {
    const struct RTCRay to = {.org_x = ray->origin.x,
                              .org_y = ray->origin.y,
                              .org_z = ray->origin.z,
                              .tnear = ray->tmin,
                              .dir_x = ray->direction.x,
                              .dir_y = ray->direction.y,
                              .dir_z = ray->direction.z,
                              .tfar = ray->tmax,
                              .mask = ~0u};
    return to;
}

/* Embree 3 and 4 differ in the arguments of queries only. */
#if COMPARE_EMBREE == 4
typedef struct RTCIntersectArguments embree_query;

static embree_query embree_begin(bool coherent) {
    embree_query query;
    rtcInitIntersectArguments(&query);
    if (coherent) query.flags = RTC_RAY_QUERY_FLAG_COHERENT;
    return query;
}

static void embree_closest(RTCScene scene, embree_query *query, struct RTCRayHit *ray) {
    rtcIntersect1(scene, ray, query);
}

static void embree_any(RTCScene scene, embree_query *query, struct RTCRay *ray) {
    struct RTCOccludedArguments blocked;
    rtcInitOccludedArguments(&blocked);
    blocked.flags = query->flags;
    rtcOccluded1(scene, ray, &blocked);
}

static void embree_closest8(const int *valid, RTCScene scene, embree_query *query,
                            struct RTCRayHit8 *ray) {
    rtcIntersect8(valid, scene, ray, query);
}
#else
typedef struct RTCIntersectContext embree_query;

static embree_query embree_begin(bool coherent) {
    embree_query query;
    rtcInitIntersectContext(&query);
    if (coherent) query.flags = RTC_INTERSECT_CONTEXT_FLAG_COHERENT;
    return query;
}

static void embree_closest(RTCScene scene, embree_query *query, struct RTCRayHit *ray) {
    rtcIntersect1(scene, query, ray);
}

static void embree_any(RTCScene scene, embree_query *query, struct RTCRay *ray) {
    rtcOccluded1(scene, query, ray);
}

static void embree_closest8(const int *valid, RTCScene scene, embree_query *query,
                            struct RTCRayHit8 *ray) {
    rtcIntersect8(valid, scene, query, ray);
}
#endif

static void cast_embree(const void *tree, const bench_rays *set, answers *out) {
    const peer *opponent = (const peer *)tree;
    embree_query query = embree_begin(set->coherent);
    for (uint64_t i = 0; i < set->count; ++i) {
        struct RTCRayHit ray;
        ray.ray = embree_ray(&set->rays[i]);
        if (set->any) {
            embree_any(opponent->scene, &query, &ray.ray);
            out->blocked[i] = ray.ray.tfar < 0;
            continue;
        }
        ray.hit.geomID = ray.hit.instID[0] = ray.hit.primID = RTC_INVALID_GEOMETRY_ID;
        embree_closest(opponent->scene, &query, &ray);
        const ray_hit hit = {ray.ray.tfar, ray.hit.u, ray.hit.v, ray.hit.primID};
        out->hits[i] = hit;
    }
}

/* Traces packets of eight neighbouring rays: closest hits only. */
static void cast_embree8(const void *tree, const bench_rays *set, answers *out) {
    const peer *opponent = (const peer *)tree;
    embree_query query = embree_begin(true);
    for (uint64_t i = 0; i < set->count; i += LANES) {
        struct RTCRayHit8 ray;
        _Alignas(32) int valid[LANES];
        for (uint64_t k = 0; k < LANES; ++k) {
            valid[k] = i + k < set->count ? -1 : 0;
            const struct RTCRay one = embree_ray(&set->rays[valid[k] ? i + k : i]);
            ray.ray.org_x[k] = one.org_x, ray.ray.dir_x[k] = one.dir_x;
            ray.ray.org_y[k] = one.org_y, ray.ray.dir_y[k] = one.dir_y;
            ray.ray.org_z[k] = one.org_z, ray.ray.dir_z[k] = one.dir_z;
            ray.ray.tnear[k] = one.tnear, ray.ray.tfar[k] = one.tfar;
            ray.ray.time[k] = 0, ray.ray.mask[k] = ~0u, ray.ray.flags[k] = 0;
            ray.hit.geomID[k] = ray.hit.primID[k] = ray.hit.instID[0][k] = RTC_INVALID_GEOMETRY_ID;
        }
        embree_closest8(valid, opponent->scene, &query, &ray);
        for (uint64_t k = 0; k < LANES && valid[k]; ++k) {
            const ray_hit hit = {ray.ray.tfar[k], ray.hit.u[k], ray.hit.v[k], ray.hit.primID[k]};
            out->hits[i + k] = hit;
        }
    }
}

#ifdef COMPARE_TINYBVH
static void cast_tinybvh4(const void *tree, const bench_rays *set, answers *out) {
    tinybvh_cast4((const tinybvh_trees *)tree, set->rays, set->count, set->any, out->hits,
                  out->blocked);
}
static void cast_tinybvh8(const void *tree, const bench_rays *set, answers *out) {
    tinybvh_cast8((const tinybvh_trees *)tree, set->rays, set->count, set->any, out->hits,
                  out->blocked);
}
#endif

/* Returns true if wrong results of this library are not failures. */
static bool may_err(const ray_library *library) {
    return strncmp(library->name, "tinybvh", 7) == 0;
}

typedef struct agreement {
    uint64_t same, rounded, tied, grazing, peer, wrong;
} agreement;

/* Returns true if Kandela's hit equals that of triangle_intersect over all triangles, bit for bit.
 */
static bool all_give(const tritree_input *input, const ray *ray, ray_hit kd_hit) {
    const precomputed_ray precomputed = precomputed_ray_make(*ray);
    ray_hit best = {ray->tmax, 0, 0, KD_NONE};
    for (uint32_t i = 0; i < input->triangle_count; ++i) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)i;
        const vec3 *p = input->positions;
        tritree_triangle_intersect(&precomputed, p[index[0]], p[index[1]], p[index[2]], i,
                                   ray->tmin, &best);
    }
    return memcmp(&best, &kd_hit, sizeof best) == 0;
}

/* The hits to compare for ray i; where only one side says that it is blocked, both are asked what
   by. */
static void take_hits(ray_hit hit[2], const tritree_view *view, const ray_library *library,
                      const bench_rays *set, const answers *kd_answers, const answers *peer_answers,
                      uint64_t i) {
    if (!set->any) {
        hit[0] = kd_answers->hits[i];
        hit[1] = peer_answers->hits[i];
        return;
    }
    const ray_hit none = {0, 0, 0, KD_NONE};
    hit[0] = hit[1] = none;
    if (kd_answers->blocked[i] == peer_answers->blocked[i]) return;
    const bench_rays one = {.rays = &set->rays[i], .count = 1};
    answers results = {&hit[1], NULL};
    if (kd_answers->blocked[i])
        hit[0] = tritree_closest(view, set->rays[i]);
    else
        library->cast(library->tree, &one, &results);
}

static agreement compare_answers(const tritree *tree, const ray_library *library,
                                 const bench_rays *set, const answers *kd_answers,
                                 const answers *peer_answers) {
    agreement agreement = {0, 0, 0, 0, 0, 0};
    const tritree_view view = tritree_get_view(tree);
    for (uint64_t i = 0; i < set->count; ++i) {
        ray_hit hit[2];
        take_hits(hit, &view, library, set, kd_answers, peer_answers, i);
        const ray_hit a = hit[0], b = hit[1];
        const bool neither = a.triangle == KD_NONE && b.triangle == KD_NONE;
        const bool both_hit = a.triangle != KD_NONE && b.triangle != KD_NONE;
        if (neither ||
            (a.triangle == b.triangle && fabsf(a.t - b.t) <= 1e-5f * float_max(a.t, b.t))) {
            /* a result "blocked" without any hit is wrong */
            ++*(set->any && kd_answers->blocked[i] != peer_answers->blocked[i] ? &agreement.wrong
                                                                               : &agreement.same);
            continue;
        }
        const bool ours_nearer = b.triangle == KD_NONE || (both_hit && a.t < b.t);
        const judgement nearer =
            judge_ray(&tree->input, ours_nearer ? a.triangle : b.triangle, &set->rays[i]);
        if (both_hit && fabs((double)a.t - (double)b.t) <= nearer.rounding)
            ++*(a.triangle == b.triangle ? &agreement.rounded : &agreement.tied);
        else if (nearer.grazes || nearer.at_end)
            ++agreement.grazing;
        else
            ++*(!set->any && agreement.peer < QUERY_COUNT &&
                        all_give(&tree->input, &set->rays[i], a)
                    ? &agreement.peer
                    : &agreement.wrong);
    }
    return agreement;
}

static bool same_bits(const bench_rays *set, const answers *a, const answers *b) {
    return set->any ? memcmp(a->blocked, b->blocked, set->count) == 0
                    : memcmp(a->hits, b->hits, set->count * sizeof *a->hits) == 0;
}

/* Measures the seconds of each library, the best of RUNS, in turns; results go to out[c]. */
static void time_set(const bench_rays *set, const ray_library *libraries, int count, answers *out,
                     double *seconds) {
    for (int run = 0; run < RUNS; ++run)
        for (int c = 0; c < count; ++c) {
            if (libraries[c].cast == cast_embree8 && (set->any || !set->coherent)) continue;
            const double started = cpu_seconds();
            libraries[c].cast(libraries[c].tree, set, &out[c]);
            const double elapsed = cpu_seconds() - started;
            seconds[c] = run && seconds[c] < elapsed ? seconds[c] : elapsed;
        }
}

/* Prints one line per library; returns KD_ERROR_CHECK if a result is wrong. */
static kd_status report_set(const tritree *tree, const bench_rays *set,
                            const ray_library *libraries, int count, const answers *results,
                            const double *seconds) {
    kd_status status = KD_OK;
    for (int c = 0; c < count; ++c) {
        if (seconds[c] == 0) continue;
        const double rate = (double)set->count / seconds[c];
        printf("%-11s %-16s %8.3f Mrays/s", set->set, libraries[c].name, rate * 1e-6);
        if (libraries[c].tree == libraries[0].tree) {
            puts("");
            if (c && !same_bits(set, &results[0], &results[c]))
                status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                     "%s: rays cast one by one have other results than in batches",
                                     set->set);
            continue;
        }
        const agreement agreed =
            compare_answers(tree, &libraries[c], set, &results[0], &results[c]);
        printf("  ours %.2f x, alone %.2f x; %llu same, %llu rounded, %llu tied, %llu grazing, "
               "%llu theirs, %llu wrong\n",
               seconds[c] / seconds[0], seconds[c] / seconds[1], (unsigned long long)agreed.same,
               (unsigned long long)agreed.rounded, (unsigned long long)agreed.tied,
               (unsigned long long)agreed.grazing, (unsigned long long)agreed.peer,
               (unsigned long long)agreed.wrong);
        if (agreed.wrong && !may_err(&libraries[c]))
            status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                 "%s, %s: the results of %llu rays differ", set->set,
                                 libraries[c].name, (unsigned long long)agreed.wrong);
    }
    return status;
}

static kd_status compare_set(const tritree *tree, const bench_rays *set,
                             const ray_library *libraries, int count) {
    kd_status status = KD_OK;
    answers results[LIBRARIES] = {{NULL, NULL}};
    double seconds[LIBRARIES] = {0};
    for (int c = 0; c < count; ++c) {
        KD_TRY_GOTO(KD_RESERVE_ZEROED(results[c].hits, set->count));
        KD_TRY_GOTO(KD_RESERVE_ZEROED(results[c].blocked, set->count));
    }
    time_set(set, libraries, count, results, seconds);
    status = report_set(tree, set, libraries, count, results, seconds);
done:
    for (int c = 0; c < count; ++c) {
        memory_free(results[c].hits);
        memory_free(results[c].blocked);
    }
    return status;
}

static kd_status build_peer(peer *peer, RTCDevice device, const tritree_input *input) {
    const double started = cpu_seconds();
    RTCGeometry mesh = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    void *vertices = rtcSetNewGeometryBuffer(mesh, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                                             sizeof(vec3), input->position_count);
    void *indices = rtcSetNewGeometryBuffer(mesh, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                            3 * sizeof(uint32_t), input->triangle_count);
    KD_REQUIRE(vertices && indices, KD_ERROR_MEMORY,
               "Embree cannot allocate the buffers of %u triangles", input->triangle_count);
    memcpy(vertices, input->positions, input->position_count * sizeof(vec3));
    memcpy(indices, input->triangles, 3ull * input->triangle_count * sizeof(uint32_t));
    rtcCommitGeometry(mesh);
    peer->scene = rtcNewScene(device);
    rtcSetSceneBuildQuality(peer->scene, RTC_BUILD_QUALITY_HIGH);
    rtcSetSceneFlags(peer->scene, peer->flags);
    rtcAttachGeometry(peer->scene, mesh);
    rtcReleaseGeometry(mesh);
    rtcCommitScene(peer->scene);
    peer->build_seconds = cpu_seconds() - started;
    const enum RTCError error = rtcGetDeviceError(device);
    KD_REQUIRE(error == RTC_ERROR_NONE, KD_ERROR_RUNTIME, "Embree error %d", (int)error);
    return KD_OK;
}

static const struct {
    const char *name, *from;
    bool any, hard;
} sets[] = {{"primary", "primary", false, false},
            {"diffuse", "diffuse", false, false},
            {"diffuse-any", "diffuse", true, false},
            {"ao-any", "ao-any", true, false},
            {"random", "random", false, false},
            {"random-any", "random", true, false},
            {"hard", NULL, false, true},
            {"hard-any", NULL, true, true},
            {NULL, NULL, false, false}};

static kd_status compare_all(const tritree *tree, RTCDevice device, int32_t side) {
    peer plain = {.flags = RTC_SCENE_FLAG_NONE};
    peer robust = {.flags = RTC_SCENE_FLAG_ROBUST};
    kd_status status = KD_OK, compared = KD_OK;
#ifdef COMPARE_TINYBVH
    tinybvh_trees *tiny =
        tinybvh_open(tree->input.positions, tree->input.triangles, tree->input.triangle_count);
#endif
    KD_TRY_GOTO(build_peer(&plain, device, &tree->input));
    KD_TRY_GOTO(build_peer(&robust, device, &tree->input));
    printf("%u triangles; build: kandela %.0f ms, embree %.0f ms\n", tree->input.triangle_count,
           tree->statistics.build_seconds * 1e3, plain.build_seconds * 1e3);
    const tritree_view view = tritree_get_view(tree);
    int count = 5;
    ray_library libraries[LIBRARIES] = {{"kandela", cast_kandela, &view},
                                        {"kandela single", cast_kandela1, &view},
                                        {"embree", cast_embree, &plain},
                                        {"embree robust", cast_embree, &robust},
                                        {"embree packets", cast_embree8, &plain}};
#ifdef COMPARE_TINYBVH
    libraries[count++] = (ray_library){"tinybvh 4", cast_tinybvh4, tiny};
    libraries[count++] = (ray_library){"tinybvh 8", cast_tinybvh8, tiny};
#endif
    const bench_rays_request request = {tree, side, side, 1, (uint64_t)side * (uint64_t)side};
    for (int i = 0; sets[i].name; ++i) {
        bench_rays set;
        KD_TRY_GOTO(sets[i].hard ? hard_rays_open(&set, &request)
                                 : bench_rays_open(&set, &request, sets[i].from));
        set.set = sets[i].name;
        set.any = sets[i].any;
        const kd_status set_status = compare_set(tree, &set, libraries, count);
        bench_rays_close(&set);
        if (set_status != KD_OK) compared = set_status;
    }
done:
    if (plain.scene) rtcReleaseScene(plain.scene);
    if (robust.scene) rtcReleaseScene(robust.scene);
#ifdef COMPARE_TINYBVH
    tinybvh_close(tiny);
#endif
    return status != KD_OK ? status : compared;
}

static kd_status run(const char *path, int32_t side) {
    kd_status status = KD_OK;
    kd_render_options unused;
    kd_render_options_default(&unused);
    scene *loaded = NULL;
    tritree tree;
    memset(&tree, 0, sizeof tree);
    RTCDevice device = rtcNewDevice("threads=1");
    KD_REQUIRE(device, KD_ERROR_DEVICE, "Embree error %d", (int)rtcGetDeviceError(NULL));
    parallel_set_threads(1);
    KD_TRY_GOTO(scene_open(&loaded, path, &unused, NULL));
    const scene_view view = scene_get_view(loaded);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options options = tritree_options_default();
    KD_TRY_GOTO(tritree_open(&tree, &input, &options, "sweep", NULL));
    KD_TRY_GOTO(compare_all(&tree, device, side));
done:
    tritree_close(&tree);
    scene_close(loaded);
    rtcReleaseDevice(device);
    return status;
}

int main(int argc, char **argv) {
    const int side = argc > 2 ? atoi(argv[2]) : 512;
    if (argc < 2 || argc > 3 || side < 1 || side > 8192) {
        fprintf(stderr, "usage: %s SCENE [SIDE]\n", argv[0]);
        return KD_ERROR_USAGE;
    }
    const kd_status status = run(argv[1], side);
    if (status != KD_OK) fprintf(stderr, "%s\n", kd_last_error());
    return (int)status;
}
