/* A triangle mesh in host memory, as the readers produce it: geometry, materials, and the cameras,
   lights and embedded images of its file. The struct owns all its arrays. */
#ifndef KD_SCENES_MESH_MESH_H
#define KD_SCENES_MESH_MESH_H
#include "core/math/transform.h"
#include "core/status.h"
#include "shaders/scene_view.h"

/* The image inputs of a material. The last eight apply to principled materials only. */
typedef enum mesh_map {
    MESH_MAP_DIFFUSE,
    /* principled: scales `specular`; with MATERIAL_SPECULAR specular and glossiness, as below */
    MESH_MAP_SPECULAR,
    MESH_MAP_EMISSION,
    MESH_MAP_OPACITY,
    MESH_MAP_ROUGHNESS,
    MESH_MAP_METALLIC,
    MESH_MAP_NORMAL,
    MESH_MAP_BUMP,
    MESH_MAPS_PLAIN,
    MESH_MAP_SPECULAR_TINT = MESH_MAPS_PLAIN,
    MESH_MAP_ANISOTROPY,
    MESH_MAP_SHEEN,
    MESH_MAP_SHEEN_ROUGHNESS,
    MESH_MAP_COAT,
    MESH_MAP_COAT_ROUGHNESS,
    MESH_MAP_COAT_NORMAL,
    MESH_MAP_TRANSMISSION,
    MESH_MAPS
} mesh_map;

/* The image channel that a scalar map reads. */
typedef enum mesh_channel {
    /* the default: red; opacity: alpha if the image has one; roughness and metallic in one file:
       green and blue */
    MESH_CHANNEL_USUAL = 0,
    MESH_CHANNEL_RED,
    MESH_CHANNEL_GREEN,
    MESH_CHANNEL_BLUE,
    MESH_CHANNEL_ALPHA,
    MESH_CHANNEL_LUMINANCE
} mesh_channel;

/* Per-map texture transform and wrapping; overrides map_scale, map_offset and map_clamp of the
   material. */
typedef struct mesh_map_form {
    bool placed;     /* false: `wrap` and the last line are not used */
    uint8_t wrap[2]; /* texture_wrap along u and v */
    uint8_t channel; /* mesh_channel; used by scalar maps */
    bool second;     /* use the second set of texture coordinates */
    bool nearest[2]; /* along u and v: the nearest texel, not interpolated */
    bool linear;     /* colours are not sRGB encoded */
    bool ranged;     /* a texel counts as base + gain * texel */
    float base, gain;
    float scale[2], shear[2], offset[2]; /* see texture_view */
} mesh_map_form;

typedef struct mesh_material {
    char *name;      /* owned, unique in the mesh */
    material record; /* its map indices are KD_NONE; the paths below name the images */
    /* Paths as written in the file, joined with its directory; NULL if there is no map. Owned. */
    char *diffuse_map, *specular_map, *emission_map, *opacity_map, *roughness_map, *metallic_map;
    char *normal_map, *bump_map;
    float map_scale[2], map_offset[2]; /* -s and -o of map_Kd (else of the first map) */
    bool map_clamp;
    /* The file suggests glass but does not say so. MTL: sharp specular and an index of refraction
       above 1; glTF: transmission without a volume. */
    bool may_be_glass;
    principled layers; /* used if record.kind is MATERIAL_PRINCIPLED; its map indices are KD_NONE */
    char *layer_maps[MESH_MAPS - MESH_MAPS_PLAIN]; /* paths as above, in the order of mesh_map */
    mesh_map_form forms[MESH_MAPS];
    /* Principled with MATERIAL_SPECULAR and an image of specular and glossiness: their factors. The
       image sets roughness, metallic, specular and layers.specular, which are 1 here. */
    float glossiness[4];
    /* Limit the emission to a cone: cos_inner and cos_outer of its lights (light_beam); 0: none */
    float beam_inner, beam_outer;
} mesh_material;

/* Overwrites *made with the default record, without a name or images. */
void mesh_material_default(mesh_material *made);
/* Returns the power that the material emits, relative to that of a diffuse emitter with the same
   radiance along the normal. */
double mesh_material_beam_power(const mesh_material *made);
/* Returns the member that holds the path of `map`. */
char **mesh_material_map(mesh_material *material, mesh_map map);

/* An image embedded in the mesh file. A map path equal to `name` refers to these bytes. */
typedef struct mesh_picture {
    char *name; /* owned, like `bytes` */
    unsigned char *bytes;
    uint64_t count;
} mesh_picture;

typedef struct mesh_camera {
    char *name; /* owned */
    camera view;
} mesh_camera;

/* A contiguous run of triangles in object space; it becomes visible only through the instances in
   mesh.puts. Parts come after all other triangles of the mesh; their positions and normals are
   contiguous, too, and no other triangle uses them. */
typedef struct mesh_part {
    uint32_t first, count, position, position_count, normal, normal_count;
} mesh_part;

/* An instance of a part. The transform may mirror only if the part's triangles are stored for that
   (reversed winding). */
typedef struct mesh_put {
    uint32_t part;
    transform to_world;
} mesh_put;

typedef struct mesh {
    vec3 *positions;
    vec3 *normals;
    vec2 *texcoords;
    uint32_t *triangles;          /* 3 per triangle */
    uint32_t *normal_indices;     /* 3 per triangle or NULL */
    uint32_t *texcoord_indices;   /* 3 per triangle or NULL */
    uint32_t *triangle_materials; /* 1 per triangle, indices into `materials` */
    mesh_material *materials;
    uint32_t position_count, normal_count, texcoord_count, triangle_count, material_count;
    uint32_t face_count; /* faces in the file, before triangulation */
    /* Subtracted from everything in world space: positions outside parts, transforms of puts,
       cameras, lights. 0 unless obj_options.recentre is set and the mesh is far from (0, 0, 0). */
    double origin[3];
    /* Optional data; world space; `power` of the lights is not set. */
    float *colours; /* 4 per entry of texcoords: factors of base colour and opacity; or NULL */
    vec2 *texcoords_second; /* 1 per entry of texcoords, or NULL */
    float *tangents;        /* 4 per entry of normals (scene_view.h), or NULL */
    mesh_part *parts;       /* only if obj_options.keep_parts is set */
    mesh_put *puts;
    uint32_t part_count, put_count;
    mesh_picture *pictures;
    mesh_camera *cameras;
    light *lights;
    medium *media; /* referenced by index from materials */
    uint32_t picture_count, camera_count, light_count, medium_count;
    bool moves; /* an animation moves it: valid for obj_options.seconds only */
} mesh;

void mesh_close(mesh *owned); /* accepts a zeroed struct */
void mesh_material_close(mesh_material *owned);

#endif
