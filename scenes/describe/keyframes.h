/* Keyframe interpolation.
   Source: Catmull and Rom 1974, "A class of local interpolating splines".
   Idea: a cubic through the keys; the slope at a key is that of the line between its neighbours.
     Before the first and after the last key the value is constant. */
#ifndef KD_SCENES_DESCRIBE_KEYFRAMES_H
#define KD_SCENES_DESCRIBE_KEYFRAMES_H
#include "shaders/scene_view.h"

typedef struct camera_key {
    double frame;
    camera view;
} camera_key;

/* Writes the `width` values at `frame` to `out`. Key i has values[i * width] and following; frames
   must ascend. */
void keyframes_at(const double *frames, const double *values, uint32_t count, uint32_t width,
                  double frame, double *out);
/* Interpolates the camera. `count` is 1 to KEYFRAMES_MAX. */
camera keyframes_camera(const camera_key *keys, uint32_t count, double frame);

enum { KEYFRAMES_MAX = 4096 };

#endif
