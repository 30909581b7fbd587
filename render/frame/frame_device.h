/* A frame on a CUDA device: tree, scene and film in its memory, and the launches that take samples
   there. Without CUDA in the build opening is KD_ERROR_DEVICE. */
#ifndef KD_RENDER_FRAME_FRAME_DEVICE_H
#define KD_RENDER_FRAME_FRAME_DEVICE_H
#include "accel/rays/tree_device.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
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
    device_buffer work; /* of launches by waves */
    bool stopped;       /* the last launch left samples out, since somebody waits for the film */
    int32_t previous;   /* device to go back to */
    bool entered;
} frame_cuda;

/* Makes the device the thread's current one, until frame_cuda_close. */
kd_status frame_cuda_open(frame_cuda *out, const device *where);
/* Builds the tree there by a builder of tritree_builders_cuda, or brings `host_tree` there if that
   is not NULL; then the scene. `built` (may be NULL) gets the tree as a host's. */
kd_status frame_cuda_place_scene(frame_cuda *to, const scene_view *host, const tritree *host_tree,
                                 const tritree_options *how, const char *builder, tritree *built);
/* Gives the tree, and the scene's view of it, the form that batches of rays walk, once. */
kd_status frame_cuda_pack(frame_cuda *of);
void frame_cuda_remove_scene(frame_cuda *from); /* and its tree; what there is of them */
/* The film's sums go there, if it has any, and come back. */
kd_status frame_cuda_place_film(frame_cuda *to, const film *from);
kd_status frame_cuda_fetch_film(const frame_cuda *from, film *to);
/* Some rows of them alone. */
kd_status frame_cuda_place_rows(frame_cuda *to, const film *from, int32_t top, int32_t bottom);
kd_status frame_cuda_fetch_rows(const frame_cuda *from, film *to, int32_t top, int32_t bottom);
void frame_cuda_close(frame_cuda *owned); /* takes a zeroed one */

/* Samples [begin, begin + count) of the pixels of the film's rows [top, bottom): those of them that
   a pixel does not have yet. */
typedef struct sample_range {
    int32_t x0, y0, width; /* the film's place in the whole picture */
    int32_t top, bottom;
    uint32_t begin, count;
} sample_range;

/* Samples that an integrator's launch takes at most: by the kernel that takes them a thread each so
   many that the host can look up in between. */
enum { LAUNCH_SAMPLES = 1 << 23 };
uint64_t frame_cuda_launch_samples(const integrator *how, const kd_render_options *options);
/* Pixels of all tiles of 8 by 4 that cover a picture. */
uint64_t frame_cuda_tiled_pixels(int32_t width, int32_t height);
/* Rows of a launch that takes `count` samples of their pixels. */
int32_t frame_cuda_rows(int32_t width, int32_t height, uint32_t count, uint64_t launch_samples);

/* Takes the samples, waits, and adds to `counts` what was counted since the last call. If
   of->there->stopped, not all were taken. */
kd_status frame_cuda_take(const frame *of, const integrator *how, const sample_range *range,
                          sample_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
