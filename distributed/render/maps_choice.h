/* Whether ranks have all photons each, or each keeps those that it has traced: both show the same
   picture, so bytes and what the connection moves decide. */
#ifndef KD_DISTRIBUTED_RENDER_MAPS_CHOICE_H
#define KD_DISTRIBUTED_RENDER_MAPS_CHOICE_H
#include "distributed/ranks/ranks.h"
#include "render/options/render_options.h"

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
