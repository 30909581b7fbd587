/* A frame on a CUDA device: tree, scene and film in its memory, and the launches that take samples
   there. Without CUDA in the build opening is KD_ERROR_DEVICE. */
#ifndef KD_RENDER_FRAME_FRAME_DEVICE_H
#define KD_RENDER_FRAME_FRAME_DEVICE_H
#include "accel/rays/tree_device.h"
#include "core/device/device.h"
#include "render/frame/film.h"
#include "scenes/assembly/scene_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over samples, in device memory. */
typedef struct sample_counts {
    uint64_t rays, nan_samples;
} sample_counts;

typedef struct frame_cuda {
    tritree_cuda tree;
    scene_cuda scene;
    film_pixel *pixels; /* the film's, row by row */
    sample_counts *counts;
    int32_t previous; /* device to go back to */
    bool entered;
} frame_cuda;

/* Makes the device the thread's current one, until frame_cuda_close. */
kd_status frame_cuda_open(frame_cuda *out, const device *where);
/* Builds the tree there by a builder of tritree_builders_cuda, or brings `host_tree` there if that
   is not NULL; then the scene. `built` (may be NULL) gets the tree as a host's. */
kd_status frame_cuda_place_scene(frame_cuda *to, const scene_view *host, const tritree *host_tree,
                                 const tritree_options *how, const char *builder, tritree *built);
void frame_cuda_remove_scene(frame_cuda *from); /* and its tree; what there is of them */
/* The film's sums go there, and come back. */
kd_status frame_cuda_place_film(frame_cuda *to, const film *from);
kd_status frame_cuda_fetch_film(const frame_cuda *from, film *to);
void frame_cuda_close(frame_cuda *owned); /* takes a zeroed one */

/* Samples [begin, begin + count) of the pixels of the film's rows [top, bottom): those of them that
   a pixel does not have yet. */
typedef struct sample_range {
    int32_t x0, y0, width; /* the film's place in the whole picture */
    int32_t top, bottom;
    uint32_t begin, count;
} sample_range;

/* Rows are cut into such many samples a launch, so that the host can look up in between. */
enum { LAUNCH_SAMPLES = 1 << 23 };
int32_t frame_cuda_rows(int32_t width, uint32_t count);

/* Takes the samples, waits, and adds to `counts` what was counted since the last call. */
kd_status frame_cuda_take(const frame *of, const integrator *how, const sample_range *range,
                          sample_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
