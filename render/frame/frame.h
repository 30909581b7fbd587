/* The frame loop: takes every sample of every pixel, by tiles on all cores or on a CUDA device, in
   passes over the image, so that a time limit or an interruption leaves a complete image.
   Independent of the integrators. */
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

/* --- a frame on a CUDA device -------------------------------------------------------------------
   Tree, scene and film in device memory, and the launches that take samples. Without CUDA in the
   build, frame_cuda_open fails with KD_ERROR_DEVICE. */

/* Sums over samples, in device memory or on the host. */
typedef struct sample_counts {
    uint64_t rays, nan_samples;
} sample_counts;

typedef struct frame_cuda {
    tritree_cuda tree;
    scene_cuda scene;
    film_pixel *pixels; /* the film's pixels, row by row */
    sample_counts *counts;
    device_buffer work; /* scratch memory of wavefront launches */
    bool stopped;     /* the last launch left out samples because the keeper or a limit requires the
                         film */
    int32_t previous; /* the thread's device before frame_cuda_open, restored by frame_cuda_close */
    bool entered;
} frame_cuda;

/* Makes the device the thread's current one until frame_cuda_close. */
kd_status frame_cuda_open(frame_cuda *out, const device *device);
/* Builds the tree on the device by the builder `builder` of tritree_builders_cuda, or copies
   `host_tree` to it if that is not NULL; then copies the scene. If `built` is not NULL, it receives
   a copy of the tree in host memory. */
kd_status frame_cuda_place_scene(frame_cuda *device_frame, const scene_view *host,
                                 const tritree *host_tree, const tritree_options *options,
                                 const char *builder, tritree *built);
/* Converts the tree, and the scene's view of it, to compressed wide nodes, which batches of rays
   traverse. Does nothing if they have been converted before. */
kd_status frame_cuda_pack(frame_cuda *device_frame);
/* Frees scene and tree; either may be missing. */
void frame_cuda_remove_scene(frame_cuda *device_frame);
/* Copy the film's sums to the device, if it has samples, and back. */
kd_status frame_cuda_place_film(frame_cuda *device_frame, const film *film);
kd_status frame_cuda_fetch_film(const frame_cuda *device_frame, film *film);
/* The same for the rows [top, bottom). */
kd_status frame_cuda_place_rows(frame_cuda *device_frame, const film *film, int32_t top,
                                int32_t bottom);
kd_status frame_cuda_fetch_rows(const frame_cuda *device_frame, film *film, int32_t top,
                                int32_t bottom);
void frame_cuda_close(frame_cuda *owned); /* `owned` may be zeroed */

/* Samples [begin, begin + count) of the pixels in the film's rows [top, bottom). Samples that a
   pixel already has are skipped. */
typedef struct sample_range {
    int32_t x0, y0, width; /* position and width of the film within the full image */
    int32_t top, bottom;
    uint32_t begin, count;
} sample_range;

/* Maximum number of samples of a launch with one thread per pixel; bounds the time until the host
   can check for cancellation. frame_cuda_launch_samples returns the limit of an integrator. */
enum { LAUNCH_SAMPLES = 1 << 23 };
uint64_t frame_cuda_launch_samples(const integrator *integrator, const kd_render_options *options);
/* Number of pixels of all 8 x 4 tiles that cover an image. */
uint64_t frame_cuda_tiled_pixels(int32_t width, int32_t height);
/* Number of rows of a launch that takes `count` samples per pixel. */
int32_t frame_cuda_rows(int32_t width, int32_t height, uint32_t count, uint64_t launch_samples);

/* Takes the samples, waits for completion, and adds rays and discarded samples to `counts`. If
   frame->device_frame->stopped is set afterwards, some samples were left out. */
kd_status frame_cuda_take(const frame *frame, const integrator *integrator,
                          const sample_range *range, sample_counts *counts);

/* Runs the stage "render" of frame->job, starting with the first sample that the film does not
   have. Adds rays and non-finite samples to frame->statistics. Returns KD_INTERRUPTED if the job
   was cancelled. Returns KD_OK early
   - at a time limit (frame->deadline, or that of the job), but not before every pixel has one
     sample;
   - before the film would mix samples of photon maps that the time limit truncated with others
     (frame->maps_cut);
   - when film_error has reached options->target_error. It is tested after 2^k and 3 x 2^(k-1)
     samples, from the 16th on, and after the last; it depends on the film only, so a resumed frame
     ends at the same sample.
   The film's sums have the same bits for any number of threads, and on a CUDA device
   (frame->device_frame); they are copied back to `film` at the end. */
kd_status frame_run(frame *frame, const integrator *integrator, film *film);
bool frame_is_overdue(const frame *frame);
/* Returns true if no samples beyond number `begin` may be started: the job is cancelled or, unless
   begin is 0, the time is up. */
bool frame_is_over(const frame *frame, uint32_t begin);
/* Returns true if a launch should end early: frame_is_over, or the keeper is due. */
bool frame_is_waited_for(const frame *frame, uint32_t begin);

/* --- the steps of frame_run, for ranks that render together (distributed/render) -------------- */

/* Samples [begin, begin + count) of all pixels. */
typedef struct frame_pass {
    uint32_t samples; /* samples per pixel of the whole frame */
    uint32_t begin, count;
    uint32_t batch; /* batch of the current maps; UINT32_MAX: none */
} frame_pass;

/* Number of samples per pixel of the pass that begins at pass->begin: 1, 1, 2, 4, 8, 16, 16, ...,
   or up to `samples_left` samples at once if the film is not inspected between passes. A pass does
   not extend beyond a batch. */
uint32_t frame_pass_count(const frame *frame, const frame_pass *pass, uint32_t samples_left);
/* Returns true if the frame may end or be inspected before all samples are taken, not counting
   cancellation. */
bool frame_is_awaited(const frame *frame);
/* Returns true if the film is inspected between passes. */
bool frame_is_viewed(const frame *frame);
/* Prepares what the samples of a pass need: the integrator's pass or the maps of a batch. */
kd_status frame_pass_prepare(frame *frame, const film *film, frame_pass *pass);
/* Returns true if the target error is reached. Call between passes, when all pixels have equally
   many samples. */
bool frame_is_on_target(const frame *frame, const frame_pass *pass, const film *film);
/* Takes the samples of a pass for the film's rows [top, bottom), skipping those that a pixel
   already has; on a CUDA device, into the film in device memory. Ends early if the frame is over.
   Adds to `counts`. */
kd_status frame_take_rows(frame *frame, film *film, const frame_pass *pass, int32_t top,
                          int32_t bottom, sample_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
