/* Triangles parted into four alike, and these again: how parts are numbered, and what tiles are
   made of.
   Idea: of a triangle a, b, c the parts 0, 1, 2 lie at a, b and c, part 3 in the middle, its corners
         opposite to them. A part's number has two bits for each step, the first step's highest. */
#ifndef KD_PHOTON_DENSITY_TILE_PARTS_H
#define KD_PHOTON_DENSITY_TILE_PARTS_H
#include "core/status.h"
#include "shaders/scene_view.h"

enum { TILE_DEPTH_MOST = 8 };

/* A triangle that keeps photons. */
typedef struct tile_face {
    vec3 corner[3], normal; /* of its winding */
    float area;
    uint32_t triangle, first; /* of its parts in tile_parts.weights */
    uint8_t depth;            /* it has 4^depth of them */
} tile_face;

typedef struct tile_parts {
    tile_face *faces;
    float (*weights)[2]; /* of each part's front and back: tile.weight */
    uint32_t face_count, count;
} tile_parts;

/* Brings what light reaches, and how much of it, into the weights; parts are about squares of
   `size`, the model looks as far as `radius` (scene units). `there`: the scene on the current
   device, where rays are cast then; or NULL. */
kd_status tile_parts_reach(tile_parts *parts, const scene_view *scene, const scene_view *there,
                           float radius, float size);
uint64_t tile_parts_reach_bytes_most(uint64_t parts, uint64_t triangles);

static inline void tile_face_corners(const mesh_view *mesh, uint32_t triangle, vec3 out[3]) {
    for (uint32_t k = 0; k < 3; ++k)
        out[k] = mesh->positions[mesh->triangles[3 * (size_t)triangle + k]];
}

static inline float triangle_area(const vec3 corner[3]) {
    return 0.5f *
           vec3_length(vec3_cross(vec3_sub(corner[1], corner[0]), vec3_sub(corner[2], corner[0])));
}

/* Corners of one of the four parts. */
KD_FN void tile_part_of(const vec3 corner[3], uint32_t child, vec3 out[3]) {
    for (uint32_t k = 0; k < 3; ++k) {
        const vec3 a = child < 3 ? corner[child] : corner[(k + 1) % 3];
        const vec3 b = child < 3 ? corner[k] : corner[(k + 2) % 3];
        out[k] = vec3_add(vec3_scale(a, 0.5f), vec3_scale(b, 0.5f));
    }
}

/* Corners of a part by u, v: as if the triangle were (0, 0), (1, 0), (0, 1). */
KD_FN void tile_part_corners(uint32_t depth, uint32_t part, vec2 out[3]) {
    vec3 corner[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    for (uint32_t step = depth; step-- > 0;) {
        vec3 next[3];
        tile_part_of(corner, part >> 2 * step & 3u, next);
        memcpy(corner, next, sizeof corner);
    }
    for (int k = 0; k < 3; ++k) out[k] = vec2_make(corner[k].x, corner[k].y);
}

/* The part that holds the place u, v (weights of the corners b and c). */
KD_FN uint32_t tile_part_at(uint32_t depth, float u, float v) {
    uint32_t part = 0;
    for (uint32_t step = 0; step < depth; ++step) {
        const float w = 1 - u - v;
        uint32_t child = 3;
        if (w >= 0.5f)
            child = 0;
        else if (u >= 0.5f)
            child = 1;
        else if (v >= 0.5f)
            child = 2;
        u = child == 3 ? 1 - 2 * u : 2 * u - (child == 1);
        v = child == 3 ? 1 - 2 * v : 2 * v - (child == 2);
        part = part << 2 | child;
    }
    return part;
}

#endif
