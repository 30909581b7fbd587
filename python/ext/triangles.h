/* Python objects for triangle trees. */
#ifndef PYTHON_TRIANGLES_H
#define PYTHON_TRIANGLES_H
#include "python/ext/gate.h"
#include <kandela/triangles.h>

/* kd_triangles; freed after it is closed and no call or scene uses it. */
struct triangles_tree : closable<kd_triangles, kd_triangles_close> {
    using closable::closable;
};
typedef std::shared_ptr<kd_triangles> triangles_use;

/* From these counts on, a call on the CPU is long enough to be run in a worker thread. */
enum : uint64_t { LONG_RAYS = 1 << 14, LONG_POINTS = 256 };

/* Returns rays, (count, 8) float32: origin, tmin, direction, tmax. */
const kd_ray *rays_of(nb::handle object, array *keep, uint64_t *count);

#endif
