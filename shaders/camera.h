/* A pinhole (or thin-lens) camera. Pixel (0, 0) is the top left one. */
#ifndef KD_SHADERS_CAMERA_H
#define KD_SHADERS_CAMERA_H
#include "shaders/ray.h"

typedef struct camera {
    vec3 eye, look_at, up;
    float fov_degrees;    /* vertical, (0, 180) */
    float lens_radius;    /* 0: pinhole */
    float focus_distance; /* along the view axis; 0: distance to look_at */
} camera;

#endif
