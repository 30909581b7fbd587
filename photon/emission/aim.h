/* What caustic photons are aimed at: spheres around all surfaces that pass light on like lenses. */
#ifndef KD_PHOTON_EMISSION_AIM_H
#define KD_PHOTON_EMISSION_AIM_H
#include "core/status.h"
#include "shaders/light_emit.h"

/* Fills at most EMISSION_TARGETS spheres that hold all lenses; *count is 0 if there are none. */
kd_status aim_targets(emission_target *targets, uint32_t *count, const scene_view *scene);

#endif
