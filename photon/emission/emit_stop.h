/* When emission gives up: the light that it looks for is too faint to be seen.
   Idea: of a list's paths, EMIT_PATHS_IN_VAIN at a time, so many photons at least must have landed.
         For caustics that are EMIT_FAINT_CAUSTICS: where fewer land, all their flux is below one
         part in 4096 of the light that was aimed at lenses, itself a part of the picture's, and
         what more paths would add to the map is less than that. */
#ifndef KD_PHOTON_EMISSION_EMIT_STOP_H
#define KD_PHOTON_EMISSION_EMIT_STOP_H
#include "photon/emission/emit.h"

enum { EMIT_FAINT_CAUSTICS = EMIT_PATHS_IN_VAIN / 4096 };

/* Photons that must have landed of EMIT_PATHS_IN_VAIN paths. */
static inline uint64_t emit_least_landed(const photon_order *order) {
    return order->wish.only_specular ? EMIT_FAINT_CAUSTICS : 1;
}

#endif
