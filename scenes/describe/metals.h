/* Metals by name: how much of white light they reflect, in Rec. 709. */
#ifndef KD_SCENES_DESCRIBE_METALS_H
#define KD_SCENES_DESCRIBE_METALS_H
#include "core/math/geometry.h"

#define METAL_NAMES                                                                                \
    "aluminium|chromium|copper|gold|iron|iridium|platinum|rhodium|silver|titanium|tungsten"

typedef struct metal_colours {
    vec3 normal; /* reflectance along the normal */
    vec3 edge;   /* that at 82 degrees (cosine 1/7) over Schlick's there */
} metal_colours;

/* By its number in METAL_NAMES. */
metal_colours metal_of(int32_t name);

#endif
