/* Where the time of a build on a CUDA device goes, if its caller wants to know: each stretch of its
   stream belongs to a stage, and says how many bytes it has to move. */
#ifndef KD_POINTS_TREE_STAGES_H
#define KD_POINTS_TREE_STAGES_H
#include "core/device/device_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { POINT_STAGES = 4 };
typedef enum point_stage {
    POINT_STAGE_SELECT = 0,  /* pivots, and brackets from samples */
    POINT_STAGE_COLLECT = 1, /* passes that look for candidates and move nothing */
    POINT_STAGE_MOVE = 2,    /* points to their sub-trees */
    POINT_STAGE_BOTTOM = 3   /* sub-trees in shared memory */
} point_stage;
extern const char *const point_stage_names[POINT_STAGES];

typedef struct point_build_stages {
    device_marks marks; /* where each stretch begins, and where the last ends */
    point_stage stage[DEVICE_MARKS_MAX];
    int stretches; /* of the last build; 0: its builder does not tell */
    double bytes[POINT_STAGES];
    const char *const *names; /* POINT_STAGES of them; a builder may have its own */
} point_build_stages;

kd_status point_build_stages_open(point_build_stages *out);
void point_build_stages_close(point_build_stages *owned); /* takes a zeroed one */
/* Before the next build. */
void point_build_stages_clear(point_build_stages *to);
/* For builders, who may be given NULL: from here on the stream works for `stage`, which has to move
   so many bytes between memory and multiprocessors. */
kd_status point_build_stages_begin(point_build_stages *to, point_stage stage, double bytes,
                                   void *stream);
kd_status point_build_stages_end(point_build_stages *to, void *stream);
/* Waits for the build's end. */
kd_status point_build_stages_read(const point_build_stages *from, double seconds[POINT_STAGES]);

#ifdef __cplusplus
}
#endif
#endif
