/* Meshes packed by Draco (KHR_draco_mesh_compression), unpacked by kandela-import where it is built
   with that library. */
#ifndef KD_SCENES_IMPORT_IMPORT_DRACO_H
#define KD_SCENES_IMPORT_IMPORT_DRACO_H
#include "scenes/import/import_draco_answer.h"
#include "scenes/import/import_program.h"

typedef struct draco_attribute {
    uint32_t id, components; /* 1 to 16 */
    float *values;           /* components a point; integers as they are, normalized or not */
} draco_attribute;

typedef struct draco_mesh {
    uint32_t point_count, triangle_count, attribute_count;
    uint32_t *indices; /* 3 a triangle, below point_count */
    draco_attribute *attributes;
} draco_mesh;

/* `path` is for messages. KD_ERROR_INPUT if Draco cannot unpack the bytes or is not there. */
kd_status draco_mesh_open(draco_mesh *out, const char *path, const void *bytes, uint64_t count,
                          job *watched);
void draco_mesh_close(draco_mesh *owned); /* takes a zeroed one */

#endif
