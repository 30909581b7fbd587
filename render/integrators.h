/* The table of integrators: a new one is a file that ends with its row, integrator_NAME, and its
   NAME in the list. */
#ifndef KD_RENDER_INTEGRATORS_H
#define KD_RENDER_INTEGRATORS_H
#include "render/frame/integrator.h"

#define INTEGRATOR_ROWS(ROW)                                                                       \
    ROW(path) ROW(direct) ROW(photon) ROW(sppm) ROW(ppm) ROW(light) ROW(whitted) ROW(ao) ROW(debug)

#define INTEGRATOR_DECLARE(name) extern const integrator integrator_##name;
INTEGRATOR_ROWS(INTEGRATOR_DECLARE)
#undef INTEGRATOR_DECLARE

extern const integrator *const integrators[];        /* ends with NULL */
const integrator *integrator_find(const char *name); /* NULL: there is none */

#endif
