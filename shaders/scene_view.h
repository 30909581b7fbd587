/* The whole scene as per-item functions see it: plain pointers and counts, borrowed from a scene
   (scenes/assembly/scene.h) and a tree (accel/tree/tritree.h). One mesh in world space, and meshes
   in spaces of their own with the places that they are put at (accel/placed/placed.h); methods that
   do not look at `placed` are given scenes in which each placement has become a copy. */
#ifndef KD_SHADERS_SCENE_VIEW_H
#define KD_SHADERS_SCENE_VIEW_H
#include "accel/placed/placed.h"
#include "accel/tree/layout.h"
#include "shaders/camera.h"
#include "shaders/light.h"
#include "shaders/material.h"
#include "shaders/texture.h"

typedef struct mesh_view {
    const vec3 *positions;
    const vec3 *normals;          /* unit; may be NULL if normal_count is 0 */
    const vec2 *texcoords;        /* may be NULL if texcoord_count is 0 */
    const float *colours;         /* 4 beside each texcoord, linear: factors of diffuse and opacity;
                                     NULL: none has any */
    const vec2 *texcoords_second; /* one beside each texcoord; NULL: no image lies by them */
    const float *tangents; /* 4 beside each normal: unit, where u grows, and the sign of what is
                              across it; zeros: none; NULL: none has any */
    /* 3 per triangle */
    const uint32_t *triangles;          /* into positions, always in range */
    const uint32_t *normal_indices;     /* KD_NONE: geometric normal; NULL: none has any */
    const uint32_t *texcoord_indices;   /* KD_NONE: none; NULL: none has any */
    const uint32_t *triangle_materials; /* 1 per triangle */
    uint32_t position_count, normal_count, texcoord_count, triangle_count;
    uint32_t stored_count; /* of triangles: those of placed meshes are behind the others */
} mesh_view;

typedef struct scene_view {
    mesh_view mesh;
    tritree_view tree;
    placed_view placed;
    const material *materials;
    const principled *layers; /* one of each material; NULL if none is principled */
    const texture_view *textures;
    const light *lights;
    const float *light_cdf; /* light_count + 1, 0..1, by power */
    const uint32_t
        *triangle_lights; /* light of each triangle or KD_NONE; NULL if no triangle emits */
    uint32_t material_count, texture_count, light_count;
    environment_view environment;
    box3 box;          /* of the mesh */
    float total_power; /* W, sum of the lights' power */
    const medium *media;
    uint32_t medium_count;
    uint32_t fog; /* the medium of all space between closed meshes, as far as the environment's
                     sphere; from medium_count on: none */
} scene_view;

#endif
