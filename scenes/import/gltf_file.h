/* State of the glTF reader: the JSON tree, its top-level arrays, its buffers. Every number of the
   file is validated before use. */
#ifndef KD_SCENES_IMPORT_GLTF_FILE_H
#define KD_SCENES_IMPORT_GLTF_FILE_H
#include "core/files/file.h"
#include "core/job.h"
#include "scenes/import/gltf.h"
#include "scenes/text/json_keys.h"

/* Top-level arrays whose elements are referred to by index. */
typedef enum gltf_list {
    GLTF_ACCESSORS,
    GLTF_VIEWS,
    GLTF_BUFFERS,
    GLTF_IMAGES,
    GLTF_SAMPLERS,
    GLTF_TEXTURES,
    GLTF_MATERIALS,
    GLTF_MESHES,
    GLTF_NODES,
    GLTF_SCENES,
    GLTF_CAMERAS,
    GLTF_SKINS,
    GLTF_LIGHTS, /* lights of KHR_lights_punctual */
    GLTF_LISTS
} gltf_list;

typedef struct gltf_items {
    const cJSON **items; /* the array is owned, its elements are part of the tree */
    uint32_t count;
    json_place place;
} gltf_items;

typedef struct gltf_bytes { /* A valid range of bytes; borrowed. */
    const unsigned char *bytes;
    uint64_t count;
} gltf_bytes;

typedef struct gltf_buffer {
    gltf_bytes bytes;
    file_view file;       /* valid if the buffer is a file next to the glTF file */
    unsigned char *owned; /* valid if the buffer is a data URI */
    bool is_open;
} gltf_buffer;

typedef struct gltf_view {
    unsigned char *unpacked; /* decoded data of a compressed view, NULL until first use; owned */
    uint64_t count;
} gltf_view;

/* What an animation sets of a node, in place of the file's values. */
enum { GLTF_POSE_MOVE, GLTF_POSE_TURN, GLTF_POSE_SCALE, GLTF_POSE_PARTS };
typedef struct gltf_pose {
    double values[GLTF_POSE_PARTS][4]; /* translation, quaternion, scale */
    bool given[GLTF_POSE_PARTS];
    cJSON *weights; /* weights of morph targets; owned; NULL: not animated */
} gltf_pose;

/* Bits of gltf_file.said; the lower ones belong to the formats of images. */
enum {
    GLTF_SAID_TARGET = 1 << 16,
    GLTF_SAID_JOINTS = 1 << 17,
    GLTF_SAID_RANGE = 1 << 18,
    GLTF_SAID_THICKNESS = 1 << 19,
    GLTF_SAID_OCCLUSION = 1 << 20,
    GLTF_SAID_FILTER = 1 << 21
};

typedef struct gltf_file {
    const char *path;
    const obj_options *options;
    job_control *job;
    file_view view;
    gltf_bytes binary; /* the BIN chunk of a .glb */
    bool has_binary;
    cJSON *root;
    json_place place, extensions_place, lights_place;
    gltf_items lists[GLTF_LISTS];
    gltf_pose *poses; /* per node; NULL: no animation is chosen */
    gltf_buffer *buffers;
    gltf_view *views;
    uint64_t bytes_available; /* size of the file and of the buffers opened so far */
    const char *kind;         /* identifier of the problem, if the current step fails */
    problem_list problems;
    double origin[3]; /* subtracted from the transforms of all nodes */
    uint32_t said;    /* bit set of warnings that are reported only once */
} gltf_file;

/* Returns true at the first call with this bit. */
static inline bool gltf_is_first(gltf_file *gltf, uint32_t bit) {
    const bool is_first = !(gltf->said & bit);
    gltf->said |= bit;
    return is_first;
}

/* --- gltf_container.c ------------------------------------------------------------------------- */

/* Maps and parses the file `gltf->path`, and finds the arrays. May return KD_ERROR_INPUT. */
kd_status gltf_file_open(gltf_file *gltf);
void gltf_file_close(gltf_file *owned);

/* Returns KD_ERROR_INPUT "file: place: ..." and sets the kind of the problem (a static string). */
kd_status gltf_fail(gltf_file *gltf, const char *kind, const json_place *at, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
/* Adds a warning, which is reported when the file has been read. */
void gltf_warn(gltf_file *gltf, const char *kind, const json_place *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns true if the file lists the extension in extensionsRequired. */
bool gltf_requires(const gltf_file *gltf, const char *name);

/* Returns true if Blender wrote the file; it deviates from the specification in some values. */
static inline bool gltf_is_blenders(const gltf_file *gltf) {
    const cJSON *asset = cJSON_GetObjectItemCaseSensitive(gltf->root, "asset");
    const cJSON *program = cJSON_GetObjectItemCaseSensitive(asset, "generator");
    return cJSON_IsString(program) && strstr(program->valuestring, "Blender");
}

static inline json_place gltf_place(const gltf_file *gltf, gltf_list list, uint32_t index) {
    return json_place_item(&gltf->lists[list].place, (int)index);
}
static inline const cJSON *gltf_item(const gltf_file *gltf, gltf_list list, uint32_t index) {
    return gltf->lists[list].items[index];
}

/* --- gltf_container.c: properties of a JSON object; absent ones leave the value unchanged --- */

/* A finite number in [minimum, maximum]. */
kd_status gltf_number(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                      double minimum, double maximum, double *value);
/* A list of `count` finite numbers. Sets *given, if not NULL, to true if the property exists. */
kd_status gltf_numbers(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                       int count, double *values, bool *given);
kd_status gltf_colour(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                      vec3 *value);
/* An integer from 0 to 2^53. */
kd_status gltf_count(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                     uint64_t *value);
/* An index of an element of `list`; KD_NONE if absent. */
kd_status gltf_index(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                     gltf_list list, uint32_t *index);
kd_status gltf_index_of(gltf_file *gltf, const json_place *at, const cJSON *item, gltf_list list,
                        uint32_t *index);
kd_status gltf_flag(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                    bool *value);
/* A string, borrowed from the tree. */
kd_status gltf_text(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                    const char **value);
/* An object or a list; NULL if absent. */
kd_status gltf_inner(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                     bool is_list, const cJSON **inner);
/* The extension `name` of the object, or NULL. */
kd_status gltf_extension(gltf_file *gltf, const json_place *at, const cJSON *object,
                         const char *name, const cJSON **inner);

/* --- gltf_buffers.c --------------------------------------------------------------------------- */

bool gltf_uri_is_data(const char *uri);
/* Decodes a data URI; freed by memory_free. */
kd_status gltf_uri_decode(gltf_file *gltf, const json_place *at, const char *uri,
                          unsigned char **bytes, uint64_t *count);
/* Returns the path of a file in the glTF file's directory or below; freed by memory_free. */
kd_status gltf_uri_path(gltf_file *gltf, const json_place *at, const char *uri, char **path);

/* Returns the bytes of buffer view `view`, decoded if it is compressed. *stride is 0 if unset. */
kd_status gltf_view_bytes(gltf_file *gltf, uint32_t view, gltf_bytes *bytes, uint32_t *stride);
/* Returns bytes [offset, offset + count) of `buffer`. */
kd_status gltf_buffer_part(gltf_file *gltf, const json_place *at, uint32_t buffer, uint64_t offset,
                           uint64_t count, gltf_bytes *bytes);

/* Returns the part of a buffer that a buffer view or a compressed view refers to. */
kd_status gltf_view_part(gltf_file *gltf, const json_place *at, const cJSON *json,
                         gltf_bytes *bytes);

/* Decodes a view by its extension object `packed`. Returns KD_ERROR_INPUT in builds without
   meshoptimizer. */
kd_status gltf_meshopt_unpack(gltf_file *gltf, const json_place *at, const cJSON *packed,
                              gltf_view *view);

/* --- gltf_accessor.c -------------------------------------------------------------------------- */

typedef struct gltf_accessor {
    uint32_t index;
    uint32_t count;      /* number of elements */
    uint32_t components; /* components per element, 1 to 16 */
    int32_t type;        /* component type: 5120 BYTE ... 5126 FLOAT */
    bool normalized;
} gltf_accessor;

kd_status gltf_accessor_open(gltf_file *gltf, uint32_t index, gltf_accessor *out);
/* Reads all elements as `components` floats each (freed by memory_free). Normalized integers are
   mapped to [-1, 1] or [0, 1]; the padding of matrices is removed. */
kd_status gltf_accessor_floats(gltf_file *gltf, const gltf_accessor *accessor, float **values);
/* The same for unsigned integers. */
kd_status gltf_accessor_integers(gltf_file *gltf, const gltf_accessor *accessor, uint32_t **values);

#endif
