/* Internals of the STL reader. Facets are cut into pieces, each read by one thread. */
#ifndef KD_SCENES_FORMATS_STL_PIECE_H
#define KD_SCENES_FORMATS_STL_PIECE_H
#include "core/math/geometry.h"
#include "scenes/mesh/mesh.h"
#include "scenes/text/problems.h"
#include "scenes/text/text.h"

enum { STL_HEADER = 84, STL_FACET = 50 }; /* sizes in bytes in a binary file */

/* State at the end of a piece: inside or outside a solid; NONE: it has no keyword that begins or
   ends one. A file whose last solid is not closed is truncated. */
typedef enum stl_end { STL_END_NONE, STL_END_INSIDE, STL_END_OUTSIDE } stl_end;

typedef struct stl_piece {
    text_span bytes; /* whole facets */
    /* 3 per triangle. Text: an array of the piece; binary: a part of the reader's array. */
    vec3 *corners;
    uint32_t *lines; /* text only: line of each triangle, 1-based in the piece */
    uint64_t triangles, capacity;
    uint64_t facets;         /* facets read, including those left out */
    uint64_t line_count;     /* text only */
    uint64_t reversed;       /* facets whose normal contradicts their winding */
    uint64_t known, unknown; /* numbers of keywords */
    stl_end end;
    uint32_t attributes;   /* binary: all attributes of its facets, joined by "or" */
    problem_list problems; /* line numbers are relative to the piece */
    kd_status status;      /* KD_ERROR_MEMORY if its thread ran out of memory */
} stl_piece;

/* stl_colours.c: sets the colours of a binary file's facets, and a white material of coloured ones,
   which replaces the default one if all are coloured. `facets` is the whole of them; those with a
   corner that is not finite are not in the mesh. `attributes` joins all of them. Does nothing if no
   facet has a colour. May return KD_ERROR_MEMORY. */
kd_status stl_colours(struct mesh *mesh, text_span header, text_span facets, uint32_t attributes);

/* Reads the three corners of a binary facet. Returns false if one of them is not finite. */
bool stl_corners_read(const char *facet, vec3 *corners);

/* Returns true if a text piece may begin with this line. */
bool stl_text_begins(const char *line);
/* Reads all facets of a text piece. `is_last`: the piece is the file's last. */
void stl_text_read(stl_piece *piece, bool is_last);

/* Returns true if the facet has a normal that points to the back of its corners' winding. */
static inline bool stl_is_turned(vec3 normal, const vec3 *corners) {
    const vec3 cross =
        vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
    const float along = vec3_dot(vec3_normalize(cross), vec3_normalize(normal));
    return along < -0.01f; /* false for NaN */
}

#endif
