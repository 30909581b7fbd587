/* The table of integrators, by the names of render/options/render_options.h. */
#ifndef KD_RENDER_INTEGRATORS_INTEGRATORS_H
#define KD_RENDER_INTEGRATORS_INTEGRATORS_H
#include "core/device/device.h"
#include "render/frame/integrator.h"
#include "render/options/render_options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INTEGRATOR_DECLARE(name) extern const integrator integrator_##name;
INTEGRATOR_ROWS(INTEGRATOR_DECLARE)
#undef INTEGRATOR_DECLARE

extern const integrator *const *integrators;         /* ends with NULL */
const integrator *integrator_find(const char *name); /* NULL: there is none */

/* How integrators take samples on a CUDA device: each in the .cu file of its name. A row names its
   launch by KD_IF_CUDA, so that nothing of this is looked for in a build without CUDA. */

kd_status path_launch(const frame *of, const struct sample_range *range);
kd_status whitted_launch(const frame *of, const struct sample_range *range);
kd_status ambient_launch(const frame *of, const struct sample_range *range);
/* The same of scenes in which something is placed: a thread takes a pixel's samples. */
kd_status whitted_launch_placed(const frame *of, const struct sample_range *range);
kd_status ambient_launch_placed(const frame *of, const struct sample_range *range);
kd_status light_launch(const frame *of, const struct sample_range *range);
kd_status debug_launch(const frame *of, const struct sample_range *range);

#ifdef __cplusplus
}
#endif

#endif
