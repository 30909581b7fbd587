/* The inside of the STL reader: facets in pieces, each of which one thread reads at a time. */
#ifndef KD_SCENES_FORMATS_STL_PIECE_H
#define KD_SCENES_FORMATS_STL_PIECE_H
#include "core/math/geometry.h"
#include "scenes/text/problems.h"
#include "scenes/text/text.h"

enum { STL_HEADER = 84, STL_FACET = 50 }; /* bytes of a binary file */

/* The keyword that ended a piece: a text that ends within a solid has been cut off. */
typedef enum stl_end { STL_END_NONE, STL_END_INSIDE, STL_END_OUTSIDE } stl_end;

typedef struct stl_piece {
    text_span bytes; /* whole facets */
    vec3 *corners;   /* three of each triangle: a text's own, or a place in the whole's */
    uint32_t *lines; /* 1-based from the piece's beginning, of each triangle; a text only */
    uint64_t triangles, room;
    uint64_t facets;         /* as read */
    uint64_t line_count;     /* a text only */
    uint64_t turned;         /* facets whose normal is against their winding */
    uint64_t known, unknown; /* keywords */
    stl_end end;
    bool coloured;         /* a binary facet has a colour */
    problem_list problems; /* lines from the piece's beginning */
    kd_status status;      /* of its thread: KD_ERROR_MEMORY */
} stl_piece;

/* May a piece of a text begin with this line? */
bool stl_text_begins(const char *line);
/* Reads all facets of a piece of a text; `is_last`: nothing comes after it. */
void stl_text_read(stl_piece *piece, bool is_last);

/* Does the facet's normal, if it has one, point away from the side that its corners say? */
static inline bool stl_is_turned(vec3 normal, const vec3 *corners) {
    const vec3 cross =
        vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
    const float along = vec3_dot(vec3_normalize(cross), vec3_normalize(normal));
    return along < -0.01f; /* not for NaN */
}

#endif
