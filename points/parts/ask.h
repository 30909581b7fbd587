/* Exchange of queries and results between all ranks and the parts. */
#ifndef KD_POINTS_PARTS_ASK_H
#define KD_POINTS_PARTS_ASK_H
#include "points/api/kinds.h"
#include "points/parts/parts.h"

/* One rank's share of a collective call; every rank has queries of its own. */
typedef struct parts_call {
    const points_parts *of;
    ranks *among;
    const points_part *part;
    kd_points_query query; /* validated; its points are this rank's queries, or lower corners */
    kd_point_array hi;     /* upper corners */
    points_kind kind;
    points_asks asks;
    uint32_t k;
    const uint64_t *offsets; /* of the rows to fill */
    uint64_t first_row;      /* row of the first query, if `row_of` is NULL; the others follow */
    const uint64_t *row_of;  /* row of each query; or NULL */
    /* for each query the number of a point to exclude; or NULL */
    const uint64_t *self;
    const uint32_t *names; /* ids to return instead of numbers; or NULL */
    points_rows out;
    /* state during the call */
    uint64_t begin, end; /* the current chunk of queries */
    bool more;           /* some rank has further chunks */
} parts_call;

static inline uint64_t parts_row(const parts_call *call, uint64_t query) {
    return call->row_of ? call->row_of[query] : call->first_row + query;
}

static inline bool parts_asks_boxes(const parts_call *call) {
    return call->asks == POINTS_BOXES;
}

/* Number of scalars per query: a point and its radius, or two corners. */
static inline uint32_t parts_question_width(const parts_call *call) {
    return parts_asks_boxes(call) ? 2 * call->of->dims : call->of->dims + 1;
}

/* This rank's queries to each part and their results. Owns its memory. */
typedef struct parts_asked {
    uint64_t *begins; /* size + 1: ranges of the queries to each part */
    /* index of each query, relative to the chunk */
    uint32_t *who;
    void *scalars; /* coordinates and radii of the queries */
    /* queries + 1: ranges of the results; a call that only counts uses nothing else */
    uint64_t *offsets;
    uint64_t *numbers;
    void *dist2; /* NULL for boxes */
} parts_asked;

/* Collective: sends this rank's queries, executes those received on this rank's part, and receives
   the results. `own`: this rank's status so far; if any rank has failed, all return its error. */
kd_status parts_ask(parts_call *call, parts_asked *asked, kd_status own);
void parts_asked_close(parts_asked *owned); /* accepts a zeroed struct */

#endif
