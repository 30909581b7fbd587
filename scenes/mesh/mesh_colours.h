/* Colours of vertices and triangles: decodes the numbers of a file and stores them in mesh.colours,
   which has one entry per texture coordinate. */
#ifndef KD_SCENES_MESH_MESH_COLOURS_H
#define KD_SCENES_MESH_MESH_COLOURS_H
#include "core/math/geometry.h"
#include "core/status.h"
#include "scenes/mesh/mesh.h"
#include <stdbool.h>

/* How a file encodes colours: `white` is the number of a full channel. */
typedef struct colour_code {
    float white;
    bool is_linear; /* else sRGB */
} colour_code;

/* Returns the largest number of `count` colours; 0 if there is none. */
float colours_largest(const vec3 *colours, uint64_t count);

/* Returns the code of colours stored as real numbers: 0 to 255 in sRGB if one of them is above 2,
   which only bytes are, else 0 to 1, linear if `is_linear`. */
colour_code colour_code_of_reals(const vec3 *colours, uint64_t count, bool is_linear);

/* Converts colours in place to linear ones, clamped to 0..1. NaN in x means that there is no
   colour, and stays. Parallel; the same bits on every machine. */
void colours_decode(vec3 *colours, uint64_t count, colour_code code);

/* Sets the colours of a mesh without colours: vertices[i] at position i, interpolated over the
   triangles; no colour is white. Corners without texture coordinate get (0, 0). Adds texture
   coordinates where vertices of different colours share one. Every corner must be in range. Work:
   O(corners). May return KD_ERROR_MEMORY, or KD_ERROR_INPUT for more than 2^32 - 2 texture
   coordinates. */
kd_status mesh_colour_vertices(mesh *mesh, const vec3 *vertices);

/* The same with one colour for each triangle. Unusable triangles may be present. */
kd_status mesh_colour_triangles(mesh *mesh, const vec3 *triangles);

/* The same with a colour for each corner, three per triangle. */
kd_status mesh_colour_corners(mesh *mesh, const vec3 *corners);

/* Adds a white diffuse material after the last one, for triangles with colours: the default one is
   grey. Its name is "coloured", or the first unused of "coloured-2", and so on. */
kd_status mesh_add_white(mesh *mesh);

#endif
