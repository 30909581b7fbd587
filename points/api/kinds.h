/* Kinds of queries. */
#ifndef KD_POINTS_API_KINDS_H
#define KD_POINTS_API_KINDS_H

typedef enum points_kind {
    POINTS_NEAREST, /* rows of k */
    POINTS_COUNT,   /* number of results per query, as offsets */
    POINTS_FILL     /* rows at given offsets */
} points_kind;

typedef enum points_query_calls {
    POINTS_QUERIES,
    POINTS_BOXES, /* `points` are a copy of `lo`; for POINTS_COUNT and POINTS_FILL */
    POINTS_SELF   /* self-query: the tree's own points */
} points_query_calls;

#endif
