#include "points/tree/stages.h"
#include <string.h>

const char *const point_stage_names[POINT_STAGES] = {"select", "collect", "move", "bottom"};

kd_status point_build_stages_open(point_build_stages *out) {
    memset(out, 0, sizeof *out);
    out->names = point_stage_names;
    return device_marks_open(&out->marks, DEVICE_MARKS_MAX);
}

void point_build_stages_close(point_build_stages *owned) {
    device_marks_close(&owned->marks);
    memset(owned, 0, sizeof *owned);
}

void point_build_stages_clear(point_build_stages *stages) {
    stages->intervals = 0;
    memset(stages->bytes, 0, sizeof stages->bytes);
}

kd_status point_build_stages_begin(point_build_stages *stages, point_stage stage, double bytes,
                                   void *stream) {
    if (!stages) return KD_OK;
    stages->bytes[stage] += bytes;
    if (stages->intervals > 0 && stages->stage[stages->intervals - 1] == stage) return KD_OK;
    KD_REQUIRE(stages->intervals + 1 < stages->marks.count, KD_ERROR_RUNTIME,
               "a build has more than %d changes of stage, the limit of its timer",
               stages->marks.count - 1);
    stages->stage[stages->intervals] = stage;
    return device_marks_record(&stages->marks, stages->intervals++, stream);
}

kd_status point_build_stages_end(point_build_stages *stages, void *stream) {
    return stages ? device_marks_record(&stages->marks, stages->intervals, stream) : KD_OK;
}

kd_status point_build_stages_read(const point_build_stages *stages, double seconds[POINT_STAGES]) {
    memset(seconds, 0, POINT_STAGES * sizeof *seconds);
    if (stages->intervals == 0) return KD_OK;
    device_marks recorded = stages->marks;
    double interval[DEVICE_MARKS_MAX];
    recorded.count = stages->intervals + 1;
    KD_TRY(device_marks_read(&recorded, interval));
    for (int i = 0; i < stages->intervals; ++i) seconds[stages->stage[i]] += interval[i];
    return KD_OK;
}
