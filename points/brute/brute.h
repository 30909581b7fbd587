/* Points of more than eight dimensions, where trees do not help: every query is compared with all
   points. Results are those of points/tree/walk_nd.h: the same distances, ordered by (dist2, id).
   Idea: a product of matrices in floats (|x|^2 / 2 - x.q for a tile of points and six queries) is a
         bound on each distance. Only the tiles that it does not exclude are measured, axis by axis
         in the scalar of the points. The floats are relative to the middle of the points and scaled
         to 1, so that they suit points far from the origin, and small or large ones.
   Work: one multiplication and addition per coordinate, point and query.
   Memory: the points twice, once in their scalar and once as floats, and four bytes per point.
   Invariants: the bound errs to one side, by more than the rounding errors of the product; a value
               that is not a number excludes nothing. */
#ifndef KD_POINTS_BRUTE_BRUTE_H
#define KD_POINTS_BRUTE_BRUTE_H
#include "core/status.h"
#include "points/tree/visitor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BRUTE_DIMS_MAX = 1 << 16, BRUTE_LANES = 32, BRUTE_GROUP = 6, BRUTE_QUERIES = 96 };

/* Points in tiles of BRUTE_LANES, axis by axis in each tile. */
typedef struct brute_points {
    void *tiles;      /* coordinates */
    float *rough;     /* (coordinates - middle) * scale */
    float *halves;    /* half the squared length of each rough point, less the error of bounds */
    double *middle;   /* centre of the points, per axis */
    double scale;     /* a power of two */
    double tolerance; /* relative error of bounds */
    uint32_t count, dims;
    point_scalar scalar;
} brute_points;

/* Copies valid points; KD_ERROR_INPUT names the first coordinate that is not finite. Stores the box
   of the first axes. */
kd_status brute_open(brute_points **out, const point_array *points, point_box *box);
void brute_close(brute_points *points); /* accepts NULL */
uint64_t brute_bytes(const brute_points *points);
uint64_t brute_hash(const brute_points *points); /* of the coordinates */
/* Copies the points in their order, packed. */
void brute_copy(const brute_points *points, void *coordinates);
/* Checks that all coordinates are finite, as point_scan. */
kd_status brute_check(const point_array *points);

static inline uint64_t brute_at(const brute_points *points, uint32_t point, uint32_t axis) {
    return ((uint64_t)(point / BRUTE_LANES) * points->dims + axis) * BRUTE_LANES +
           point % BRUTE_LANES;
}
static inline double brute_coordinate(const brute_points *points, uint32_t point, uint32_t axis) {
    return point_coordinate((const char *)points->tiles +
                                brute_at(points, point, axis) * point_scalar_bytes(points->scalar),
                            points->scalar, 0);
}

/* --- a block of queries and some of the points ---------------------------------------------- */

typedef enum brute_kind { BRUTE_NEAREST, BRUTE_COUNT, BRUTE_FILL, BRUTE_VISIT } brute_kind;

/* The results of one query. BRUTE_NEAREST: the best so far (neighbour_nd_offer). */
typedef struct brute_row {
    neighbour_nd *list;
    uint64_t count, capacity;
    double bound;   /* search bound, in units of dist2 */
    uint32_t self;  /* a point that is not a result; KD_NONE: none */
    const void *at; /* the query, in the scalar of the points */
} brute_row;

typedef struct brute_block {
    const brute_points *points;
    brute_row *rows;
    uint32_t count, k;
    brute_kind kind;
    point_norm norm;
    bool exhausted; /* out of memory */
    float *rough;   /* in groups of BRUTE_GROUP queries, axis by axis in each */
    float limits[BRUTE_QUERIES];
    double lengths2[BRUTE_QUERIES]; /* of the rough queries; INFINITY: bounds do not apply */
} brute_block;

/* Prepares `rough` and the limits of a block whose rows are set. */
void brute_prepare(brute_block *block);
/* Compares the queries with the points of the tiles [begin, end). */
void brute_scan(brute_block *block, uint64_t begin, uint64_t end);

/* --- batches of queries --------------------------------------------------------------------- */

typedef struct brute_request {
    brute_kind kind;
    uint32_t k;
    point_norm norm;
    point_array queries; /* with the dims and scalar of the points */
    bool self, skips;    /* `queries` are the points themselves; no point is its own neighbour */
    const void *radii;   /* one per query, in the scalar of the points; or NULL */
    double max_radius;
    const uint32_t *renamed; /* id to return for each point; or NULL */
    uint32_t *ids, *counts, *order;
    void *dist2;
    uint64_t *offsets;
    const point_visitor *visitor;
} brute_request;

kd_status brute_search(const brute_points *points, const brute_request *request);
/* Counts or lists, in input order, the points in boxes, whose corners `lo` and `hi` are. */
kd_status brute_boxes(const brute_points *points, const brute_request *request,
                      const point_array *lo, const point_array *hi);

#ifdef __cplusplus
}
#endif
#endif
