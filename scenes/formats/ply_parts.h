/* The parts of the PLY reader. The header lists elements, each with so many rows of the same
   properties. Rows of one element are read in pieces, each by one thread at a time. Cutting checks
   that every row of a binary file lies within it, and counts triangles, so that reading writes
   everything to its final place: faces, strips and the materials of triangles.
   Source: G. Turk, "The PLY polygon file format" (1994). */
#ifndef KD_SCENES_FORMATS_PLY_PARTS_H
#define KD_SCENES_FORMATS_PLY_PARTS_H
#include "core/files/file.h"
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

typedef struct ply_piece {
    const ply_element *element;
    const char *begin, *end; /* binary: of its rows; a text: of whole lines that hold them */
    uint64_t first_row, rows;
    uint64_t line;                      /* of `begin`, 0-based in the file; a text only */
    uint64_t triangles, first_triangle; /* its room in the mesh */
    uint64_t unusable;                  /* of them: those left without corners */
    problem_list problems;              /* lines from the file's beginning */
    bool bad_position, bad_normal, bad_texcoord;
    kd_status status; /* of its thread: KD_ERROR_MEMORY */
} ply_piece;

typedef struct ply_file {
    const char *path;
    file_view view;
    ply_header header;
    text_chunks chunks; /* of a text's rows */
    ply_piece *pieces;
    uint64_t piece_count, piece_room;
    problem_list problems; /* of the file as a whole; lines from its beginning */
    uint64_t piece_bytes;  /* about so many bytes are a piece; 0: chosen here. Changes no result. */
} ply_file;

/* One row, as far as it matters. */
typedef struct ply_row {
    float numbers[PLY_SCALARS]; /* 0 where there is none */
    int64_t *corners;           /* of the list; owned */
    uint64_t corner_count, corner_room;
} ply_row;

/* ply_cut.c: the pieces, in the file's order, with their triangles counted (a text's: not yet). A
   file that ends too early is a fatal problem; the pieces hold what is there. KD_ERROR_MEMORY. */
kd_status ply_cut(ply_file *from);

/* ply_rows.c: reads the row at *at and moves there behind it (a text: behind its line). False: a
   fault of a text, which has been told; or no memory, which the piece's status says. */
bool ply_row_read(const ply_file *from, ply_piece *piece, const char **at, uint64_t *line,
                  ply_row *row);
/* Triangles of a text's piece of faces or strips; at least as many as its rows can make. */
uint64_t ply_text_triangles(const ply_file *from, const ply_piece *piece);
/* The same of one row of a binary file; *at moves behind it. False if the file ends before. */
bool ply_row_measure(const ply_file *from, const ply_element *element, const char **at,
                     uint64_t *triangles);

/* A problem of a row: at its line, or at its byte. */
void ply_problem(const ply_file *from, problem_list *to, bool fatal, const char *kind,
                 const char *at, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

static inline bool ply_is_text(const ply_file *from) {
    return from->header.form == PLY_ASCII;
}

/* Triangles of a strip's corners: -1 begins a new one; corners that are the same make none. */
typedef struct ply_strip {
    int64_t before[2];
    uint64_t length; /* corners since it began */
} ply_strip;

/* Takes the next corner; true if it closes a triangle, whose corners are then in `triangle` with
   the winding of the strip's first. */
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
    mesh *into;      /* its positions are there */
    uint32_t *lines; /* 1-based, of each triangle; may be NULL */
    vec3 *colours;   /* of each vertex, as the file has them; NULL: none; owned */
} ply_target;

/* Fills the piece's triangles. A polygon is cut as OBJ's are; a face with an index out of range is
   a fatal problem, one of fewer than three corners is told and left out. */
void ply_faces_read(const ply_file *from, ply_piece *piece, const ply_target *to);

/* Gives the mesh its materials, and each triangle one. Without colours it is the default material,
   with MeshLab's TextureFile as its picture where that file is there. A mesh has no colours of
   vertices: a triangle gets the mean of its corners as the diffuse colour of its material, in 32
   steps of each of red, green and blue (sRGB), one material each. Call it after the faces are read,
   before unusable triangles are taken out. KD_ERROR_MEMORY. */
kd_status ply_materials(const ply_file *from, const ply_target *to, const obj_options *options);

#endif
