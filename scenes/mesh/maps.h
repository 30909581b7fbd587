/* Where images lie on a material, and which of their channels count. */
#ifndef KD_SCENES_MESH_MAPS_H
#define KD_SCENES_MESH_MAPS_H

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

#endif
