/* Ray sets that casters are measured with. */
#ifndef KD_TOOLS_LAB_BENCH_INPUT_RAYS_H
#define KD_TOOLS_LAB_BENCH_INPUT_RAYS_H
#include "accel/tree/tritree.h"
#include "core/math/geometry.h"
#include "core/status.h"
#include "shaders/scene_view.h"

typedef struct bench_rays {
    const char *set;
    ray *rays;
    uint64_t count;
    bool any;       /* any hit is asked for, not the closest */
    uint32_t width; /* of the image that they are, row by row; 0: none */
    bool coherent;  /* neighbours take similar ways */
} bench_rays;

typedef struct bench_rays_request {
    const tritree *tree;
    int32_t width, height; /* of the image */
    int32_t bounces;       /* diffuse rays for each point that the image's rays hit */
    uint64_t random_count;
} bench_rays_request;

/* The sets, by name:
     primary     a pinhole's rays through the pixels' centres, row by row
     diffuse     from what those hit, cosine-distributed around the normal
     ao-any      the same, any hit within 0.15 of the box's diagonal
     random      from anywhere in the box, in any direction
     random-any  the same, any hit */
extern const char *const bench_ray_sets[]; /* ends with NULL */
kd_status bench_rays_open(bench_rays *out, const bench_rays_request *request, const char *set);
void bench_rays_close(bench_rays *owned); /* takes a zeroed one */

#endif
