/* The keys of a scene description: tables of keys, the structs that they fill, and the reflectance
   of named metals. */
#ifndef KD_SCENES_DESCRIBE_DESCRIBE_KEYS_H
#define KD_SCENES_DESCRIBE_DESCRIBE_KEYS_H
#include "core/math/geometry.h"
#include "scenes/mesh/mesh.h"
#include "scenes/text/json_keys.h"
#include "shaders/material.h"
#include "shaders/scene_view.h"
#include <kandela/render.h>

typedef struct described_scene {
    int32_t version;
    const cJSON *materials, *media, *meshes, *camera, *lights, *environment, *render;
    const char *fog;
} described_scene;

typedef struct described_medium {
    vec3 absorption, scattering;
    float g;
} described_medium;

typedef struct described_material {
    int32_t kind, energy, priority;
    vec3 diffuse, specular, transmission, emission, emission_nits;
    float roughness, metallic, ior, opacity, bump_scale;
    bool two_sided, map_clamp;
    const char *medium, *medium_outside; /* names in `media` */
    float cauchy[3], sellmeier[6];
    const char *maps[MESH_MAPS]; /* indexed by mesh_map */
    principled layers;
    float turn_degrees;
    bool thin, unlit;
    int32_t metal; /* index in METAL_NAMES */
    float map_scale[2], map_offset[2];
} described_material;

typedef struct described_mesh {
    const char *file;
    const cJSON *quad, *box, *sphere, *lathe, *torus, *cylinder, *transform, *material, *materials,
        *instances, *scatter;
    float uv[2];
    bool inward, camera_visible, shadow_catcher;
} described_mesh;

/* Positions are double[3]: describe_reader.h subtracts the origin of the scene from them. */

typedef struct described_box {
    double lo[3], hi[3], rounding;
    uint64_t triangles;
} described_box;

typedef struct described_sphere {
    double centre[3];
    float radius;
    uint64_t triangles;
} described_sphere;

typedef struct described_lathe {
    double base[3];
    const cJSON *profile;
    bool smooth, closed, caps;
    float crease_degrees;
    uint64_t triangles;
} described_lathe;

typedef struct described_torus {
    double centre[3];
    float radius, tube_radius;
    uint64_t triangles;
} described_torus;

typedef struct described_cylinder {
    double base[3];
    float radius, top_radius, height;
    bool caps;
    uint64_t triangles;
} described_cylinder;

typedef struct described_step { /* A step of a transform. */
    double translate[3];
    vec3 rotate;
    float degrees;
    vec3 scale;
    double matrix[12];
    double frame; /* set for an entry of `keys` */
    const cJSON *keys;
} described_step;

typedef struct described_scatter {
    uint64_t count, seed;
    double lo[3], hi[3];
    float scale[2];
    bool turned;
} described_scatter;

typedef struct described_camera {
    double eye[3], look_at[3];
    vec3 up;
    float fov, lens_radius, focus_distance, tall;
    double frame; /* set for an entry of `keys` */
    const cJSON *keys;
} described_camera;

typedef enum described_light_kind {
    DESCRIBED_POINT,
    DESCRIBED_SPOT,
    DESCRIBED_DIRECTIONAL,
    DESCRIBED_AREA
} described_light_kind;

typedef struct described_light {
    int32_t kind; /* described_light_kind */
    double position[3], look_at[3], corner[3];
    vec3 direction, intensity, power, irradiance, radiance;
    vec3 candelas, lumens, lux, nits; /* the same in photometric units */
    float inner_degrees, outer_degrees, radius, angle_degrees, spread_degrees;
    vec3 edge_u, edge_v;
    bool two_sided, camera_visible;
} described_light;

typedef struct described_environment {
    vec3 radiance, nits;
    const char *image;
    float rotation_degrees;
    int32_t projection; /* 0: latitude-longitude, 1: equal-area */
    const cJSON *sky;
} described_environment;

typedef struct described_sky {
    vec3 sun;
    float turbidity;
    bool disc;
    vec3 ground;
    int32_t model; /* 0: Preetham's, 1: atmosphere */
} described_sky;

extern const json_key describe_scene_keys[], describe_medium_keys[], describe_material_keys[],
    describe_mesh_keys[], describe_box_keys[], describe_sphere_keys[], describe_lathe_keys[],
    describe_profile_keys[], describe_torus_keys[], describe_cylinder_keys[], describe_step_keys[],
    describe_scatter_keys[], describe_step_key_keys[], describe_camera_keys[],
    describe_camera_key_keys[], describe_environment_keys[], describe_sky_keys[];
/* Keys of a light; `kind` selects the table. */
extern const json_key *const describe_light_keys[4]; /* indexed by described_light_kind */

#define METAL_NAMES                                                                                \
    "aluminium|chromium|copper|gold|iron|iridium|platinum|rhodium|silver|titanium|tungsten"

typedef struct metal_colours {
    vec3 normal; /* reflectance at normal incidence */
    vec3 edge; /* ratio of the reflectance at 82 degrees (cosine 1/7) to Schlick's approximation */
} metal_colours;

/* Returns the colours of a metal by its index in METAL_NAMES. */
metal_colours metal_of(int32_t name);

#endif
