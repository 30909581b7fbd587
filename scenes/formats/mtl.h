/* The MTL reader: materials of OBJ files. scenes/formats/README.md says what each key means. */
#ifndef KD_SCENES_FORMATS_MTL_H
#define KD_SCENES_FORMATS_MTL_H
#include "scenes/mesh/mesh.h"
#include "scenes/text/names.h"
#include "scenes/text/problems.h"

/* The materials of one or more files, in order. If a name occurs twice, the first material is
   kept. */
typedef struct mtl_library {
    mesh_material *materials; /* `count` elements in use, capacity `capacity` */
    uint32_t count;
    uint64_t capacity;
    name_table names; /* indices into `materials` by name */
} mtl_library;

/* Adds the materials of the file `path`. Texture paths are relative to its directory; textures
   that do not exist are reported and dropped. Returns KD_ERROR_INPUT with file:line for the first
   malformed line. */
kd_status mtl_load(mtl_library *library, const char *path, const obj_options *options);
/* Adds a default material with the given name, which must be unique in the library. */
kd_status mtl_library_add(mtl_library *library, text_span name, uint32_t *index);
void mtl_library_close(mtl_library *library); /* frees its materials, too */

/* The statements of an MTL file about one material, before their conversion to a record. Absent
   numbers are NaN. */
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
    MTL_MAP_EXPONENT, /* map_Ns: Blender writes a roughness image */
    MTL_MAPS
} mtl_map;

typedef struct mtl_texture {
    char *path; /* owned; NULL: no map */
    float scale[2], offset[2];
    float bump; /* -bm */
    bool clamp;
    bool nearest[2];      /* -blendu off, -blendv off */
    bool linear;          /* -cc off, -colorspace linear; for colours */
    float base, gain;     /* -mm */
    mesh_channel channel; /* -imfchan, for maps of one number */
} mtl_texture;

void mtl_texture_default(mtl_texture *made); /* no path, no options */

typedef struct mtl_entry {
    vec3 ka, kd, ks, ke, tf;
    float ns, ni, d, tr, illum, pr, pm;
    float ps, pc, pcr, aniso, anisor;
    int32_t blender; /* major version of Blender if it wrote the file (2, 3, ...), else 0 */
    uint64_t line;   /* line of its newmtl */
    uint64_t d_line; /* line of d or Tr, whichever comes last */
    mtl_texture maps[MTL_MAPS];
} mtl_entry;

/* mtl_record.c: parses the options and the file name of a map statement after its keyword, and
   leaves the cursor at the end of the line. Returns false if there is no name. */
typedef struct mtl_map_text {
    text_span name;
    mtl_texture texture; /* texture without its path */
    uint32_t options;    /* bit set of the options with an effect */
} mtl_map_text;
bool mtl_map_read(text_cursor *cursor, mtl_map_text *read);
/* Returns the name of an option of the statement that has no effect on its map, and removes it from
   read->options; NULL: none is left. */
const char *mtl_option_ignored(mtl_map_text *read, mtl_map which);

/* mtl_record.c: converts an entry to a material. Takes ownership of the entry's paths. */
void mtl_entry_convert(mtl_entry *entry, mesh_material *mesh_material);
/* Returns the (perceptual) GGX roughness of a Phong exponent. */
float mtl_roughness_of_exponent(float ns);

#endif
