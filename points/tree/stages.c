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

void point_build_stages_clear(point_build_stages *to) {
    to->stretches = 0;
    memset(to->bytes, 0, sizeof to->bytes);
}

kd_status point_build_stages_begin(point_build_stages *to, point_stage stage, double bytes,
                                   void *stream) {
    if (!to) return KD_OK;
    to->bytes[stage] += bytes;
    if (to->stretches > 0 && to->stage[to->stretches - 1] == stage) return KD_OK;
    KD_REQUIRE(to->stretches + 1 < to->marks.count, KD_ERROR_RUNTIME,
               "a build has more than %d changes of stage, the limit of its timer",
               to->marks.count - 1);
    to->stage[to->stretches] = stage;
    return device_marks_record(&to->marks, to->stretches++, stream);
}

kd_status point_build_stages_end(point_build_stages *to, void *stream) {
    return to ? device_marks_record(&to->marks, to->stretches, stream) : KD_OK;
}

kd_status point_build_stages_read(const point_build_stages *from, double seconds[POINT_STAGES]) {
    memset(seconds, 0, POINT_STAGES * sizeof *seconds);
    if (from->stretches == 0) return KD_OK;
    device_marks recorded = from->marks;
    double stretch[DEVICE_MARKS_MAX];
    recorded.count = from->stretches + 1;
    KD_TRY(device_marks_read(&recorded, stretch));
    for (int i = 0; i < from->stretches; ++i) seconds[from->stage[i]] += stretch[i];
    return KD_OK;
}
