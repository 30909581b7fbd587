/* kandela bench knn: queries per second for the k nearest and for all points within a radius, by
   method. Queries are points of the same set that are not in the tree, in random order; sorting
   them is included in the time. The queries of "image" are visible points in scanline order,
   unsorted. Results are compared with brute force before timing. */
#include "core/device/device_memory.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/neighbours/request.h"
#include "points/select/builders.h"
#include "points/tree/walk.h"
#include "tools/lab/bench/bench.h"
#include "tools/lab/bench/inputs.h"
#include <string.h>

enum { CHECKED_QUERIES = 64, K_MAX = 4096 };
enum { QUERIES = 10000000, IMAGE_QUERIES = 2000000, WITHIN_QUERIES = 1000000 };
enum { HASHED_ANSWERS = 1 << 20 }; /* only the first results are hashed */
enum { WITHIN_ANSWERS = 1 << 28 }; /* more results are counted but not checked */

typedef struct knn_method {
    const char *name;
    point_query_method method;
    uint32_t k_max;
} knn_method;

static const knn_method methods[] = {{"auto", POINT_QUERY_AUTO, K_MAX},
                                     {"packets", POINT_QUERY_PACKETS, POINT_PACKETS_K_MAX},
                                     {"groups", POINT_QUERY_GROUPS, POINT_GROUPS_K_MAX},
                                     {"threads", POINT_QUERY_THREADS, POINT_THREADS_K_MAX},
                                     {"leaves", POINT_QUERY_LEAVES, POINT_LEAVES_K_MAX},
                                     {"walk", POINT_QUERY_WALK, K_MAX},
                                     {NULL, POINT_QUERY_AUTO, 0}};

/* Points and queries are consecutive in one array, on the host and on the device. */
typedef struct knn_case {
    const bench_request *request;
    const char *set;
    vec3 *points;
    uint64_t count, query_count;
    vec3 *device_points;
    point_build_cuda tree;
    point_index_cuda index;
    void *index_memory;
    size_t index_bytes;
    point_query_cuda query;
    float *radii;        /* radii of the queries, on the host, or NULL */
    const char *variant; /* variant of the query, or NULL */
} knn_case;

typedef struct oracle_work {
    const knn_case *bench;
    const uint64_t *offsets;
    const uint32_t *ids;
    const float *dist2;
    uint32_t wrong[CHECKED_QUERIES];
} oracle_work;

static uint64_t checked_query(const knn_case *bench, uint64_t i) {
    return i * (bench->query.points.count / CHECKED_QUERIES);
}

static float bound2_of(const knn_case *bench, uint64_t query) {
    const float maximum = (float)bench->query.max_radius;
    return pointtree_bound2(bench->radii && bench->radii[query] < maximum ? bench->radii[query]
                                                                          : maximum);
}

static void check_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    oracle_work *work = (oracle_work *)context;
    const knn_case *bench = work->bench;
    const uint32_t k = bench->query.k;
    neighbour best[K_MAX];
    for (int64_t i = begin; i < end; ++i) {
        const vec3 q = bench->points[bench->count + checked_query(bench, (uint64_t)i)];
        uint32_t count = 0;
        float bound2 = bound2_of(bench, checked_query(bench, (uint64_t)i));
        for (uint32_t id = 0; id < bench->count; ++id) {
            const neighbour item = {pointtree_dist2(q, bench->points[id]), id, id};
            if (item.dist2 <= bound2) bound2 = neighbour_offer(best, &count, k, item, bound2);
        }
        neighbour_sort(best, count);
        for (uint32_t j = 0; j < count; ++j)
            work->wrong[i] |= best[j].id != work->ids[(uint64_t)i * k + j] ||
                              best[j].dist2 != work->dist2[(uint64_t)i * k + j];
    }
}

/* Compares a sample of the rows with brute force. */
static kd_status check_answers(const knn_case *bench, const char *method) {
    kd_status status = KD_OK;
    const uint32_t k = bench->query.k;
    oracle_work work;
    memset(&work, 0, sizeof work);
    uint32_t *ids = NULL;
    float *dist2 = NULL;
    KD_TRY_GOTO(KD_RESERVE(ids, (uint64_t)CHECKED_QUERIES * k));
    KD_TRY_GOTO(KD_RESERVE(dist2, (uint64_t)CHECKED_QUERIES * k));
    for (uint64_t i = 0; i < CHECKED_QUERIES; ++i) {
        const uint64_t from = checked_query(bench, i) * k;
        KD_TRY_GOTO(device_memory_download(ids + i * k, bench->query.ids + from, k * sizeof *ids));
        KD_TRY_GOTO(device_memory_download(dist2 + i * k, (const float *)bench->query.dist2 + from,
                                           k * sizeof *dist2));
    }
    work.bench = bench;
    work.ids = ids;
    work.dist2 = dist2;
    parallel_for(CHECKED_QUERIES, 1, check_piece, &work);
    for (uint64_t i = 0; i < CHECKED_QUERIES; ++i)
        if (work.wrong[i]) {
            status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                 "%s, k %u, %s %llu points: query %llu differs from brute force",
                                 method, k, bench->set, (unsigned long long)bench->count,
                                 (unsigned long long)checked_query(bench, i));
            goto done;
        }
done:
    memory_free(ids);
    memory_free(dist2);
    return status;
}

/* Hash of the first `count` results, equal for all methods. */
static kd_status hash_answers(const knn_case *bench, uint64_t count, uint64_t *hash) {
    if (count > HASHED_ANSWERS) count = HASHED_ANSWERS;
    kd_status status = KD_OK;
    uint32_t *ids = NULL;
    float *dist2 = NULL;
    KD_TRY_GOTO(KD_RESERVE(ids, count));
    KD_TRY_GOTO(KD_RESERVE(dist2, count));
    KD_TRY_GOTO(device_memory_download(ids, bench->query.ids, count * sizeof *ids));
    KD_TRY_GOTO(device_memory_download(dist2, bench->query.dist2, count * sizeof *dist2));
    *hash = hash_combine(hash_bytes(ids, count * sizeof *ids), dist2, count * sizeof *dist2);
done:
    memory_free(ids);
    memory_free(dist2);
    return status;
}

/* Times the call on its device and reports the row. */
static kd_status time_call(const bench_request *request, bench_row *row,
                           kd_status (*call)(void *context), void *context) {
    row->runs = request->runs;
    KD_TRY(bench_time_device(row, false, call, context));
    return bench_report(request, row);
}

static kd_status call_nearest(void *query) {
    return point_query_cuda_nearest((const point_query_cuda *)query);
}

static kd_status time_method(knn_case *bench, const knn_method *method) {
    point_query_cuda *q = &bench->query;
    bench_row row = {
        .bench = "knn", .set = bench->set, .builder = method->name, .device = "cuda:0"};
    row.n = bench->count;
    row.dims = 3;
    row.k = (int32_t)q->k;
    row.variant = bench->variant;
    row.items = (double)q->points.count;
    row.rate_name = "queries_per_second";
    q->method = method->method;
    KD_TRY(point_query_cuda_scratch_bytes(&q->scratch_bytes, q));
    row.bytes = q->scratch_bytes;
    kd_status status = KD_OK;
    KD_TRY_GOTO(device_memory_reserve(&q->scratch, q->scratch_bytes));
    KD_TRY_GOTO(point_query_cuda_nearest(q));
    KD_TRY_GOTO(device_wait());
    KD_TRY_GOTO(check_answers(bench, method->name));
    row.checked = true;
    KD_TRY_GOTO(hash_answers(bench, q->points.count * q->k, &row.hash));
    KD_TRY_GOTO(time_call(bench->request, &row, call_nearest, q));
done:
    device_memory_free(q->scratch);
    q->scratch = NULL;
    return status;
}

/* Checks that the points of a row are within the radius, sorted and with correct distances; with
   the correct number, these are all of them. */
static void check_within_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    oracle_work *work = (oracle_work *)context;
    const knn_case *bench = work->bench;
    for (int64_t i = begin; i < end; ++i) {
        const uint64_t which = checked_query(bench, (uint64_t)i);
        const vec3 q = bench->points[bench->count + which];
        const float bound2 = bound2_of(bench, which);
        uint64_t count = 0;
        for (uint32_t id = 0; id < bench->count; ++id)
            count += pointtree_dist2(q, bench->points[id]) <= bound2;
        const uint64_t first = work->offsets[which], last = work->offsets[which + 1];
        work->wrong[i] = count != last - first;
        for (uint64_t j = first; j < last; ++j) {
            const neighbour item = {work->dist2[j], work->ids[j], 0};
            const neighbour next = {work->dist2[j + 1 < last ? j + 1 : j],
                                    work->ids[j + 1 < last ? j + 1 : j], 0};
            work->wrong[i] |= item.id >= bench->count || item.dist2 > bound2 ||
                              item.dist2 != pointtree_dist2(q, bench->points[item.id]) ||
                              (j + 1 < last && !neighbour_before(item, next));
        }
    }
}

static kd_status check_within(const knn_case *bench, const uint64_t *device_offsets) {
    kd_status status = KD_OK;
    const uint64_t rows = bench->query.points.count;
    oracle_work work;
    memset(&work, 0, sizeof work);
    uint64_t *offsets = NULL;
    uint32_t *ids = NULL;
    float *dist2 = NULL;
    KD_TRY_GOTO(KD_RESERVE(offsets, rows + 1));
    KD_TRY_GOTO(device_memory_download(offsets, device_offsets, (rows + 1) * sizeof *offsets));
    KD_TRY_GOTO(KD_RESERVE(ids, offsets[rows] + 1));
    KD_TRY_GOTO(KD_RESERVE(dist2, offsets[rows] + 1));
    KD_TRY_GOTO(device_memory_download(ids, bench->query.ids, offsets[rows] * sizeof *ids));
    KD_TRY_GOTO(device_memory_download(dist2, bench->query.dist2, offsets[rows] * sizeof *dist2));
    work.bench = bench;
    work.offsets = offsets;
    work.ids = ids;
    work.dist2 = dist2;
    parallel_for(CHECKED_QUERIES, 1, check_within_piece, &work);
    for (uint64_t i = 0; i < CHECKED_QUERIES; ++i)
        if (work.wrong[i]) {
            status =
                status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                            "within %g, %s %llu points: query %llu differs from brute force",
                            bench->query.max_radius, bench->set, (unsigned long long)bench->count,
                            (unsigned long long)checked_query(bench, i));
            goto done;
        }
done:
    memory_free(offsets);
    memory_free(ids);
    memory_free(dist2);
    return status;
}

typedef struct within_call {
    const point_query_cuda *query;
    uint64_t *offsets;
    bool fills;
} within_call;

static kd_status call_within(void *context) {
    const within_call *call = (const within_call *)context;
    return call->fills ? point_query_cuda_within(call->query, call->offsets)
                       : point_query_cuda_count_within(call->query, call->offsets);
}

/* Times one of the two calls of the radius query. */
static kd_status time_within(knn_case *bench, uint64_t *offsets, bool fills, uint64_t answers) {
    within_call call = {&bench->query, offsets, fills};
    bench_row row = {.bench = "within", .set = bench->set, .device = "cuda:0"};
    row.checked = bench->query.ids != NULL; /* results were available for checking */
    row.builder = fills ? "fill" : "count";
    row.variant = bench->variant;
    row.n = bench->count;
    row.dims = 3;
    row.items = (double)bench->query.points.count;
    row.rate_name = "queries_per_second";
    row.bytes = fills ? answers * 8 : bench->query.scratch_bytes;
    if (fills) KD_TRY(hash_answers(bench, answers, &row.hash));
    return time_call(bench->request, &row, call_within, &call);
}

/* Measures the radius query: the count, then the results. */
static kd_status run_within(knn_case *bench) {
    kd_status status = KD_OK;
    point_query_cuda *q = &bench->query;
    const uint64_t all = q->points.count;
    if (all > WITHIN_QUERIES) q->points.count = WITHIN_QUERIES;
    const uint64_t rows = q->points.count;
    uint64_t *offsets = NULL, answers = 0;
    q->method = POINT_QUERY_AUTO;
    q->k = 0;
    KD_TRY_GOTO(device_memory_reserve((void **)&offsets, (rows + 1) * sizeof *offsets));
    KD_TRY_GOTO(point_query_cuda_scratch_bytes(&q->scratch_bytes, q));
    KD_TRY_GOTO(device_memory_reserve(&q->scratch, q->scratch_bytes));
    KD_TRY_GOTO(point_query_cuda_count_within(q, offsets));
    KD_TRY_GOTO(device_memory_download(&answers, offsets + rows, sizeof answers));
    if (answers > WITHIN_ANSWERS) {
        KD_TRY_GOTO(time_within(bench, offsets, false, answers));
        goto done;
    }
    KD_TRY_GOTO(device_memory_reserve((void **)&q->ids, (answers + 1) * sizeof *q->ids));
    KD_TRY_GOTO(device_memory_reserve(&q->dist2, (answers + 1) * sizeof(float)));
    KD_TRY_GOTO(point_query_cuda_within(q, offsets));
    KD_TRY_GOTO(device_wait());
    KD_TRY_GOTO(check_within(bench, offsets));
    KD_TRY_GOTO(time_within(bench, offsets, false, answers));
    KD_TRY_GOTO(time_within(bench, offsets, true, answers));
done:
    device_memory_free(offsets);
    device_memory_free(q->scratch);
    device_memory_free(q->ids);
    device_memory_free(q->dist2);
    q->scratch = NULL;
    q->ids = NULL;
    q->dist2 = NULL;
    q->points.count = all;
    return status;
}

/* Returns true if the method has kernels for this k. */
static bool takes(const knn_method *method, uint32_t k, uint32_t kernel_k) {
    if (kernel_k == 0) return k <= method->k_max;
    return method->method != POINT_QUERY_AUTO && method->method != POINT_QUERY_WALK &&
           k <= kernel_k && kernel_k <= method->k_max;
}

/* Measures all methods for one k. */
static kd_status run_k(knn_case *bench, uint32_t k) {
    kd_status status = KD_OK;
    point_query_cuda *q = &bench->query;
    q->k = k;
    KD_TRY_GOTO(device_memory_reserve((void **)&q->ids, bench->query_count * k * sizeof(uint32_t)));
    KD_TRY_GOTO(device_memory_reserve(&q->dist2, bench->query_count * k * sizeof(float)));
    for (const knn_method *method = methods; method->name; ++method)
        if (bench_selects(&bench->request->builders, method->name) && takes(method, k, q->kernel_k))
            KD_TRY_GOTO(time_method(bench, method));
done:
    device_memory_free(q->ids);
    device_memory_free(q->dist2);
    q->ids = NULL;
    q->dist2 = NULL;
    return status;
}

static kd_status call_index(void *context) {
    knn_case *bench = (knn_case *)context;
    return point_index_cuda_open(&bench->index, &bench->tree, bench->index_memory,
                                 bench->index_bytes);
}

/* Measures the time to build the leaf index, which queries need in addition to the tree. */
static kd_status time_index(knn_case *bench) {
    bench_row row = {.bench = "index", .set = bench->set, .builder = "select", .device = "cuda:0"};
    row.n = bench->count;
    row.dims = 3;
    row.items = (double)bench->count;
    row.bytes = bench->index_bytes;
    row.checked = true; /* checked by the results of queries */
    return time_call(bench->request, &row, call_index, bench);
}

/* Builds the widest-side tree with the fastest builder, and its index. */
static kd_status open_tree(knn_case *bench) {
    const uint64_t all = bench->count + bench->query_count;
    KD_TRY(device_memory_reserve((void **)&bench->device_points, all * sizeof(vec3)));
    KD_TRY(device_memory_upload(bench->device_points, bench->points, all * sizeof(vec3)));
    point_build_cuda *tree = &bench->tree;
    tree->points = point_array_make(bench->device_points, bench->count, 3, POINT_FLOAT);
    tree->split = POINTTREE_WIDEST;
    KD_TRY(device_memory_reserve((void **)&tree->ids, bench->count * sizeof(uint32_t)));
    KD_TRY(device_memory_reserve((void **)&tree->axes, bench->count));
    KD_TRY(point_builders_cuda[0]->scratch_bytes(&tree->scratch_bytes, tree));
    KD_TRY(device_memory_reserve(&tree->scratch, tree->scratch_bytes));
    KD_TRY(point_builders_cuda[0]->build(tree));
    KD_TRY(point_index_cuda_bytes(&bench->index_bytes, tree));
    KD_TRY(device_memory_reserve(&bench->index_memory, bench->index_bytes));
    KD_TRY(call_index(bench));
    KD_TRY(time_index(bench));
    bench->query.index = &bench->index;
    bench->query.points =
        point_array_make(bench->device_points + bench->count, bench->query_count, 3, POINT_FLOAT);
    bench->query.max_radius = (double)INFINITY;
    return device_wait();
}

/* Measures the k nearest for every k. */
static kd_status run_counts(knn_case *bench) {
    const bench_request *request = bench->request;
    if (!request->counts.count) return run_k(bench, 8);
    for (int i = 0; i < request->counts.count; ++i) {
        uint64_t k = 0;
        KD_TRY(bench_count(&k, &request->counts, i));
        KD_REQUIRE(k >= 1 && k <= K_MAX, KD_ERROR_USAGE, "k is %llu; expected 1 to %d",
                   (unsigned long long)k, K_MAX);
        KD_TRY(run_k(bench, (uint32_t)k));
    }
    return KD_OK;
}

/* Measures queries with a common maximum radius, then with one per query. */
static kd_status run_radii(knn_case *bench) {
    kd_status status = KD_OK;
    void *device_radii = NULL;
    bench->query.max_radius = bench->request->radius;
    bench->variant = "radius";
    KD_TRY_GOTO(run_counts(bench));
    KD_TRY_GOTO(run_within(bench));
    KD_TRY_GOTO(KD_RESERVE(bench->radii, bench->query_count));
    for (uint64_t i = 0; i < bench->query_count; ++i)
        bench->radii[i] = (float)bench->request->radius * (float)(i % 101) / 100;
    KD_TRY_GOTO(device_memory_reserve(&device_radii, bench->query_count * sizeof(float)));
    KD_TRY_GOTO(
        device_memory_upload(device_radii, bench->radii, bench->query_count * sizeof(float)));
    bench->query.radii = device_radii;
    bench->variant = "radii";
    KD_TRY_GOTO(run_counts(bench));
    KD_TRY_GOTO(run_within(bench));
done:
    device_memory_free(device_radii);
    return status;
}

static kd_status fill_case(knn_case *bench) {
    const bool image = strcmp(bench->set, "image") == 0;
    KD_TRY(KD_RESERVE(bench->points, bench->count + bench->query_count));
    if (!image) return bench_set_fill(bench->points, bench->count + bench->query_count, bench->set);
    bench->query.coherent = true;
    bench_image_fill(bench->points + bench->count, bench->query_count);
    return bench_set_fill(bench->points, bench->count, "photon");
}

static kd_status run_case(const bench_request *request, const char *set, uint64_t count,
                          uint64_t query_count) {
    knn_case bench;
    memset(&bench, 0, sizeof bench);
    bench.request = request;
    bench.set = set;
    bench.count = count;
    bench.query_count = query_count;
    bench.query.kernel_k = (uint32_t)request->kernel_k;
    char kernels[32];
    snprintf(kernels, sizeof kernels, "kernel for %d", (int)request->kernel_k);
    if (request->kernel_k) bench.variant = kernels;
    kd_status status = KD_OK;
    KD_TRY_GOTO(fill_case(&bench));
    KD_TRY_GOTO(open_tree(&bench));
    KD_TRY_GOTO(run_counts(&bench));
    if (request->radius > 0) KD_TRY_GOTO(run_radii(&bench));
done:
    memory_free(bench.points);
    memory_free(bench.radii);
    device_memory_free(bench.device_points);
    device_memory_free(bench.tree.ids);
    device_memory_free(bench.tree.axes);
    device_memory_free(bench.tree.scratch);
    device_memory_free(bench.index_memory);
    return status;
}

/* Measures one set, or "image", of the i-th size. */
static kd_status run_set(const bench_request *request, const char *set, int i) {
    const uint64_t usual[] = {1000000, 10000000};
    uint64_t count = request->quick ? 10000 : usual[i % 2];
    if (request->sizes.count) KD_TRY(bench_count(&count, &request->sizes, i));
    KD_REQUIRE(count >= 1 && count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "the size is %llu; expected 1 to %u", (unsigned long long)count,
               POINTTREE_COUNT_MAX);
    uint64_t queries = strcmp(set, "image") == 0 ? IMAGE_QUERIES : QUERIES;
    if (request->queries) queries = request->queries;
    KD_REQUIRE(queries >= CHECKED_QUERIES, KD_ERROR_USAGE,
               "the number of queries is %llu; expected at least %d", (unsigned long long)queries,
               CHECKED_QUERIES);
    return run_case(request, set, count, request->quick && !request->queries ? 10000 : queries);
}

kd_status bench_knn(const bench_request *request) {
    KD_REQUIRE(device_cuda_count() > 0, KD_ERROR_DEVICE, "bench knn needs a CUDA device");
    const int size_count = request->sizes.count, sizes = size_count       ? size_count
                                                         : request->quick ? 1
                                                                          : 2;
    for (int i = 0; i < sizes; ++i) {
        for (const char *const *set = bench_sets; *set; ++set)
            if (request->sets.count ? bench_selects(&request->sets, *set) : set == bench_sets)
                KD_TRY(run_set(request, *set, i));
        if (request->sets.count && bench_selects(&request->sets, "image"))
            KD_TRY(run_set(request, "image", i));
    }
    return KD_OK;
}
