/* Internals of the mesh checker: the state of a file, the checks, and exact geometric
   predicates. */
#ifndef KD_SCENES_CHECK_CHECK_PARTS_H
#define KD_SCENES_CHECK_CHECK_PARTS_H
#include "accel/tree/tritree.h"
#include "core/math/geometry.h"
#include "scenes/check/check.h"
#include "scenes/mesh/mesh.h"

/* Properties of a triangle, as bits. */
enum {
    CHECK_FLAT = 1,                      /* degenerate: zero area */
    CHECK_COPY = 2,                      /* has the same vertices as an earlier triangle */
    CHECK_AGAINST = 4,                   /* winding opposite to most of its shell */
    CHECK_INWARDS = 8,                   /* belongs to a shell whose front faces inwards */
    CHECK_ONE_SIDED = 16,                /* belongs to a non-orientable shell */
    CHECK_OTHER_APPEARANCE = 32,         /* a duplicate, but the first one with its material */
    CHECK_IDLE = CHECK_FLAT | CHECK_COPY /* ignored as part of the surface */
};

/* Uses of a position, as bits. */
enum { CHECK_USED_BY_FACE = 1, CHECK_USED_ELSEWHERE = 2 /* by a line or point element */ };

/* A half-edge: an edge of a triangle, in the direction of the triangle's winding. */
typedef struct check_half {
    uint32_t from, to; /* merged vertices */
    uint32_t triangle;
} check_half;

/* The state of a file under examination. */
typedef struct examination {
    check_report *report;
    const char *path;
    job_control *job; /* NULL: not cancellable */
    mesh body;
    uint32_t *lines;          /* line of each triangle's face; NULL: a format without lines */
    uint32_t *position_lines; /* line of each position; NULL: a format without lines */
    bool is_obj;              /* an OBJ, whose text can be parsed again */
    uint32_t *welded;         /* per position: the first position with equal coordinates */
    uint32_t *twin; /* per triangle: the first one with the same vertices; KD_NONE: itself */
    uint8_t *marks; /* per triangle: CHECK_FLAT and so on */
    uint8_t *used;  /* per position: CHECK_USED_BY_FACE and so on */
    /* Half-edges sorted by their vertices; those of one edge are adjacent. */
    uint64_t *edge_keys;   /* lower vertex << 32 | higher vertex */
    uint32_t *edge_halves; /* 3 * triangle + side */
    uint64_t half_count;
    /* Per triangle: the first triangle of its shell, the component connected by edges of two
       triangles; KD_NONE for ignored ones. */
    uint32_t *shell;
    check_half *rim; /* boundary half-edges, after resolving T-junctions */
    uint64_t rim_count;
    uint64_t capacity; /* capacity of report->problems */
    kd_status status;  /* KD_ERROR_MEMORY if adding a problem failed */
} examination;

/* Counts a problem, and lists it if fewer than CHECK_PROBLEMS of its kind are listed. The message
   is in printf format. */
void check_note(examination *check, const char *file, uint32_t line, const char *kind,
                check_severity severity, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* The same for a triangle or a position of the mesh: with its line, else its index. */
void check_triangle_note(examination *check, uint64_t triangle, const char *kind,
                         check_severity severity, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void check_position_note(examination *check, uint64_t position, const char *kind,
                         check_severity severity, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Returns KD_INTERRUPTED if the job has been cancelled. */
kd_status check_interruption(const examination *check);

/* The checks, in the order in which they must run. Each may return KD_ERROR_MEMORY or
   KD_INTERRUPTED. */
/* check_text.c: lines of positions, polygons, normals of length zero; OBJ only. */
kd_status check_text(examination *check);
/* check_triangles.c: merges positions; unused and duplicate vertices; degenerate and duplicate
   triangles. */
kd_status check_weld(examination *check);
/* check_triangles.c: slivers, normals against the winding, textures without coordinates. */
kd_status check_triangles(examination *check);
/* check_edges.c: non-manifold edges and vertices. Creates the half-edges. */
kd_status check_edges(examination *check);
/* check_edges.c: finds shells; flipped faces. */
kd_status check_orientation(examination *check);
/* check_tjunctions.c: T-junctions. Creates the boundary. */
kd_status check_tjunctions(examination *check);
/* check_edges.c: boundary loops. */
kd_status check_holes(examination *check);
/* check_shells.c: glass that is not closed, inverted, or in other glass. `tree` contains all
   triangles. */
kd_status check_shells(examination *check, const tritree *tree);
bool check_is_glass(const examination *check, uint64_t triangle);
/* check_inwards.c: inverted shells. */
kd_status check_inwards(examination *check, const tritree *tree);
/* check_intersect.c: self-intersections. */
kd_status check_intersections(examination *check, const tritree *tree);
/* check.c: problems that a rendering would report. */
kd_status check_refused(examination *check);

static inline uint32_t check_corner(const examination *check, uint64_t triangle, int k) {
    return check->body.triangles[3 * triangle + (uint64_t)k];
}
static inline uint32_t check_place(const examination *check, uint64_t triangle, int k) {
    return check->welded[check_corner(check, triangle, k)];
}
static inline vec3 check_point(const examination *check, uint64_t triangle, int k) {
    return check->body.positions[check_corner(check, triangle, k)];
}
static inline check_half check_half_of(const examination *check, uint32_t half) {
    const check_half made = {check_place(check, half / 3, (int)(half % 3)),
                             check_place(check, half / 3, (int)((half + 1) % 3)), half / 3};
    return made;
}
/* Returns the end of the half-edges of the edge that begins at `begin`. */
static inline uint64_t check_edge_end(const examination *check, uint64_t begin) {
    uint64_t end = begin + 1;
    while (end < check->half_count && check->edge_keys[end] == check->edge_keys[begin]) ++end;
    return end;
}

/* Union-find with path halving; the smallest member is the root. */
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

/* Differences and products of points, in double precision. */
typedef struct check_vector {
    double x[3];
} check_vector;

static inline check_vector check_difference(vec3 a, vec3 from) {
    const check_vector made = {
        {(double)a.x - (double)from.x, (double)a.y - (double)from.y, (double)a.z - (double)from.z}};
    return made;
}
static inline check_vector check_cross(check_vector a, check_vector b) {
    const check_vector made = {{a.x[1] * b.x[2] - a.x[2] * b.x[1],
                                a.x[2] * b.x[0] - a.x[0] * b.x[2],
                                a.x[0] * b.x[1] - a.x[1] * b.x[0]}};
    return made;
}

/* check_ray.c: a ray from a point of a triangle along z. */
typedef struct check_ray {
    const examination *check;
    const tritree *tree;
    const uint32_t *groups; /* group of each triangle, by which the hits are sorted */
    double from[3];
    uint32_t *hits; /* owned; hit_count triangles */
    uint64_t hit_count, hit_capacity;
    uint64_t tests, tests_max; /* triangles tested so far, and the limit of work */
    kd_status status;
} check_ray;

/* Finds the triangles that a ray from a point of the triangle crosses. Incomplete if
   ray->tests >= ray->tests_max. */
kd_status check_ray_cast(check_ray *ray, uint32_t triangle);
/* Returns 1 if the ray leaves through the triangle's front, -1 if it enters, 0 if it misses. */
int check_ray_side(const check_ray *ray, uint32_t triangle);
void check_ray_close(check_ray *owned);

/* Sorts keys with their values; `largest` is an upper bound of the keys. */
kd_status check_sort(uint64_t *keys, uint32_t *values, uint64_t count, uint64_t largest);

/* Sets (*loops)[i] to the first boundary edge that is connected with edge i. The caller frees
 *loops by memory_free whatever the status. */
kd_status check_loops(const examination *check, uint32_t **loops);

/* Exact geometric predicates for points with float coordinates.
   Idea: a determinant in double precision with an error bound; if the bound is inconclusive, the
     exact sum of the exact products.
   Source: Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
     Predicates". Must be compiled without contraction (FMA). */

/* Returns the sign of the area of a, b, c, projected to axes i and j: 1 if counter-clockwise. */
int exact_turn(vec3 a, vec3 b, vec3 c, int i, int j);
/* Returns the side of the plane of a, b, c on which d is: 1 where the triangle appears
   clockwise. */
int exact_side(vec3 a, vec3 b, vec3 c, vec3 d);
/* Returns true if the area is exactly zero. */
bool exact_is_flat(vec3 a, vec3 b, vec3 c);

/* Writes the repaired mesh to the OBJ file `to`, completely or not at all. If the input is an OBJ,
   all its lines are preserved (groups, materials, texture coordinates, polygons, comments between
   them), except repaired vertices and faces; other formats are converted to OBJ first. Returns
   KD_ERROR_INPUT if the report contains an error or the file has no triangles; KD_ERROR_RUNTIME on
   a write error. */
kd_status check_fix(examination *check, const char *to);

/* check_fix.c: returns the mesh as the text of an OBJ file, and the line of each triangle; both
   are freed by memory_free. Materials become groups; their properties are lost. */
kd_status check_mesh_text(const mesh *body, char **text, uint64_t *bytes, uint32_t **lines);

#endif
