#include "render/integrators.h"

#define INTEGRATOR_ROW(name) &integrator_##name,
extern const integrator *const integrators_rows[];
const integrator *const integrators_rows[] = {INTEGRATOR_ROWS(INTEGRATOR_ROW) NULL};

const integrator *integrator_find(const char *name) {
    for (const integrator *const *row = integrators; *row; ++row)
        if (strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}
