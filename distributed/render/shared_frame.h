/* A frame that several ranks take together, with the bits of one; and the choice that they make
 * together, of where photons are kept. */
#ifndef KD_DISTRIBUTED_RENDER_SHARED_FRAME_H
#define KD_DISTRIBUTED_RENDER_SHARED_FRAME_H
#include "distributed/ranks/ranks.h"
#include "render/frame/frame.h"
#include "render/options/render_options.h"

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

/* Whether ranks have all photons each, or each keeps those that it has traced: both show the same
   picture, so bytes and what the connection moves decide. */

#define RANK_MAPS_ID(id, name) RANK_MAPS_##id,
typedef enum rank_maps { RANK_MAPS_NAMES(RANK_MAPS_ID) RANK_MAPS } rank_maps;
#undef RANK_MAPS_ID

rank_maps rank_maps_find(const char *name); /* of a name that was checked before */
bool rank_maps_apart(const char *name);

/* What is known when it is chosen. */
typedef struct maps_choice {
    int32_t rank_count;       /* below 2: nothing is to be chosen */
    double bandwidth;         /* of the connection, bytes a second out of a rank; 0: not known */
    bool inexact;             /* a picture of other bits is allowed */
    bool on_devices;          /* each rank has a CUDA device */
    uint64_t sent[RANK_MAPS]; /* by a rank in all, photons whole and apart; 0: not possible */
    rank_maps chosen;
} maps_choice;

/* Of two that fit. On CPUs the whole maps, but where their bytes take a second and more, and four
   times as long as the others': photons apart are looked for by paths that every rank follows. On
   devices, where none is followed twice and each rank plants only its own photons, what sends
   less. */
rank_maps maps_choice_of(const maps_choice *of, bool whole_fits, bool apart_fits);

#endif
