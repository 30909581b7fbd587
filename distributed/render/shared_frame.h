/* Renders a frame on several ranks, with bit-identical results to one rank. */
#ifndef KD_DISTRIBUTED_RENDER_SHARED_FRAME_H
#define KD_DISTRIBUTED_RENDER_SHARED_FRAME_H
#include "distributed/ranks/ranks.h"
#include "render/frame/frame.h"
#include "scenes/describe/render_options.h"

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
kd_status shared_frame_check(ranks *comm, uint64_t identity);
/* Collective. Returns KD_INTERRUPTED on all ranks if it is the status of one; other errors are
   returned only on the rank that has them. */
kd_status shared_frame_agree(ranks *comm, kd_status status);
/* Distributes the saved state that rank 0 has read to all ranks. */
kd_status shared_frame_resume(ranks *comm, frame *frame, film *film);
/* Collective: executes frame_run on all ranks of frame->comm. Afterwards the film of rank 0 is
   complete; the keeper of rank 0 saves it at intervals. Returns KD_INTERRUPTED on all ranks if the
   job of one was cancelled. Fills `figures` (an entry per rank). */
kd_status shared_frame_run(frame *frame, const integrator *integrator, film *film,
                           rank_figures *figures);

/* Choice between replicated photon maps, in which each rank has all photons, and distributed ones,
   in which each rank keeps the photons that it has traced. Both give the same picture, so the
   choice depends on memory and on the amount of communication. */

#define RANK_MAPS_ID(id, name) RANK_MAPS_##id,
typedef enum rank_maps { RANK_MAPS_NAMES(RANK_MAPS_ID) RANK_MAPS } rank_maps;
#undef RANK_MAPS_ID

rank_maps rank_maps_find(const char *name); /* `name` must be valid */
bool rank_maps_distributed(const char *name);

/* The inputs of the choice, and its result. */
typedef struct maps_choice {
    int32_t rank_count;       /* number of ranks; below 2 no choice is made */
    double bandwidth;         /* bytes per second out of a rank; 0: unknown */
    bool inexact;             /* a picture with different bits is acceptable */
    bool on_devices;          /* each rank uses a CUDA device */
    uint64_t sent[RANK_MAPS]; /* bytes sent by each rank in total with either kind of map; 0: not
                                 possible */
    rank_maps chosen;
} maps_choice;

/* Chooses the kind that fits; if both fit: on CPUs replicated maps, unless sending them takes more
   than a second and more than four times as long as distributed maps need, because with distributed
   maps every rank follows all camera paths. On devices no path is followed twice and each rank
   builds only the tree of its own photons, so the kind that sends less is chosen. */
rank_maps maps_choice_of(const maps_choice *choice, bool whole_fits, bool distributed_fits);

#endif
