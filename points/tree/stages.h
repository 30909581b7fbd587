/* Optional timing of a CUDA build: divides the work on the stream into intervals, each of which
   belongs to a stage and records the bytes that it has to move. */
#ifndef KD_POINTS_TREE_STAGES_H
#define KD_POINTS_TREE_STAGES_H
#include "core/device/device_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { POINT_STAGES = 4 };
typedef enum point_stage {
    POINT_STAGE_SELECT = 0,  /* pivot selection, and brackets from samples */
    POINT_STAGE_COLLECT = 1, /* passes that collect candidates without moving points */
    POINT_STAGE_MOVE = 2,    /* moving points to their sub-trees */
    POINT_STAGE_BOTTOM = 3   /* sub-trees built in shared memory */
} point_stage;
extern const char *const point_stage_names[POINT_STAGES];

typedef struct point_build_stages {
    device_marks marks; /* events at the beginning of each interval and at the end of the last */
    point_stage stage[DEVICE_MARKS_MAX];
    int intervals; /* intervals of the last build; 0: the builder does not measure them */
    double bytes[POINT_STAGES];
    const char *const *names; /* POINT_STAGES names; a builder may have its own */
} point_build_stages;

kd_status point_build_stages_open(point_build_stages *out);
/* Accepts a zeroed struct. */
void point_build_stages_close(point_build_stages *owned);
/* Must be called before each build. */
void point_build_stages_clear(point_build_stages *stages);
/* Marks the beginning of `stage` on the stream; the stage has to move `bytes` bytes between
   memory and the multiprocessors. Called by builders; does nothing if `stages` is NULL. */
kd_status point_build_stages_begin(point_build_stages *stages, point_stage stage, double bytes,
                                   void *stream);
kd_status point_build_stages_end(point_build_stages *stages, void *stream);
/* Waits for the end of the build, then stores the time of each stage in seconds. */
kd_status point_build_stages_read(const point_build_stages *stages, double seconds[POINT_STAGES]);

#ifdef __cplusplus
}
#endif
#endif
