/* The techniques of vcm that are on, and the light that they cannot find. */
#ifndef KD_RENDER_INTEGRATORS_VCM_TECHNIQUES_H
#define KD_RENDER_INTEGRATORS_VCM_TECHNIQUES_H
#include "render/integrators/vcm.h"

/* Returns true if some surface passes or mirrors light, so that paths may merge. */
bool vcm_scene_has_lenses(const scene_view *scene);

/* Turns on those of `techniques` (TECHNIQUE_EYE, ...) that can find light in the scene, and warns
   of light that they cannot find. `lenses`: vcm_scene_has_lenses. */
void vcm_set_techniques(vcm_view *view, int32_t techniques, const scene_view *scene, bool lenses);

#endif
