/* The frame loop: every sample of every pixel, by tiles on all cores, in passes over the picture so
   that a limit of time or an interruption leaves a whole one. It knows no integrator. */
#ifndef KD_RENDER_FRAME_FRAME_H
#define KD_RENDER_FRAME_FRAME_H
#include "accel/rays/tree_device.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "render/frame/film.h"
#include "scenes/assembly/scene_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A frame on a CUDA device: tree, scene and film in its memory, and the launches that take samples
   there. Without CUDA in the build opening is KD_ERROR_DEVICE. */

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

/* Runs the stage "render" of of->watched, from the samples on that the film has. Adds rays and
   samples that are no numbers to of->statistics. KD_INTERRUPTED if the job was cancelled; a limit
   of time (of->deadline, or the job's) ends early with KD_OK, after one sample per pixel at
   least, and before samples of maps that it cut short would mix with others (of->maps_cut); so does
   options->target_error (film_error), looked at between passes from the fourth sample on: a
   function of the film, so that a resumed frame ends where a whole one does. The film's sums are
   the same bits for any number of threads, and on a CUDA device (of->there), from which the film
   has come back at the end. */
kd_status frame_run(frame *of, const integrator *how, film *to);
bool frame_is_overdue(const frame *of);
/* Whether no more samples behind number `begin` are to be begun: the job is cancelled or, but for a
   first sample of each pixel, the time is up. */
bool frame_is_over(const frame *of, uint32_t begin);
/* Whether a launch that can end early is to do so: that, or the keeper waits for a film. */
bool frame_is_waited_for(const frame *of, uint32_t begin);

/* --- the steps of frame_run, for ranks that take them together (distributed/render) ---
 */

/* Samples [begin, begin + count) of all pixels. */
typedef struct frame_pass {
    uint32_t samples; /* of the whole frame */
    uint32_t begin, count;
    uint32_t batch; /* whose maps are there; UINT32_MAX: none */
} frame_pass;

/* Samples of the pass that begins at pass->begin: 1, 1, 2, 4, 8, 16, 16, ... or, where nobody looks
   at the frame between passes, up to `unseen`; of one batch. */
uint32_t frame_pass_count(const frame *of, const frame_pass *pass, uint32_t unseen);
/* Whether a frame may end, or be looked at, before all samples are taken but by an interruption. */
bool frame_is_awaited(const frame *of);
/* Whether somebody wants to see the film between passes. */
bool frame_is_looked_at(const frame *of);
/* What has to be made before the samples of a pass are taken. */
kd_status frame_pass_prepare(frame *of, const film *to, frame_pass *pass);
/* Between passes, where all pixels have equally many samples. */
bool frame_is_on_target(const frame *of, const frame_pass *pass, const film *to);
/* The pass's samples of the film's rows [top, bottom): those that a pixel does not have yet; on a
   CUDA device of the film that lies there. Ends early if the frame is over. Adds to `counts`. */
kd_status frame_take_rows(frame *of, film *to, const frame_pass *pass, int32_t top, int32_t bottom,
                          sample_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
