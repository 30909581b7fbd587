/* Questions from all ranks to the parts, and what the parts find. */
#ifndef KD_POINTS_PARTS_ASK_H
#define KD_POINTS_PARTS_ASK_H
#include "points/api/kinds.h"
#include "points/parts/parts.h"

/* One rank's call: all ranks make it together, with queries of their own. */
typedef struct parts_call {
    const points_parts *of;
    ranks *among;
    const points_part *part;
    kd_points_query query; /* checked; its points are this rank's queries, or lower corners */
    kd_point_array hi;     /* upper corners */
    points_kind kind;
    points_asks asks;
    uint32_t k;
    const uint64_t *offsets; /* of the rows that are to be filled */
    uint64_t first_row;      /* of the first query, and so on; or */
    const uint64_t *row_of;  /* of each query its row */
    const uint64_t *self;    /* of each query a number that does not answer it; or NULL */
    const uint32_t *names;   /* to answer with instead of numbers, or NULL */
    points_rows out;
    /* while it lasts */
    uint64_t begin, end; /* the chunk of queries */
    bool more;           /* there are chunks behind it at some rank */
} parts_call;

static inline uint64_t parts_row(const parts_call *call, uint64_t query) {
    return call->row_of ? call->row_of[query] : call->first_row + query;
}

static inline bool parts_asks_boxes(const parts_call *call) {
    return call->asks == POINTS_BOXES;
}

/* Scalars of one question: a point and its radius, or two corners. */
static inline uint32_t parts_question_width(const parts_call *call) {
    return parts_asks_boxes(call) ? 2 * call->of->dims : call->of->dims + 1;
}

/* What this rank asks, part by part, and what it is told. Owner. */
typedef struct parts_asked {
    uint64_t *begins;  /* size + 1: the questions to each part */
    uint32_t *who;     /* the query of each, counted from the chunk's begin */
    void *scalars;     /* of the questions */
    uint64_t *offsets; /* questions + 1: the answers to each; of a call that counts these alone */
    uint64_t *numbers;
    void *dist2; /* NULL for boxes */
} parts_asked;

/* Sends the questions, answers those that come, takes the answers. `own`: how this rank is; if it
   or another has failed all end with that failure. All ranks call it. */
kd_status parts_ask(parts_call *call, parts_asked *asked, kd_status own);
void parts_asked_close(parts_asked *owned); /* takes a zeroed one */

#endif
