#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/memory.h"
#include "points/builders.h"
#include "points/tree/bounds.h"
#include "points/tree/check.h"
#include "tools/lab/bench/inputs.h"
#include "tools/lab/papers/wehr.h"
#include <string.h>

/* The bunny of the paper has 36,000 corners. */
static kd_status take_corners(vec3 **out, uint64_t *count, const bench_request *request) {
    bench_model model;
    KD_TRY(bench_model_open(&model,
                            request->models.count ? request->models.items[0] : "gen:blob:72000"));
    kd_status status = KD_OK;
    if (*count > model.input.position_count) *count = model.input.position_count;
    KD_TRY_GOTO(KD_RESERVE(*out, *count));
    memcpy(*out, model.input.positions, *count * sizeof **out);
done:
    bench_model_close(&model);
    return status;
}

static kd_status upload(bench_cloud *to) {
    const uint64_t bytes = to->points.count * sizeof(vec3);
    KD_TRY(device_memory_reserve(&to->memory[1], bytes));
    to->device_points = to->points;
    to->device_points.coordinates = to->memory[1];
    return device_memory_upload(to->memory[1], to->memory[0], bytes);
}

kd_status wehr_cloud_open(wehr_cloud *out, const paper_table *table, wehr_set set, uint64_t count) {
    static const char *const names[] = {"uniform", "scan", "bunny"};
    bench_cloud *cloud = &out->points;
    vec3 *points = NULL;
    memset(out, 0, sizeof *out);
    out->name = names[set];
    if (set == WEHR_RANDOM)
        return bench_cloud_open(cloud, "uniform", count, 3, POINT_FLOAT, 0, table->on_cuda);
    kd_status status = KD_OK;
    if (set == WEHR_BUNNY) {
        status = take_corners(&points, &count, table->request);
    } else {
        KD_TRY_GOTO(KD_RESERVE(points, count));
        bench_image_fill(points, count);
    }
    cloud->memory[0] = points;
    if (status == KD_OK) {
        cloud->points = point_array_make(points, count, 3, POINT_FLOAT);
        KD_TRY_GOTO(point_scan(&cloud->box, &cloud->points));
        if (table->on_cuda) KD_TRY_GOTO(upload(cloud));
    }
done:
    if (status != KD_OK) wehr_cloud_close(out);
    return status;
}

void wehr_cloud_close(wehr_cloud *owned) {
    bench_cloud_close(&owned->points);
}

kd_status wehr_build_cpu(bench_row *row, const bench_cloud *cloud,
                         const wehr_parameters *parameters) {
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    pointtree tree;
    KD_TRY(pointtree_open_nd(&tree, &cloud->points, &options, "wehr", NULL));
    kd_status status = KD_OK;
    for (int run = -1; run < row->runs; ++run) {
        const double started = timing_now();
        KD_TRY_GOTO(build_wehr_with(&tree, &cloud->points, parameters, NULL));
        if (run >= 0) row->seconds[run] = timing_now() - started;
        if (run >= 0) continue;
        const pointtree_nd_view view = pointtree_get_nd_view(&tree);
        KD_TRY_GOTO(pointtree_check_nd(&view, &cloud->points));
        row->hash = pointtree_hash(&tree);
        row->checked = true;
    }
    memcpy(row->stage_seconds, tree.stage_seconds, sizeof tree.stage_seconds);
    row->stage_names = pointtree_builder_find("wehr")->stage_names;
done:
    pointtree_close(&tree);
    return status;
}
