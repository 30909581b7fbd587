/* A glTF file while it is read: its tree of JSON, its lists by number, its buffers. Everything that
   a file says is held against what it has before it is used. */
#ifndef KD_SCENES_GLTF_GLTF_FILE_H
#define KD_SCENES_GLTF_GLTF_FILE_H
#include "core/files/file.h"
#include "core/job.h"
#include "scenes/gltf/gltf.h"
#include "scenes/text/json_keys.h"

/* The lists at the file's top that are referred to by number. */
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
    GLTF_LIGHTS, /* of KHR_lights_punctual */
    GLTF_LISTS
} gltf_list;

typedef struct gltf_items {
    const cJSON **items; /* owned; of the file's tree */
    uint32_t count;
    json_place place;
} gltf_items;

typedef struct gltf_bytes { /* a stretch of bytes that is there; borrowed */
    const unsigned char *bytes;
    uint64_t count;
} gltf_bytes;

typedef struct gltf_buffer {
    gltf_bytes found;
    file_view file;       /* beside the glTF file */
    unsigned char *owned; /* from a data uri */
    bool is_open;
} gltf_buffer;

typedef struct gltf_view {
    unsigned char *unpacked; /* what a compressed view holds, once somebody asked; owned */
    uint64_t count;
} gltf_view;

typedef struct gltf_file {
    const char *path;
    const obj_options *options;
    job *watched;
    file_view view;
    gltf_bytes binary; /* the BIN chunk of a .glb */
    bool has_binary;
    cJSON *root;
    json_place place, extensions_place, lights_place;
    gltf_items lists[GLTF_LISTS];
    gltf_buffer *buffers;
    gltf_view *views;
    uint64_t bytes_there; /* of the file and of the buffers opened so far */
    const char *kind;     /* slug of the trouble that is about to be fatal */
    problem_list problems;
    uint32_t said; /* bits of the warnings that are given once */
} gltf_file;

/* --- gltf_container.c ------------------------------------------------------------------------- */

/* Maps `of->path`, parses it, finds the lists. KD_ERROR_INPUT. */
kd_status gltf_file_open(gltf_file *of);
void gltf_file_close(gltf_file *owned);

/* KD_ERROR_INPUT "file: place: ..." of a trouble of that kind (a static slug). */
kd_status gltf_fail(gltf_file *of, const char *kind, const json_place *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A warning, told when the file has been read. */
void gltf_warn(gltf_file *of, const char *kind, const json_place *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether Blender says that it wrote the file: some numbers mean something else then. */
static inline bool gltf_is_blenders(const gltf_file *of) {
    const cJSON *asset = cJSON_GetObjectItemCaseSensitive(of->root, "asset");
    const cJSON *program = cJSON_GetObjectItemCaseSensitive(asset, "generator");
    return cJSON_IsString(program) && strstr(program->valuestring, "Blender");
}

static inline json_place gltf_place(const gltf_file *of, gltf_list list, uint32_t index) {
    return json_place_item(&of->lists[list].place, (int)index);
}
static inline const cJSON *gltf_item(const gltf_file *of, gltf_list list, uint32_t index) {
    return of->lists[list].items[index];
}

/* --- gltf_container.c: one key of an object; an absent key leaves the value unchanged --------- */

/* In [least, most], finite. */
kd_status gltf_number(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                      double least, double most, double *value);
/* `count` of them, finite; *given, which may be NULL, says whether it was there. */
kd_status gltf_numbers(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                       int count, double *values, bool *given);
kd_status gltf_colour(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                      vec3 *value);
/* An integer from 0 to 2^53. */
kd_status gltf_count(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                     uint64_t *value);
/* Of an item of that list; KD_NONE if it is not there. */
kd_status gltf_index(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                     gltf_list list, uint32_t *index);
kd_status gltf_index_of(gltf_file *of, const json_place *at, const cJSON *item, gltf_list list,
                        uint32_t *index);
kd_status gltf_flag(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                    bool *value);
/* Borrowed from the tree. */
kd_status gltf_text(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                    const char **value);
/* An object or a list; NULL if it is not there. */
kd_status gltf_inner(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                     bool is_list, const cJSON **inner);
/* The object of that name in the object's `extensions`, or NULL. */
kd_status gltf_extension(gltf_file *of, const json_place *at, const cJSON *object, const char *name,
                         const cJSON **inner);

/* --- gltf_buffers.c --------------------------------------------------------------------------- */

static inline bool gltf_uri_is_data(const char *uri) {
    return strncmp(uri, "data:", 5) == 0;
}
/* The bytes of a data uri (memory_free). */
kd_status gltf_uri_decode(gltf_file *of, const json_place *at, const char *uri,
                          unsigned char **bytes, uint64_t *count);
/* The path of a file in the glTF file's folder or below it (memory_free). */
kd_status gltf_uri_path(gltf_file *of, const json_place *at, const char *uri, char **path);

/* --- gltf_buffers.c --------------------------------------------------------------------------- */

/* The bytes of buffer view `view`, unpacked if it is compressed; *stride: 0 if it says none. */
kd_status gltf_view_bytes(gltf_file *of, uint32_t view, gltf_bytes *found, uint32_t *stride);
/* [offset, offset + count) of `buffer`. */
kd_status gltf_buffer_part(gltf_file *of, const json_place *at, uint32_t buffer, uint64_t offset,
                           uint64_t count, gltf_bytes *found);

/* What views and packed views say alike: a part of a buffer. */
kd_status gltf_view_part(gltf_file *of, const json_place *at, const cJSON *from, gltf_bytes *found);

/* --- gltf_buffers.c --------------------------------------------------------------------------- */

/* What the extension `packed` of a view says, into `to`. KD_ERROR_INPUT without meshoptimizer. */
kd_status gltf_meshopt_unpack(gltf_file *of, const json_place *at, const cJSON *packed,
                              gltf_view *to);

/* --- gltf_accessor.c -------------------------------------------------------------------------- */

typedef struct gltf_accessor {
    uint32_t index;
    uint32_t count;      /* of elements */
    uint32_t components; /* of an element: 1 to 16 */
    int32_t type;        /* 5120 BYTE ... 5126 FLOAT */
    bool normalized;
} gltf_accessor;

kd_status gltf_accessor_open(gltf_file *of, uint32_t index, gltf_accessor *out);
/* All elements, `components` floats each (memory_free): integers as they are, normalized ones from
   -1 or 0 to 1; matrices without their padding. */
kd_status gltf_accessor_floats(gltf_file *of, const gltf_accessor *from, float **values);
/* The same of unsigned integers. */
kd_status gltf_accessor_integers(gltf_file *of, const gltf_accessor *from, uint32_t **values);

#endif
