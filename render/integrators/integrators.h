/* The table of integrators, in the order of INTEGRATOR_ROWS in scenes/describe/render_options.h. */
#ifndef KD_RENDER_INTEGRATORS_INTEGRATORS_H
#define KD_RENDER_INTEGRATORS_INTEGRATORS_H
#include "core/device/device.h"
#include "render/frame/integrator.h"
#include "scenes/describe/render_options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INTEGRATOR_DECLARE(name) extern const integrator integrator_##name;
INTEGRATOR_ROWS(INTEGRATOR_DECLARE)
#undef INTEGRATOR_DECLARE

extern const integrator *const *integrators; /* terminated by NULL */
/* NULL if no integrator has that name. "auto", which render_resolve_integrator replaces once the
   scene is known, is `path`. */
const integrator *integrator_find(const char *name);

/* Launches on a CUDA device (integrator.launch), defined in the .cu files of this directory. A row
   refers to its launch through KD_IF_CUDA, so a build without CUDA needs none of them. */

kd_status path_launch(const frame *frame, const struct sample_range *range);
kd_status whitted_launch(const frame *frame, const struct sample_range *range);
kd_status ambient_launch(const frame *frame, const struct sample_range *range);
/* Variants for scenes with instances, with one thread per pixel. */
kd_status whitted_launch_instanced(const frame *frame, const struct sample_range *range);
kd_status ambient_launch_instanced(const frame *frame, const struct sample_range *range);
kd_status vcm_launch(const frame *frame, const struct sample_range *range);
kd_status debug_launch(const frame *frame, const struct sample_range *range);

#ifdef __cplusplus
}
#endif

#endif
