/* The frame loop: every sample of every pixel, by tiles on all cores, in passes over the picture so
   that a limit of time or an interruption leaves a whole one. It knows no integrator. */
#ifndef KD_RENDER_FRAME_FRAME_H
#define KD_RENDER_FRAME_FRAME_H
#include "render/frame/film.h"
#include "render/frame/frame_device.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* --- the steps of frame_run, for ranks that take them together (render/ranks) -------------------
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
