/* The techniques of vcm that are on, and the light that they cannot find. */
#ifndef KD_RENDER_INTEGRATORS_VCM_TECHNIQUES_H
#define KD_RENDER_INTEGRATORS_VCM_TECHNIQUES_H
#include "render/frame/frame.h"
#include "render/integrators/vcm.h"

/* Returns true if some surface passes or mirrors light, so that paths may merge. */
bool vcm_scene_has_lenses(const scene_view *scene);

bool vcm_scene_disperses(const scene_view *scene);

/* Warns of light that these techniques (TECHNIQUE_EYE, ...) cannot find, and if none of those that
   are shown is on. */
void vcm_report_techniques(int32_t techniques, int32_t shown, const scene_view *scene);

/* Turns on those of the techniques that can find light in the scene. `shown`: those whose shares
   make up the picture. */
void vcm_set_techniques(vcm_view *view, int32_t techniques, int32_t shown, const scene_view *scene);

/* Computes the spheres at which light paths are aimed: those of aim_targets. *count is 0 if there
   are none. It is also 0 for the technique splat alone if many unaimed paths meet them: aiming then
   takes time and hardly reduces the error of the image. */
kd_status vcm_aim(emission_target *targets, uint32_t *count, const vcm_view *view,
                  const scene_view *scene);

/* Finds openings between the lights and what the camera sees (vcm_guide.c), sets view->guide, and
   appends spheres that cover them to `aims`, which has room for EMISSION_TARGETS. Changes
   view->emission. */
kd_status vcm_guide_find(vcm_view *view, emission_target aims[EMISSION_TARGETS],
                         uint32_t *aim_count, const frame *frame);
/* Aims the view's emission. */
void vcm_aim_emission(vcm_view *view, const emission_target *aims, uint32_t count);

#endif
