/* A frame that several ranks take together, with the bits of one; and the choice that they make
 * together, of where photons are kept. */
#ifndef KD_DISTRIBUTED_RENDER_SHARED_FRAME_H
#define KD_DISTRIBUTED_RENDER_SHARED_FRAME_H
#include "distributed/ranks/ranks.h"
#include "render/frame/frame.h"

/* What a rank did, for the figures. */
typedef struct rank_figures {
    char device[128];
    double seconds; /* of its samples and photons: of the frame, without what it waited */
    double waited;
    uint64_t sent; /* bytes */
    uint64_t rows; /* of the film, counted in every pass */
} rank_figures;

/* KD_ERROR_INPUT, on every rank, if ranks have different scenes, options or programs. */
kd_status shared_frame_check(ranks *among, uint64_t identity);
/* KD_INTERRUPTED on all ranks if it is the status of one; errors stay with their rank. */
kd_status shared_frame_agree(ranks *among, kd_status status);
/* What rank 0 has read of a state becomes all ranks'. */
kd_status shared_frame_resume(ranks *among, frame *of, film *to);
/* frame_run by all ranks of of->among, which all call it; rank 0's film is whole in the end, and
   its keeper saves on the way. KD_INTERRUPTED on all if a rank's job was cancelled. `figures` (of
   size ranks) are filled on rank 0. */
kd_status shared_frame_run(frame *of, const integrator *how, film *to, rank_figures *figures);

#endif
