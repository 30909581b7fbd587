/* The MTL reader: materials of OBJ files. scenes/obj/README.md says what each key becomes. */
#ifndef KD_SCENES_FORMATS_MTL_H
#define KD_SCENES_FORMATS_MTL_H
#include "scenes/mesh/mesh.h"
#include "scenes/text/names.h"
#include "scenes/text/problems.h"

/* The materials of one or more files, in order; the first of a name wins. */
typedef struct mtl_library {
    mesh_material *materials; /* material_count of them, room for more */
    uint32_t count, room;
    name_table names; /* into materials */
} mtl_library;

/* Adds the materials of `path`. Paths of textures are looked for beside it; those of files that are
   not there are told and dropped. KD_ERROR_INPUT with file:line at the first malformed line. */
kd_status mtl_load(mtl_library *library, const char *path, const obj_options *options);
/* Adds one of the given name (unique in the library) that is material_default(). */
kd_status mtl_library_add(mtl_library *library, text_span name, uint32_t *index);
void mtl_library_close(mtl_library *library); /* and all materials in it */

/* What stands in the file about one material, before it becomes a record. Numbers that are absent
   are NaN. */
typedef enum mtl_map {
    MTL_MAP_DIFFUSE,
    MTL_MAP_SPECULAR,
    MTL_MAP_EMISSION,
    MTL_MAP_OPACITY,
    MTL_MAP_ROUGHNESS,
    MTL_MAP_METALLIC,
    MTL_MAP_NORMAL,
    MTL_MAP_BUMP,
    MTL_MAP_SHEEN,
    MTL_MAP_COAT,
    MTL_MAP_COAT_ROUGHNESS,
    MTL_MAP_EXPONENT, /* of Blender: a picture of roughness */
    MTL_MAPS
} mtl_map;

typedef struct mtl_texture {
    char *path; /* NULL: none; owned */
    float scale[2], offset[2];
    float bump; /* -bm */
    bool clamp;
} mtl_texture;

typedef struct mtl_entry {
    vec3 ka, kd, ks, ke, tf;
    float ns, ni, d, tr, illum, pr, pm;
    float ps, pc, pcr, aniso, anisor;
    int32_t blender; /* its version, if it wrote the file: 2, 3, ...; else 0 */
    uint64_t line;   /* of its newmtl */
    uint64_t d_line; /* of d or Tr, whichever is later */
    mtl_texture maps[MTL_MAPS];
} mtl_entry;

/* mtl_record.c: options and name of a map statement, behind its keyword; the cursor ends at the
   line's end. False if there is no name. */
typedef struct mtl_map_text {
    text_span name;
    mtl_texture texture; /* its path is not set */
} mtl_map_text;
bool mtl_map_read(text_cursor *cursor, mtl_map_text *read);

/* mtl_record.c: what it means. Takes the entry's paths. */
void mtl_entry_convert(mtl_entry *entry, mesh_material *into);
/* GGX roughness (perceptual) of a Phong exponent. */
float mtl_roughness_of_exponent(float ns);

#endif
