/* Cleans up meshes after reading: triangulates polygons, merges vertices at equal positions, and
   removes unusable data, so that every index is in range and every number finite. */
#ifndef KD_SCENES_MESH_MESH_CLEANUP_H
#define KD_SCENES_MESH_MESH_CLEANUP_H
#include "core/math/geometry.h"
#include "core/status.h"
#include "scenes/mesh/mesh.h"
#include <stdbool.h>

/* Triangulates a polygon of `count` >= 3 finite corners into exactly count - 2 triangles with the
   polygon's winding, and writes 3 corner numbers each to `triangles`. A simple planar polygon,
   concave or not, is covered without gaps or overlaps; any other input still yields count - 2
   triangles. If all of the polygon is visible from its first corner, the result is the fan around
   that corner. May return KD_ERROR_MEMORY. */
kd_status polygon_triangulate(const vec3 *corners, uint32_t count, uint32_t *triangles);

/* Merges equal positions: sets numbers[i] to the number of places[i], numbered in order of first
   occurrence; 0 and -0 are equal. Sets *kept to a new array of the distinct positions (freed by
   memory_free) and *kept_count to their count. `count` must be below 2^32 - 1. Work: O(count),
   parallel; the result does not depend on the number of threads. May return KD_ERROR_MEMORY. */
kd_status weld_places(const vec3 *places, uint64_t count, uint32_t *numbers, vec3 **kept,
                      uint32_t *kept_count);

/* Kinds of faults that a reader found. */
typedef struct mesh_faults {
    bool unusable;                   /* some triangles have corners KD_NONE */
    bool position, normal, texcoord; /* some values are not finite, or a normal has length 0 */
    /* some corner has one; otherwise the index array is dropped */
    bool uses_normals, uses_texcoords;
} mesh_faults;

/* Removes unusable triangles and references to numbers that are not finite. `lines` (one per
   triangle, or NULL) is compacted along. */
void mesh_compact(mesh *mesh, uint32_t *lines, const mesh_faults *faults);

#endif
