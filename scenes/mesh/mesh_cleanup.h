/* From what a file holds to a sound mesh: polygons are cut into triangles, vertices at equal places
   become one, and what cannot be used is removed, so that every index is in range and every number
   finite. */
#ifndef KD_SCENES_MESH_MESH_CLEANUP_H
#define KD_SCENES_MESH_MESH_CLEANUP_H
#include "core/math/geometry.h"
#include "core/status.h"
#include "scenes/mesh/mesh.h"
#include <stdbool.h>

/* Cuts the polygon of `count` >= 3 corners (all finite) into exactly count - 2 triangles with its
   winding: 3 corner numbers each, into `triangles`. A simple planar polygon, concave or not, is
   covered without a gap or an overlap; any other input still yields count - 2 triangles. A polygon
   that its first corner sees whole becomes the fan around it. KD_ERROR_MEMORY. */
kd_status polygon_triangulate(const vec3 *corners, uint32_t count, uint32_t *triangles);

/* numbers[i] = the number of places[i], counted in the order in which places first occur; 0 and -0
   are the same. *kept = a new array (memory_free) of one place a number, as it first occurs, and
   *kept_count how many there are. Below 2^32 - 1 places. Work: O(count), on all cores; the result
   does not depend on their number. KD_ERROR_MEMORY. */
kd_status weld_places(const vec3 *places, uint64_t count, uint32_t *numbers, vec3 **kept,
                      uint32_t *kept_count);

/* What a reader met on the way. */
typedef struct mesh_faults {
    bool unusable;                     /* triangles whose corners are KD_NONE */
    bool position, normal, texcoord;   /* NaN or infinite; a normal without a direction (zeros) */
    bool uses_normals, uses_texcoords; /* some corner has one; else their indices are dropped */
} mesh_faults;

/* Takes out triangles without sound corners, and references to numbers that are not finite. `lines`
   (one a triangle) goes along; may be NULL. */
void mesh_squeeze(mesh *into, uint32_t *lines, const mesh_faults *faults);

#endif
