/* The frame loop: every sample of every pixel, by tiles on all cores, in passes over the picture so
   that a limit of time or an interruption leaves a whole one. It knows no integrator. */
#ifndef KD_RENDER_FRAME_FRAME_H
#define KD_RENDER_FRAME_FRAME_H
#include "render/frame/film.h"

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

#ifdef __cplusplus
}
#endif

#endif
