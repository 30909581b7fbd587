/* Kinds of queries, and the arrays that receive their results. */
#ifndef KD_POINTS_API_KINDS_H
#define KD_POINTS_API_KINDS_H
#include <stdint.h>

typedef enum points_kind {
    POINTS_NEAREST, /* rows of k */
    POINTS_COUNT,   /* number of results per query, as offsets */
    POINTS_FILL     /* rows at given offsets */
} points_kind;

typedef enum points_query_calls {
    POINTS_QUERIES,
    POINTS_BOXES, /* `points` are the lower corners; for POINTS_COUNT and POINTS_FILL */
    POINTS_SELF   /* self-query: the tree's own points */
} points_query_calls;

/* Result arrays; each may be NULL. Ids have 32 or 64 bits. */
typedef struct points_rows {
    uint32_t *ids;
    uint64_t *wide;
    void *dist2;
    uint32_t *counts;
    uint64_t *sums; /* for POINTS_COUNT: count + 1 offsets */
} points_rows;

#endif
