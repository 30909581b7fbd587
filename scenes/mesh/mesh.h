/* A triangle mesh in host memory, as importers yield it, with the images of its materials. Owner of
   its arrays. */
#ifndef KD_SCENES_MESH_MESH_H
#define KD_SCENES_MESH_MESH_H
#include "core/math/transform.h"
#include "core/status.h"
#include "shaders/scene_view.h"

/* Where an image may lie on a material. The last eight are of principled ones. */
typedef enum mesh_map {
    MESH_MAP_DIFFUSE,
    MESH_MAP_SPECULAR, /* principled: factor of `specular` */
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

/* The channel that a number comes from. */
typedef enum mesh_channel {
    MESH_CHANNEL_USUAL = 0, /* red; opacity: alpha if the image has one; roughness and metallic in
                               one file: green and blue */
    MESH_CHANNEL_RED,
    MESH_CHANNEL_GREEN,
    MESH_CHANNEL_BLUE,
    MESH_CHANNEL_ALPHA
} mesh_channel;

/* How one image lies, where it does not as map_scale, map_offset and map_clamp say. */
typedef struct mesh_map_form {
    bool placed;                         /* else only `channel` counts */
    uint8_t wrap[2];                     /* texture_wrap along u and v */
    uint8_t channel;                     /* mesh_channel, of maps of numbers */
    bool second;                         /* by the second set of texture coordinates */
    float scale[2], shear[2], offset[2]; /* as in texture_view */
} mesh_map_form;

typedef struct mesh_material {
    char *name;      /* owned, unique in the mesh */
    material record; /* maps in it are KD_NONE: the paths below name them */
    /* paths as found in the file, joined with its folder; NULL: none; owned */
    char *diffuse_map, *specular_map, *emission_map, *opacity_map, *roughness_map, *metallic_map;
    char *normal_map, *bump_map;
    float map_scale[2], map_offset[2]; /* -s and -o of map_Kd (else of the first map) */
    bool map_clamp;
    /* MTL: sharp, with an index above 1, and nothing that says it is glass; glTF: transmission of
       which nothing says that it goes through a body */
    bool perhaps_glass;
    principled layers; /* if the record is of MATERIAL_PRINCIPLED; maps in it are KD_NONE */
    char *layer_maps[MESH_MAPS - MESH_MAPS_PLAIN]; /* as the paths above, in mesh_map's order */
    mesh_map_form forms[MESH_MAPS];
} mesh_material;

/* Overwrites all of it: records by default, no name, no images. */
void mesh_material_default(mesh_material *made);
/* Where its image's path is kept. */
char **mesh_material_map(mesh_material *of, mesh_map map);

/* A picture that came with the file: a map's path that is this name means these bytes. */
typedef struct mesh_picture {
    char *name; /* owned, as all of it */
    unsigned char *bytes;
    uint64_t count;
} mesh_picture;

typedef struct mesh_camera {
    char *name; /* owned */
    camera view;
} mesh_camera;

/* A run of triangles in a space of its own, of which the mesh has what is put; the last ones of the
   mesh, as are the positions and normals that these alone have. */
typedef struct mesh_part {
    uint32_t first, count, position, position_count, normal, normal_count;
} mesh_part;

typedef struct mesh_put { /* mirrors only if the part's triangles are stored for that */
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
    uint32_t *triangle_materials; /* 1 per triangle, into materials */
    mesh_material *materials;
    uint32_t position_count, normal_count, texcoord_count, triangle_count, material_count;
    uint32_t face_count; /* as read, before triangulation */
    /* what some files have besides; world space; lights without `power` */
    float *colours; /* 4 an entry of texcoords: factors of base colour and opacity; or NULL */
    vec2 *texcoords_second; /* one an entry of texcoords, or NULL */
    float *tangents;        /* 4 an entry of normals (scene_view.h), or NULL */
    mesh_part *parts;       /* only where the reader was asked for them (obj_options) */
    mesh_put *puts;
    uint32_t part_count, put_count;
    mesh_picture *pictures;
    mesh_camera *cameras;
    light *lights;
    medium *media; /* that materials name by index */
    uint32_t picture_count, camera_count, light_count, medium_count;
} mesh;

void mesh_close(mesh *owned); /* takes a zeroed one */
void mesh_material_close(mesh_material *owned);

#endif
