/* The table of integrators, by the names of render/options/names.h. */
#ifndef KD_RENDER_INTEGRATORS_H
#define KD_RENDER_INTEGRATORS_H
#include "render/frame/integrator.h"
#include "render/options/names.h"

#define INTEGRATOR_DECLARE(name) extern const integrator integrator_##name;
INTEGRATOR_ROWS(INTEGRATOR_DECLARE)
#undef INTEGRATOR_DECLARE

extern const integrator *const *integrators;         /* ends with NULL */
const integrator *integrator_find(const char *name); /* NULL: there is none */

#endif
