/* Polygons into triangles. */
#ifndef KD_SCENES_MESH_POLYGON_H
#define KD_SCENES_MESH_POLYGON_H
#include "core/math/geometry.h"
#include "core/status.h"

/* Cuts the polygon of `count` >= 3 corners (all finite) into exactly count - 2 triangles with its
   winding: 3 corner numbers each, into `triangles`. A simple planar polygon, concave or not, is
   covered without a gap or an overlap; any other input still yields count - 2 triangles. A polygon
   that its first corner sees whole becomes the fan around it. KD_ERROR_MEMORY. */
kd_status polygon_triangulate(const vec3 *corners, uint32_t count, uint32_t *triangles);

#endif
