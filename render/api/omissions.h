/* Messages about light that is missing from a picture. */
#ifndef KD_RENDER_API_OMISSIONS_H
#define KD_RENDER_API_OMISSIONS_H
#include "render/frame/integrator.h"

/* Logs one line for each kind of light that the scene has and the integrator cannot show
   (integrator.omits). */
void omissions_report(const scene_view *scene, const integrator *integrator);

/* Logs a warning if the limits of the path length cut more than 0.5 % of the emitted power. */
void omissions_report_cut(const frame_statistics *statistics, const kd_render_options *options);

#endif
