/* Lights, cameras, and a view of the whole scene for shading functions: plain pointers and counts,
   borrowed from a scene (scenes/assembly/scene.h) and a tree (accel/tree/tritree.h). There is one
   mesh in world space, and meshes in object space with instances (accel/instances.h). Methods that
   do not support instances get scenes in which each instance has been replaced by a copy. */
#ifndef KD_SHADERS_SCENE_VIEW_H
#define KD_SHADERS_SCENE_VIEW_H
#include "accel/instances.h"
#include "accel/tree/layout.h"
#include "core/math/geometry.h"
#include "core/math/rng.h"
#include "core/math/sampling.h"
#include "shaders/light_tree.h"
#include "shaders/material.h"
#include "shaders/texture.h"

/* Kinds of lights. Each emitting triangle is a separate light. */

typedef enum light_kind {
    LIGHT_TRIANGLE = 0,
    LIGHT_POINT = 1,
    LIGHT_SPOT = 2,
    LIGHT_DIRECTIONAL = 3,
    LIGHT_ENVIRONMENT = 4
} light_kind;

typedef struct KD_ALIGNED_16 light {
    int32_t kind;      /* light_kind */
    uint32_t triangle; /* LIGHT_TRIANGLE: its id */
    vec3 position;     /* point, spot; triangle: its centre (light_on_triangle) */
    /* spot, directional: unit, in the direction of emission; triangle: its normal */
    vec3 direction;
    /* triangle: radiance, W/(sr m^2), times its emission map
       point, spot (on the axis): radiant intensity, W/sr
       directional: irradiance perpendicular to the beam, W/m^2
       environment: radiance, W/(sr m^2), times its map */
    vec3 emitted;
    /* spot: full intensity inside, smooth falloff to zero outside; triangle: see light_beam */
    float cos_inner, cos_outer;
    /* triangle: m^2 (one side); directional: 1 - cosine of the angular radius of its disc, 0: none
     */
    float area;
    uint32_t two_sided; /* triangle; directional: the camera does not see the disc directly */
    float power; /* W emitted into the scene, mean of the three channels; used for sampling */
} light;

/* Returns true for a light at infinity. */
KD_FN bool light_is_far(const light *lamp) {
    return lamp->kind == LIGHT_DIRECTIONAL || lamp->kind == LIGHT_ENVIRONMENT;
}

/* Returns a spot's relative intensity from the cosine between its axis and a direction: 1 inside,
   then a smoothstep in the cosine down to 0. The integral over directions is pi (2 - cos_inner -
   cos_outer), so power = pi (2 - cos_inner - cos_outer) x mean intensity. */
KD_FN float light_spot_falloff(const light *spot, float cosine) {
    if (cosine >= spot->cos_inner) return 1;
    if (!(cosine > spot->cos_outer)) return 0;
    const float t = (cosine - spot->cos_outer) / (spot->cos_inner - spot->cos_outer);
    return t * t * (3 - 2 * t);
}

/* Returns the radiance of an emitting triangle relative to `emitted`, from the cosine between its
   normal and a direction.
   cos_outer 0: 1, in all directions. Else 0 outside the cone, and inside:
   cos_inner > cos_outer: that of a lamp whose intensity is a spot's, light_spot_falloff / cosine;
   cos_inner = cos_outer: the fraction that a grid of deep cells in front of it lets pass, as of a
   studio's soft box: 1 - tangent / tangent of the cone. */
KD_FN float light_beam(const light *lamp, float cosine) {
    const float outer = lamp->cos_outer;
    if (!(outer > 0)) return 1;
    if (!(cosine > outer)) return 0;
    if (lamp->cos_inner > outer) return light_spot_falloff(lamp, cosine) / cosine;
    const float across = float_max(1 - cosine * cosine, 0) / (1 - outer * outer);
    return float_max(1 - sqrtf(across) * (outer / cosine), 0);
}

/* Light from infinity in all directions: constant, or a latitude-longitude image (y is up, the
   image's centre is towards -z) with its sampling tables. */
typedef struct environment_view {
    uint32_t light;          /* index of its light, or KD_NONE */
    uint32_t texture;        /* index of its image; KD_NONE: constant */
    float rotation;          /* radians about y */
    int32_t width, height;   /* size of the sampling tables */
    const float *row_cdf;    /* height + 1, 0..1: marginal over rows, weighted by sin(theta) */
    const float *column_cdf; /* height x (width + 1): conditional in each row */
    vec3 scene_centre;       /* bounding sphere of the scene */
    float scene_radius;
    uint32_t hidden; /* 1: rays from the camera that meet no surface see a background instead */
    /* lights among which are the directional ones with a disc; sun_count 0: none has one */
    uint32_t sun_first, sun_count;
} environment_view;

/* A perspective camera with a pinhole or thin lens, or an orthographic one. Pixel (0, 0) is the top
   left one. */

typedef struct camera {
    vec3 eye, look_at, up;
    float fov_degrees;    /* vertical, (0, 180) */
    float lens_radius;    /* 0: pinhole */
    float focus_distance; /* along the view axis; 0: distance to look_at */
    float tall;           /* orthographic: height of the view in scene units; 0: perspective */
} camera;

/* Interpolates two cameras linearly; t is in [0, 1]. */
KD_FN camera camera_between(const camera *a, const camera *b, float t) {
    camera at;
    at.eye = vec3_along(a->eye, t, vec3_sub(b->eye, a->eye));
    at.look_at = vec3_along(a->look_at, t, vec3_sub(b->look_at, a->look_at));
    at.up = vec3_along(a->up, t, vec3_sub(b->up, a->up));
    at.fov_degrees = a->fov_degrees + t * (b->fov_degrees - a->fov_degrees);
    at.lens_radius = a->lens_radius + t * (b->lens_radius - a->lens_radius);
    at.focus_distance = a->focus_distance + t * (b->focus_distance - a->focus_distance);
    at.tall = a->tall + t * (b->tall - a->tall);
    return at;
}

/* Returns the camera's axes: tangent to the right, bitangent up, normal forward; orthonormal. If
   `up` is parallel to the view, another direction is used. */
KD_FN frame3 camera_frame(const camera *view) {
    vec3 forward = vec3_normalize(vec3_sub(view->look_at, view->eye));
    if (vec3_is_zero(forward)) forward = vec3_make(0, 0, -1);
    vec3 right = vec3_normalize(vec3_cross(forward, vec3_normalize(view->up)));
    if (vec3_is_zero(right)) right = frame3_around(forward).tangent;
    frame3 axes;
    axes.normal = forward;
    axes.tangent = right;
    axes.bitangent = vec3_cross(right, forward);
    return axes;
}

/* Data that the rays of all pixels share. */
typedef struct camera_sight {
    frame3 axes;
    float pixel; /* side of a pixel at distance 1; orthographic: in scene units */
} camera_sight;

KD_FN camera_sight camera_sight_of(const camera *view, int32_t height) {
    camera_sight sight;
    sight.axes = camera_frame(view);
    const float half =
        view->tall > 0 ? 0.5f * view->tall : float_tan(view->fov_degrees * (KD_PI / 360));
    sight.pixel = 2 * half / (float)height;
    return sight;
}

/* camera_ray with precomputed `sight`. */
KD_FN ray camera_ray_by(const camera *view, const camera_sight *sight, int32_t width,
                        int32_t height, int32_t x, int32_t y, rng_block random) {
    const float across = ((float)x + random.value[0] - 0.5f * (float)width) * sight->pixel;
    const float upward = (0.5f * (float)height - (float)y - random.value[1]) * sight->pixel;
    vec3 local = vec3_make(across, upward, 1);
    vec3 origin = view->eye;
    if (view->tall > 0) {
        origin = vec3_add(origin, frame3_to_world(&sight->axes, vec3_make(across, upward, 0)));
        local = vec3_make(0, 0, 1);
    }
    if (view->lens_radius > 0) {
        const float focus = view->focus_distance > 0
                                ? view->focus_distance
                                : vec3_length(vec3_sub(view->look_at, view->eye));
        const vec2 disc = sample_disc(random.value[2], random.value[3]);
        const vec3 lens = vec3_make(disc.x * view->lens_radius, disc.y * view->lens_radius, 0);
        local = vec3_sub(vec3_scale(local, focus), lens);
        origin = vec3_add(origin, frame3_to_world(&sight->axes, lens));
    }
    return ray_make(origin, vec3_normalize(frame3_to_world(&sight->axes, local)), 0, INFINITY);
}

/* Returns a ray with unit direction through pixel (x, y) of width x height. random.value[0], [1]
   are the position in the pixel (uniform ones give a box filter), [2], [3] that on the lens. */
KD_FN ray camera_ray(const camera *view, int32_t width, int32_t height, int32_t x, int32_t y,
                     rng_block random) {
    const camera_sight sight = camera_sight_of(view, height);
    return camera_ray_by(view, &sight, width, height, x, y, random);
}

typedef struct mesh_view {
    const vec3 *positions;
    const vec3 *normals;   /* unit; may be NULL if normal_count is 0 */
    const vec2 *texcoords; /* may be NULL if texcoord_count is 0 */
    /* 4 per texcoord, linear RGBA: factors of diffuse and opacity; NULL: no vertex colours */
    const float *colours;
    const vec2 *texcoords_second; /* second set, one per texcoord; NULL: no image uses it */
    /* 4 per normal: unit tangent along u, and the sign of the bitangent; zeros: none; NULL: no
       tangents */
    const float *tangents;
    /* 3 per triangle */
    const uint32_t *triangles;          /* into positions, always in range */
    const uint32_t *normal_indices;     /* KD_NONE: geometric normal; NULL: none at all */
    const uint32_t *texcoord_indices;   /* KD_NONE: none; NULL: none at all */
    const uint32_t *triangle_materials; /* 1 per triangle */
    uint32_t position_count, normal_count, texcoord_count, triangle_count;
    uint32_t stored_count; /* number of triangles, including those of instanced meshes, which come
                              last */
} mesh_view;

/* The materials that bound media, by increasing priority (nested.h); count 0: none has a priority.
 */
enum { NESTED_MAX = 11, NESTED_BITS = 2, NESTED_MASK = (1 << NESTED_BITS) - 1 };
typedef struct nested_view {
    uint32_t count;
    uint32_t materials[NESTED_MAX];
} nested_view;

typedef struct scene_view {
    mesh_view mesh;
    tritree_view tree;
    instance_view instances;
    const material *materials;
    const principled *layers; /* one per material; NULL if none is principled */
    const texture_view *textures;
    const light *lights;        /* those at infinity are the last */
    const float *light_cdf;     /* light_count + 1, 0..1, by power */
    light_tree_view light_tree; /* tree of the lights that are not at infinity, if two or more */
    /* light of each triangle, or KD_NONE; NULL if no triangle emits */
    const uint32_t *triangle_lights;
    uint32_t material_count, texture_count, light_count;
    environment_view environment;
    box3 box;          /* bounding box of the mesh */
    float total_power; /* W, sum of the lights' powers */
    const medium *media;
    uint32_t medium_count;
    /* medium of the space outside closed meshes, up to the environment's sphere; medium_count or
       more: none */
    uint32_t fog;
    nested_view nested; /* if its count is not 0, medium_count is not 0 either */
    /* Subtracted from all positions, for scenes far from (0, 0, 0); a position in the coordinates
       of the scene's files is one of this view plus the origin. Usually 0. */
    double origin[3];
} scene_view;

#endif
