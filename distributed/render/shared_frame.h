/* Renders a frame on several ranks, with bit-identical results to one rank. */
#ifndef KD_DISTRIBUTED_RENDER_SHARED_FRAME_H
#define KD_DISTRIBUTED_RENDER_SHARED_FRAME_H
#include "distributed/ranks/ranks.h"
#include "render/frame/frame.h"

/* Statistics of a rank. */
typedef struct rank_figures {
    char device[128];
    double seconds; /* work on samples and photons during the frame, without waiting */
    double waited;
    uint64_t sent; /* bytes sent */
    uint64_t rows; /* rows rendered, summed over passes */
} rank_figures;

/* Collective. Returns KD_ERROR_INPUT on every rank if ranks differ in scene, options or program
   (`identity` is a hash of these). */
kd_status shared_frame_check(ranks *among, uint64_t identity);
/* Collective. Returns KD_INTERRUPTED on all ranks if it is the status of one; other errors are
   returned only on the rank that has them. */
kd_status shared_frame_agree(ranks *among, kd_status status);
/* Distributes the saved state that rank 0 has read to all ranks. */
kd_status shared_frame_resume(ranks *among, frame *of, film *to);
/* frame_run on all ranks of of->among, collectively. Afterwards the film of rank 0 is complete; its
   keeper saves it at intervals. Returns KD_INTERRUPTED on all ranks if the job of one was
   cancelled. Fills `figures` (an entry per rank). */
kd_status shared_frame_run(frame *of, const integrator *how, film *to, rank_figures *figures);

#endif
