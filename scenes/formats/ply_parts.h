/* Internals of the PLY reader. The header lists elements; each has a number of rows with the same
   properties. The rows of an element are cut into pieces, each read by one thread. Cutting
   validates that every row of a binary file is within the file, and counts triangles, so that
   reading can write everything to its final position: vertices, faces, strips, and the materials
   of triangles.
   Source: G. Turk, "The PLY polygon file format" (1994). */
#ifndef KD_SCENES_FORMATS_PLY_PARTS_H
#define KD_SCENES_FORMATS_PLY_PARTS_H
#include "core/files/file.h"
#include "core/memory.h"
#include "scenes/mesh/mesh.h"
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

/* The meaning of a property for the reader. */
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
    PLY_ALPHA,   /* reported only */
    PLY_TEXTURE, /* number of a face's texture */
    PLY_SCALARS, /* the roles above are scalars of a vertex or, from PLY_RED on, of a face */
    PLY_CORNERS, /* the index list of a face or strip */
    PLY_WEDGES,  /* the list of u and v of each corner of a face */
    PLY_PAINTS,  /* the list of red, green, blue and perhaps alpha of each corner of a face */
    PLY_NOTHING  /* ignored */
} ply_role;

typedef struct ply_property {
    ply_type type, count_type; /* types of the items, and of a list's length */
    ply_role role;
    bool is_list;
} ply_property;

typedef enum ply_kind { PLY_VERTICES, PLY_FACES, PLY_STRIPS, PLY_OTHER } ply_kind;

typedef struct ply_element {
    text_span name;
    uint64_t count;
    uint32_t first, property_count; /* range in header.properties */
    uint32_t roles;                 /* bit mask of ply_role */
    ply_kind kind;
    bool has_lists;
    /* minimum size of a row in a binary file; the exact size if has_lists is false */
    uint64_t min_bytes;
    uint64_t line; /* 0-based */
} ply_element;

typedef struct ply_header {
    ply_form form;
    ply_element *elements;
    ply_property *properties;
    uint32_t element_count, property_count, texture_count;
    uint64_t element_capacity, property_capacity, texture_capacity;
    const ply_element *vertices;
    text_span *textures; /* the names of "comment TextureFile NAME", in order */
    char *text;          /* a copy of the header, to which all names point */
    uint64_t bytes, lines;
} ply_header;

/* Parses the header into `out`, which the caller must close in any case. Adds problems with line
   numbers of the file; after a fatal one the header must not be used. May return
   KD_ERROR_MEMORY. */
kd_status ply_header_read(ply_header *out, const file_view *view, problem_list *problems);
void ply_header_close(ply_header *owned);

extern const uint8_t ply_type_bytes[PLY_TYPES];

static inline bool ply_type_is_real(ply_type type) {
    return type == PLY_FLOAT || type == PLY_DOUBLE;
}
static inline bool ply_has(const ply_element *element, ply_role role) {
    return element->roles >> role & 1;
}
/* Returns true if the element has the `count` roles from `first` on. */
static inline bool ply_has_all(const ply_element *element, ply_role first, uint32_t count) {
    const uint32_t roles = ((1u << count) - 1) << first;
    return (element->roles & roles) == roles;
}
/* Returns true if some faces of the file have it. */
static inline bool ply_faces_have(const ply_header *header, ply_role first, uint32_t count) {
    for (uint32_t i = 0; i < header->element_count; ++i) {
        const ply_element *element = &header->elements[i];
        if (element->kind == PLY_FACES && element->count && ply_has_all(element, first, count))
            return true;
    }
    return false;
}

typedef struct ply_piece {
    const ply_element *element;
    const char *begin, *end; /* binary: the rows; text: the whole lines that contain them */
    uint64_t first_row, rows;
    uint64_t line;                      /* text only: line number of `begin`, 0-based in the file */
    uint64_t triangles, first_triangle; /* range of triangles in the mesh */
    uint64_t unusable;                  /* triangles of the range that got no corners */
    problem_list problems;              /* line numbers are those of the file */
    bool bad_position, bad_normal, bad_texcoord;
    uint64_t transparent; /* vertices with an alpha below that of opaque ones */
    kd_status status;     /* KD_ERROR_MEMORY if its thread ran out of memory */
} ply_piece;

typedef struct ply_file {
    const char *path;
    file_view view;
    ply_header header;
    text_chunks chunks; /* text only: chunks of the rows */
    char *joined;       /* the text with each row on one line, if it was not; or NULL */
    ply_piece *pieces;
    uint64_t piece_count, piece_capacity;
    /* problems that belong to no piece; line numbers are those of the file */
    problem_list problems;
    /* approximate size of a piece; 0: default. The result does not depend on it. */
    uint64_t piece_bytes;
} ply_file;

typedef struct ply_numbers {
    float *items; /* owned */
    uint64_t count, capacity;
} ply_numbers;

/* The properties of one row that the reader uses. */
typedef struct ply_row {
    float numbers[PLY_SCALARS]; /* zeroed before the first row; 0 where the file has none */
    int64_t *corners;           /* items of the index list; owned */
    uint64_t corner_count, corner_capacity;
    ply_numbers wedges, paints; /* items of the lists of texture coordinates and of colours */
} ply_row;

static inline void ply_row_close(ply_row *owned) {
    memory_free(owned->corners);
    memory_free(owned->wedges.items);
    memory_free(owned->paints.items);
}

/* ply_cut.c: cuts the rows into pieces in file order. Binary: counts their triangles, too. A
   truncated file is a fatal problem; the pieces then cover the rows that exist. May return
   KD_ERROR_MEMORY. */
kd_status ply_cut(ply_file *file);

/* ply_join.c: sets *joined to a copy of the rows in which each is on one line, as large as they
   are with a line end added; NULL if the words of the text are not exactly
   those of the rows that the header announces. Freed by memory_free. May return
   KD_ERROR_MEMORY. */
kd_status ply_rows_join(const ply_file *file, char **joined);

/* ply_rows.c: reads the row at *at and advances *at past it (text: past its line). Returns false
   on a malformed row, which it reports, or if memory runs out (piece->status). */
bool ply_row_read(const ply_file *file, ply_piece *piece, const char **at, uint64_t *line,
                  ply_row *row);
/* Reads the position of the vertex at *at again, in double precision, and advances *at past the
   row (text: past its line). Returns false on a malformed row. */
bool ply_place_read(const ply_file *file, const ply_element *element, const char **at,
                    double place[3]);
/* Returns the number of triangles of a text piece of faces or strips. Malformed rows may yield
   fewer when they are read. */
uint64_t ply_text_triangles(const ply_file *file, const ply_piece *piece);
/* Adds the triangles of one binary row to *triangles and advances *at past the row. Returns false
   if the file ends within the row. */
bool ply_row_measure(const ply_file *file, const ply_element *element, const char **at,
                     uint64_t *triangles);

/* Reports a problem of a row with its line (text) or byte offset (binary). */
void ply_problem(const ply_file *file, problem_list *list, bool fatal, const char *kind,
                 const char *at, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

static inline bool ply_is_text(const ply_file *file) {
    return file->header.form == PLY_ASCII;
}

/* Decodes a triangle strip. Index -1 restarts the strip; degenerate triangles are skipped. */
typedef struct ply_strip {
    int64_t before[2];
    uint64_t length; /* corners since the restart */
} ply_strip;

/* Adds a corner. Returns true if it completes a triangle, and sets its corners with the winding of
   the strip's first triangle. */
static inline bool ply_strip_next(ply_strip *strip, int64_t corner, int64_t triangle[3]) {
    if (corner < 0) {
        strip->length = 0;
        return false;
    }
    const int64_t a = strip->before[0], b = strip->before[1];
    const uint64_t length = ++strip->length;
    strip->before[0] = b;
    strip->before[1] = corner;
    if (length < 3 || a == b || b == corner || a == corner) return false;
    const bool turned = length % 2 == 0;
    triangle[0] = turned ? b : a;
    triangle[1] = turned ? a : b;
    triangle[2] = corner;
    return true;
}

typedef struct ply_target {
    struct mesh *mesh; /* its positions have been read */
    uint32_t *lines;   /* line of each triangle, 1-based; or NULL */
    /* colours in the units of the file, per vertex, per triangle, or of the three corners of each
       triangle, one of these; owned; or NULL */
    vec3 *vertex_colours, *triangle_colours, *corner_colours;
    bool has_texcoords;
    bool has_wedges; /* texture coordinates are those of corners: 3 * i + k belongs to triangle i */
} ply_target;

/* Reads the piece's triangles. Polygons are triangulated as in OBJ. An index out of range is a
   fatal problem; a face with fewer than three corners is reported and skipped. Materials of
   triangles are numbers of textures, header.texture_count where there is none. */
void ply_faces_read(const ply_file *file, ply_piece *piece, const ply_target *target);

/* Decodes the colours, and stores those of triangles and corners in the mesh. May
   return KD_ERROR_MEMORY. */
kd_status ply_colours(const ply_file *file, const ply_target *target);

/* Creates the materials of the mesh: one per texture, and one without texture, of those that
   triangles use. They are white where there are colours or a texture. May return
   KD_ERROR_MEMORY. */
kd_status ply_materials(const ply_file *file, const ply_target *target, const obj_options *options);

#endif
