/* Numbers that change from frame to frame, by keys.
   Source: Catmull and Rom 1974, "A class of local interpolating splines".
   Idea: a cubic through the keys whose slope at each is that of the line between its neighbours;
   before the first key and behind the last one all stays as it is there. */
#ifndef KD_SCENES_DESCRIBE_KEYFRAMES_H
#define KD_SCENES_DESCRIBE_KEYFRAMES_H
#include "shaders/scene_view.h"

typedef struct camera_key {
    double frame;
    camera view;
} camera_key;

/* out = `width` numbers at `frame`. values: those of key i begin at i width; frames grow. */
void keyframes_at(const double *frames, const double *values, uint32_t count, uint32_t width,
                  double frame, double *out);
/* At least one key, at most KEYFRAMES_MOST. */
camera keyframes_camera(const camera_key *keys, uint32_t count, double frame);

enum { KEYFRAMES_MOST = 4096 };

#endif
