/* What a PLY file says of itself: elements, each with so many rows of the same properties.
   Source: G. Turk, "The PLY polygon file format" (1994). */
#ifndef KD_SCENES_PLY_PLY_HEADER_H
#define KD_SCENES_PLY_PLY_HEADER_H
#include "core/files/file.h"
#include "scenes/text/problems.h"
#include "scenes/text/text.h"

typedef enum ply_form { PLY_UNKNOWN, PLY_ASCII, PLY_LITTLE, PLY_BIG } ply_form;

typedef enum ply_type {
    PLY_INT8,
    PLY_UINT8,
    PLY_INT16,
    PLY_UINT16,
    PLY_INT32,
    PLY_UINT32,
    PLY_FLOAT,
    PLY_DOUBLE,
    PLY_TYPES
} ply_type;

/* What a property is to us. */
typedef enum ply_role {
    PLY_X,
    PLY_Y,
    PLY_Z,
    PLY_NX,
    PLY_NY,
    PLY_NZ,
    PLY_U,
    PLY_V,
    PLY_RED,
    PLY_GREEN,
    PLY_BLUE,
    PLY_SCALARS, /* so many roles are numbers of a vertex */
    PLY_CORNERS, /* the list of a face */
    PLY_NOTHING  /* read over */
} ply_role;

typedef struct ply_property {
    ply_type type, count_type; /* of the items, of their number */
    ply_role role;
    bool is_list;
} ply_property;

typedef enum ply_kind { PLY_VERTICES, PLY_FACES, PLY_STRIPS, PLY_OTHER } ply_kind;

typedef struct ply_element {
    text_span name;
    uint64_t count;
    uint32_t first, property_count; /* among the header's properties */
    uint32_t roles;                 /* bit of each role that is there */
    ply_kind kind;
    bool has_lists;
    uint64_t least_bytes; /* of a row in a binary file; all of them if it has no lists */
    uint64_t line;        /* 0-based */
} ply_element;

typedef struct ply_header {
    ply_form form;
    ply_element *elements;
    ply_property *properties;
    uint32_t element_count, element_room, property_count, property_room;
    const ply_element *vertices;
    text_span texture; /* MeshLab's "comment TextureFile NAME"; count 0: none */
    char *text;        /* a copy of the header that names point into */
    uint64_t bytes, lines;
} ply_header;

/* Fills `out`, to be closed whatever happens. Faults go to `problems`, lines from the file's
   beginning; after a fatal one the header is of no use. KD_ERROR_MEMORY. */
kd_status ply_header_read(ply_header *out, const file_view *from, problem_list *problems);
void ply_header_close(ply_header *owned);

extern const uint8_t ply_type_bytes[PLY_TYPES];

static inline bool ply_type_is_real(ply_type type) {
    return type == PLY_FLOAT || type == PLY_DOUBLE;
}
static inline bool ply_has(const ply_element *element, ply_role role) {
    return element->roles >> role & 1;
}

#endif
