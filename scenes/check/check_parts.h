/* The parts of the mesh doctor: one file under examination, the checks, and exact predicates. */
#ifndef KD_SCENES_CHECK_CHECK_PARTS_H
#define KD_SCENES_CHECK_CHECK_PARTS_H
#include "accel/tree/tritree.h"
#include "core/math/geometry.h"
#include "scenes/check/check.h"
#include "scenes/mesh/mesh.h"

/* What is known of a triangle, as bits. */
enum {
    CHECK_FLAT = 1,                      /* without area */
    CHECK_COPY = 2,                      /* an earlier one is at the same three places */
    CHECK_AGAINST = 4,                   /* wound against most of its shell */
    CHECK_INWARDS = 8,                   /* of a shell wound inwards */
    CHECK_ONE_SIDED = 16,                /* of a shell without a right winding */
    CHECK_OTHER_LOOK = 32,               /* a copy too, but the first one of its material there */
    CHECK_IDLE = CHECK_FLAT | CHECK_COPY /* no part of the surface */
};

/* Who uses a position. */
enum { CHECK_USED_BY_FACE = 1, CHECK_USED_ELSEWHERE = 2 /* by a line or a point, or both */ };

/* One of the three edges of a triangle that is part of the surface, run through as it runs. */
typedef struct check_half {
    uint32_t from, to; /* welded positions */
    uint32_t triangle;
} check_half;

/* One file under examination. */
typedef struct examination {
    check_report *report;
    const char *path;
    job *watched; /* NULL: nobody */
    mesh body;
    uint32_t *lines;          /* of each triangle's face; NULL: a format without lines */
    uint32_t *position_lines; /* of each position; NULL: the same */
    bool is_obj;              /* its text can be read again line by line */
    uint32_t *welded;         /* of each position, the first position at the same place */
    uint32_t *twin;           /* of each triangle, the first one at its places; KD_NONE: itself */
    uint8_t *marks;           /* of each triangle: CHECK_FLAT, ... */
    uint8_t *used;            /* of each position: CHECK_USED_BY_FACE, ..., or 0 */
    /* half edges, sorted by their places: those of one edge are neighbours */
    uint64_t *edge_keys;   /* lower place << 32 | higher place */
    uint32_t *edge_halves; /* 3 triangle + side */
    uint64_t half_count;
    uint32_t *shell; /* of each triangle, the first one of its shell: what hangs together by edges
                        of two triangles; KD_NONE of idle ones */
    check_half *rim; /* what is left open, T-junctions closed */
    uint64_t rim_count;
    uint64_t room;    /* of report->problems */
    kd_status status; /* of keeping problems */
} examination;

/* Keeps it if there are fewer than CHECK_PROBLEMS of its kind; always counts it. printf form. */
void check_note(examination *of, const char *file, uint32_t line, const char *kind,
                check_severity severity, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* The same about a triangle or a position of the mesh: with its line, else its number. */
void check_triangle_note(examination *of, uint64_t triangle, const char *kind,
                         check_severity severity, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void check_position_note(examination *of, uint64_t position, const char *kind,
                         check_severity severity, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* KD_INTERRUPTED, once the job is cancelled. */
kd_status check_interruption(const examination *of);

/* Each returns KD_ERROR_MEMORY or KD_INTERRUPTED, and needs what stands before it. */
/* check_text.c: lines of positions, faces as polygons, normals of length zero; OBJ only. */
kd_status check_text(examination *of);
/* check_triangles.c: places; unused and unwelded vertices; triangles without area, and copies. */
kd_status check_weld(examination *of);
/* check_triangles.c: slivers, normals against the winding, textures without coordinates. */
kd_status check_triangles(examination *of);
/* check_shells.c: glass that is open, or wound inside out. */
kd_status check_shells(examination *of);
/* check_edges.c: edges and vertices where the surface is none. Makes the half edges. */
kd_status check_edges(examination *of);
/* check_edges.c: shells, and single faces that are flipped. */
kd_status check_orientation(examination *of);
/* check_tjunctions.c: makes the rim. */
kd_status check_tjunctions(examination *of);
/* check_edges.c: loops of the rim. */
kd_status check_holes(examination *of);
/* check_inwards.c: shells inside out; `tree` is over all triangles. */
kd_status check_inwards(examination *of, const tritree *tree);
/* check_intersect.c: triangles that cut each other. */
kd_status check_intersections(examination *of, const tritree *tree);
/* check.c: what a rendering would refuse. */
kd_status check_refused(examination *of);

static inline uint32_t check_corner(const examination *of, uint64_t triangle, int k) {
    return of->body.triangles[3 * triangle + (uint64_t)k];
}
static inline uint32_t check_place(const examination *of, uint64_t triangle, int k) {
    return of->welded[check_corner(of, triangle, k)];
}
static inline vec3 check_point(const examination *of, uint64_t triangle, int k) {
    return of->body.positions[check_corner(of, triangle, k)];
}
static inline check_half check_half_of(const examination *of, uint32_t half) {
    const check_half made = {check_place(of, half / 3, (int)(half % 3)),
                             check_place(of, half / 3, (int)((half + 1) % 3)), half / 3};
    return made;
}
/* One past the last half edge of the edge that begins at `begin`. */
static inline uint64_t check_edge_end(const examination *of, uint64_t begin) {
    uint64_t end = begin + 1;
    while (end < of->half_count && of->edge_keys[end] == of->edge_keys[begin]) ++end;
    return end;
}

/* Union-find with halved paths; the smallest member is the root. */
static inline uint32_t check_root(uint32_t *parent, uint32_t i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}
static inline void check_join(uint32_t *parent, uint32_t a, uint32_t b) {
    a = check_root(parent, a);
    b = check_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Sorts keys, and values with them, by the bits that keys up to `largest` have. */
kd_status check_sort(uint64_t *keys, uint32_t *values, uint64_t count, uint64_t largest);

/* (*loops)[i] = the first edge of the rim that hangs together with edge i; to memory_free whatever
   the status is. */
kd_status check_loops(const examination *of, uint32_t **loops);

/* Signs that are never wrong, of points that are floats.
   Idea: a determinant in double with a bound on its error; where the bound says nothing, the exact
   sum of the exact products of coordinates.
   Source: Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
           Predicates". Must be compiled without contraction. */

/* Of the area of a, b, c in the plane of the axes i and j: 1 counter-clockwise, -1, 0. */
int exact_turn(vec3 a, vec3 b, vec3 c, int i, int j);
/* On which side of the plane of a, b, c is d? 1: where the triangle is seen clockwise. */
int exact_side(vec3 a, vec3 b, vec3 c, vec3 d);
/* No area, not the least. */
bool exact_is_flat(vec3 a, vec3 b, vec3 c);

/* Writes the OBJ file `to`, whole or not at all. An OBJ keeps its lines (groups, materials, texture
   coordinates, polygons, comments between them) but for the vertices and faces that are mended;
   any other format becomes an OBJ first. KD_ERROR_INPUT if an error is in the report, or the file
   has no triangle; KD_ERROR_RUNTIME if it cannot be written. */
kd_status check_fix(examination *of, const char *to);

/* check_fix.c: the mesh as the text of an OBJ file, and the line of each triangle there; both
   to memory_free. Materials are groups there: their looks stay behind. */
kd_status check_mesh_text(const mesh *body, char **text, uint64_t *bytes, uint32_t **lines);

#endif
