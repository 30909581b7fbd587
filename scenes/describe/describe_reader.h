/* What the parts of a description share while it is read. */
#ifndef KD_SCENES_DESCRIBE_DESCRIBE_READER_H
#define KD_SCENES_DESCRIBE_DESCRIBE_READER_H
#include "scenes/describe/describe_json.h"
#include "scenes/describe/describe_keys.h"
#include "scenes/mesh/mesh_builder.h"

typedef struct describe_reader {
    scene_draft *draft;
    mesh_builder geometry; /* of all meshes; the materials of the description come first */
    const cJSON *names;    /* those materials, NULL: none */
    const cJSON *media;    /* by name, NULL: none; the draft has them in this order */
    const char *path;
    double frame; /* that is looked at */
    describe_loader load;
    const kd_scene_mesh *given; /* by the caller, in memory */
    uint64_t given_count;
    job *watched;
} describe_reader;

/* *path = `name` beside the description, to memory_free. */
kd_status describe_path(const describe_reader *in, const char *name, char **path);

/* describe_mesh.c: "mesh:NAME" names one that the caller gave */
bool describe_is_given(const char *file);
kd_status describe_given(const describe_reader *in, const json_place *at, const char *file,
                         mesh *out);
/* describe_material.c */
kd_status describe_materials(describe_reader *in, const json_place *at, const cJSON *map);
/* Index of the material that `value` names or is; an object changes a copy of `base`, index of one
   or KD_NONE. */
kd_status describe_material(describe_reader *in, const json_place *at, const cJSON *value,
                            uint32_t base, uint32_t *index);
/* describe_material.c */
kd_status describe_media(describe_reader *in, const json_place *at, const cJSON *map);
/* Index of the medium of that name. */
kd_status describe_medium_find(const describe_reader *in, const json_place *at, const char *name,
                               uint32_t *index);
/* describe_mesh.c */
kd_status describe_mesh(describe_reader *in, const json_place *at, const cJSON *object);
/* describe_placements.c */
kd_status describe_step(describe_reader *in, const json_place *at, const cJSON *object,
                        transform *step);
kd_status describe_transform(describe_reader *in, const json_place *at, const cJSON *list,
                             transform *placed);
/* describe_placements.c: what the geometry has got since `begin` becomes a shape that is put where
   the entry says, after `pose` */
kd_status describe_placements(describe_reader *in, const json_place *at,
                              const described_mesh *words, const transform *pose,
                              const draft_shape *begin);
/* describe_camera_light.c */
kd_status describe_camera(describe_reader *in, const json_place *at, const cJSON *object);
/* describe_json.c */
kd_status describe_render(describe_reader *in, const json_place *at, const cJSON *object,
                          kd_render_options *to);
/* describe_camera_light.c */
kd_status describe_light(describe_reader *in, const json_place *at, const cJSON *object);

#endif
