/* Messages about light that is missing from a picture. */
#ifndef KD_RENDER_API_OMISSIONS_H
#define KD_RENDER_API_OMISSIONS_H
#include "render/frame/integrator.h"

/* Logs one line for each kind of light that the scene has and the integrator cannot show
   (integrator.omits), and for a lamp that faces away from the scene and from the camera at `eye`.
 */
kd_status omissions_report(const scene_view *scene, const integrator *integrator, vec3 eye);

/* Logs a warning if the limits of the path length cut more than 0.5 % of the emitted power (of
   photons), or more than 1 % of the light of the part `crop` of the picture (integrators with
   a depth_probe); to be called while the scene has its trees. May return KD_ERROR_MEMORY. */
kd_status omissions_report_cut(const frame *frame, const int32_t crop[4]);

#endif
