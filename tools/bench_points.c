/* kandela bench points: how long each builder takes for a left-balanced point k-d tree. Every tree
   is checked before it is timed; trees of the same points must have the same hash. */
#include "core/device_memory.h"
#include "core/device_timer.h"
#include "core/hash.h"
#include "core/memory.h"
#include "photon/build_cuda.h"
#include "photon/pointtree.h"
#include "photon/pointtree_check.h"
#include "tools/bench.h"
#include "tools/bench_sets.h"
#include <string.h>

typedef struct point_case {
    const bench_request *request;
    const vec3 *points; /* host */
    uint64_t count;
    const char *set;
    uint64_t hash; /* of the first tree; 0: none yet */
} point_case;

static kd_status same_tree(point_case *of, const bench_row *row) {
    if (!of->hash) of->hash = row->hash;
    KD_REQUIRE(of->hash == row->hash, KD_ERROR_CHECK,
               "%s on %s made another tree of %s %llu points", row->builder, row->device, row->set,
               (unsigned long long)row->n);
    return KD_OK;
}

static bench_row new_row(const point_case *of, const char *builder, const char *device_name) {
    bench_row row = {.bench = "points", .set = of->set, .builder = builder, .device = device_name};
    row.n = of->count;
    row.dims = 3;
    row.items = (double)of->count;
    row.runs = of->request->runs;
    return row;
}

static kd_status on_cpu(point_case *of, const pointtree_builder *builder) {
    bench_row row = new_row(of, builder->name, "cpu");
    row.bytes = builder->scratch_bytes(of->count);
    for (int run = -1; run < row.runs; ++run) {
        pointtree tree;
        KD_TRY(pointtree_open(&tree, of->points, of->count, NULL, builder->name, NULL));
        kd_status status = KD_OK;
        if (run < 0) {
            const pointtree_view view = pointtree_get_view(&tree);
            status = pointtree_check(&view, of->points, of->count);
            row.hash = pointtree_hash(&tree);
            row.checked = status == KD_OK;
        } else {
            row.seconds[run] = tree.build_seconds;
        }
        pointtree_close(&tree);
        KD_TRY(status);
    }
    KD_TRY(same_tree(of, &row));
    return bench_report(of->request, &row);
}

/* The device's ids as a tree on the host, for the checker and the hash. */
static kd_status check_ids(point_case *of, bench_row *row, const uint32_t *device_ids) {
    kd_status status = KD_OK;
    uint32_t *ids = NULL;
    vec3 *points = NULL;
    KD_TRY_GOTO(KD_RESERVE(ids, of->count));
    KD_TRY_GOTO(KD_RESERVE(points, of->count));
    KD_TRY_GOTO(device_memory_download(ids, device_ids, of->count * sizeof *ids));
    for (uint64_t i = 0; i < of->count; ++i) {
        if (ids[i] >= of->count) {
            status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__, "%s: node %llu holds id %u",
                                 row->builder, (unsigned long long)i, ids[i]);
            goto done;
        }
        points[i] = of->points[ids[i]];
    }
    pointtree_view view;
    memset(&view, 0, sizeof view);
    view.points = points;
    view.ids = ids;
    view.count = (uint32_t)of->count;
    KD_TRY_GOTO(pointtree_check(&view, of->points, of->count));
    row->hash = hash_bytes(ids, of->count * sizeof *ids);
    row->checked = true;
done:
    memory_free(ids);
    memory_free(points);
    return status;
}

static kd_status time_device(point_case *of, bench_row *row, const point_builder_cuda *builder,
                             const point_build_cuda *arguments) {
    KD_TRY(builder->build(arguments));
    KD_TRY(device_wait());
    KD_TRY(check_ids(of, row, arguments->ids));
    device_timer timer;
    KD_TRY(device_timer_open(&timer));
    kd_status status = KD_OK;
    for (int run = 0; run < row->runs; ++run) {
        KD_TRY_GOTO(device_timer_start(&timer, NULL));
        KD_TRY_GOTO(builder->build(arguments));
        KD_TRY_GOTO(device_timer_stop(&timer, NULL, &row->seconds[run]));
    }
done:
    device_timer_close(&timer);
    return status;
}

static kd_status on_cuda(point_case *of, const point_builder_cuda *builder,
                         const char *device_name) {
    bench_row row = new_row(of, builder->name, device_name);
    kd_status status = KD_OK;
    void *points = NULL;
    point_build_cuda a;
    memset(&a, 0, sizeof a);
    KD_TRY_GOTO(device_memory_reserve(&points, of->count * sizeof(vec3)));
    KD_TRY_GOTO(device_memory_upload(points, of->points, of->count * sizeof(vec3)));
    a.points = point_array_make(points, of->count, 3, POINT_FLOAT);
    KD_TRY_GOTO(device_memory_reserve((void **)&a.ids, of->count * sizeof *a.ids));
    KD_TRY_GOTO(builder->scratch_bytes(&a.scratch_bytes, &a));
    KD_TRY_GOTO(device_memory_reserve(&a.scratch, a.scratch_bytes));
    row.bytes = a.scratch_bytes;
    KD_TRY_GOTO(time_device(of, &row, builder, &a));
    KD_TRY_GOTO(same_tree(of, &row));
    KD_TRY_GOTO(bench_report(of->request, &row));
done:
    device_memory_free(points);
    device_memory_free(a.ids);
    device_memory_free(a.scratch);
    return status;
}

static kd_status run_case(point_case *of) {
    const bench_request *request = of->request;
    if (bench_wants(&request->devices, "cpu"))
        for (const pointtree_builder *row = pointtree_builders; row->name; ++row)
            if (bench_wants(&request->builders, row->name)) KD_TRY(on_cpu(of, row));
    if (device_cuda_count() > 0 && bench_wants(&request->devices, "cuda:0"))
        for (const point_builder_cuda *row = point_builders_cuda; row->name; ++row)
            if (bench_wants(&request->builders, row->name)) KD_TRY(on_cuda(of, row, "cuda:0"));
    return KD_OK;
}

kd_status bench_points(const bench_request *request) {
    static const uint64_t usual[] = {10000, 100000, 1000000}, quick[] = {10000};
    const uint64_t *counts = request->quick ? quick : usual;
    const int given = request->sizes.count;
    const int sizes = given ? given : request->quick ? 1 : 3;
    for (int i = 0; i < sizes; ++i)
        for (const char *const *set = bench_sets; *set; ++set) {
            if (request->sets.count ? !bench_wants(&request->sets, *set) : set != bench_sets)
                continue;
            uint64_t count = 0;
            if (given)
                KD_TRY(bench_count(&count, &request->sizes, i));
            else
                count = counts[i];
            KD_REQUIRE(count >= 1 && count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
                       "size %llu, expected 1 to %u", (unsigned long long)count,
                       POINTTREE_COUNT_MAX);
            vec3 *points = NULL;
            KD_TRY(KD_RESERVE(points, count));
            kd_status status = bench_set_fill(points, count, *set);
            point_case of = {request, points, count, *set, 0};
            if (status == KD_OK) status = run_case(&of);
            memory_free(points);
            KD_TRY(status);
        }
    return KD_OK;
}
