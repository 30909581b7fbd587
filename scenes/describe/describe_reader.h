/* State shared by the readers of the parts of a description. */
#ifndef KD_SCENES_DESCRIBE_DESCRIBE_READER_H
#define KD_SCENES_DESCRIBE_DESCRIBE_READER_H
#include "scenes/describe/describe_json.h"
#include "scenes/describe/describe_keys.h"
#include "scenes/mesh/mesh_builder.h"
#include "scenes/mesh/origin.h"

typedef struct describe_reader {
    scene_draft *draft;
    mesh_builder geometry; /* all meshes; the first materials are those of `names` */
    const cJSON *names;    /* materials of the description by name, or NULL */
    /* media of the description by name, or NULL; in the order of draft->media */
    const cJSON *media;
    const char *path;
    const char *text; /* the description, `bytes` bytes */
    size_t bytes;
    double frame;     /* the frame to read; keyframes are evaluated at it */
    const char *clip; /* see obj_options */
    double seconds;
    double origin[3]; /* subtracted from all positions in world space */
    box3 box;         /* bounds of the meshes and instances so far, relative to the origin */
    /* Keep translations in double precision, for far scenes and files. Others are rounded to float
       as ever, which keeps their pictures the same bit for bit. */
    bool exact;
    describe_loader load;
    const kd_scene_mesh *caller_meshes; /* meshes given by the caller, in memory */
    uint64_t caller_mesh_count;
    job_control *job;
} describe_reader;

/* Returns a position of the description relative to the origin. */
static inline vec3 describe_local(const describe_reader *reader, const double at[3]) {
    return origin_to_local(reader->origin, at);
}

/* Returns the vector from one position to another. Far away, rounding each of them to float could
   make it 0. */
static inline vec3 describe_vector(const describe_reader *reader, const double from[3],
                                   const double to[3]) {
    const vec3 made = vec3_sub(describe_local(reader, to), describe_local(reader, from));
    return vec3_is_zero(made) ? origin_to_local(from, to) : made;
}

/* Sets *path to `name` relative to the description's directory; freed by memory_free. Returns
   KD_ERROR_INPUT if the path is outside the allowed directory (paths.h). */
kd_status describe_path(const describe_reader *reader, const char *name, char **path);

/* describe_mesh.c: returns true for "mesh:NAME", which names a mesh given by the caller. */
bool describe_is_caller_mesh(const char *file);
kd_status describe_caller_mesh(const describe_reader *reader, const json_place *at,
                               const char *file, mesh *out);
/* describe_material.c */
kd_status describe_materials(describe_reader *reader, const json_place *at, const cJSON *map);
/* Sets *index to the material that `value` names, or to a new one if it is an object. An object
   changes a copy of the material `base`, or of the default if that is KD_NONE. */
kd_status describe_material(describe_reader *reader, const json_place *at, const cJSON *value,
                            uint32_t base, uint32_t *index);
/* describe_material.c */
kd_status describe_media(describe_reader *reader, const json_place *at, const cJSON *map);
/* Finds a medium by name. */
kd_status describe_medium_find(const describe_reader *reader, const json_place *at,
                               const char *name, uint32_t *index);
/* describe_mesh.c: sets the origin of a generated part from its corners; it stays 0 unless the
   scene is far. */
void describe_place_part(const describe_reader *reader, double (*corners)[3], int count,
                         mesh_builder *part);
/* describe_shapes.c: reads the box, lathe, torus or cylinder of an entry. */
kd_status describe_shape(const describe_reader *reader, const json_place *at,
                         const described_mesh *words, mesh_builder *part);
/* describe_mesh.c */
kd_status describe_mesh(describe_reader *reader, const json_place *at, const cJSON *object);
/* describe_instances.c */
kd_status describe_step(describe_reader *reader, const json_place *at, const cJSON *object,
                        transform *step);
kd_status describe_transform(describe_reader *reader, const json_place *at, const cJSON *list,
                             transform *placed);
/* describe_instances.c: makes a shape of everything added to the geometry since `begin`, with the
   bounds `box`, and instances it at the transforms of the entry, applied after `pose`. */
kd_status describe_instances(describe_reader *reader, const json_place *at,
                             const described_mesh *words, const transform *pose,
                             const draft_shape *begin, box3 box);
/* describe_camera_light.c */
kd_status describe_camera(describe_reader *reader, const json_place *at, const cJSON *object);
/* describe_json.c */
kd_status describe_render(describe_reader *reader, const json_place *at, const cJSON *object,
                          kd_render_options *options);
/* describe_camera_light.c */
kd_status describe_light(describe_reader *reader, const json_place *at, const cJSON *object);

#endif
