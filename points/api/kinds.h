/* What a tree is asked for, and where its answers go. */
#ifndef KD_POINTS_API_KINDS_H
#define KD_POINTS_API_KINDS_H
#include <stdint.h>

typedef enum points_kind {
    POINTS_NEAREST, /* rows of k */
    POINTS_COUNT,   /* how many there are, as offsets */
    POINTS_FILL     /* rows at offsets */
} points_kind;

typedef enum points_asks {
    POINTS_QUERIES,
    POINTS_BOXES, /* lower corners are the query's points; POINTS_COUNT and POINTS_FILL */
    POINTS_SELF   /* the tree's own points */
} points_asks;

/* Where answers go: each may be NULL. Ids of 32 or of 64 bits. */
typedef struct points_rows {
    uint32_t *ids;
    uint64_t *wide;
    void *dist2;
    uint32_t *counts;
    uint64_t *sums; /* of POINTS_COUNT: count + 1 offsets */
} points_rows;

#endif
