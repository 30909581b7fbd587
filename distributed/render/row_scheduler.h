/* Rows of a picture dealt to ranks by who is free.
   Source: Polychronopoulos and Kuck 1987, "Guided self-scheduling: a practical scheduling scheme
           for parallel supercomputers", with a rank's speed as its weight (Hummel, Schonberg and
           Flynn 1992, "Factoring").
   Idea: a rank that asks gets half of what its speed makes its share of the rows that are left; so chunks
         shrink towards the end, and a slow rank has a short one when the others are done. */
#ifndef KD_DISTRIBUTED_RENDER_ROW_SCHEDULER_H
#define KD_DISTRIBUTED_RENDER_ROW_SCHEDULER_H
#include "core/status.h"
#include <stdint.h>

typedef struct deal {
    int32_t size; /* ranks */
    int32_t next, rows;
    double weight; /* of a row: samples */
    double *speed; /* of each rank, samples a second; 0: not known yet. Kept from pass to pass */
} deal;

kd_status deal_open(deal *out, int32_t ranks);
void deal_close(deal *owned); /* takes a zeroed one */
void deal_begin(deal *of, int32_t rows, double row_samples);
/* The next chunk, [*top, *bottom); empty: none is left. */
void deal_next(deal *of, int32_t rank, int32_t *top, int32_t *bottom);
/* A rank has done a chunk. */
void deal_note(deal *of, int32_t rank, int32_t rows, double seconds);
/* Of the slowest rank that is known; 0: none is. */
double deal_slowest(const deal *of);

/* Rows of a picture split among ranks, evenly, or so that all take as long, by the seconds that
   each took for the part of `old` that it had. Bounds are of ranks + 1 rows. */
void split_even(int32_t *bounds, int32_t ranks, int32_t rows);
void split_again(int32_t *bounds, const int32_t *old, int32_t ranks, const double *seconds);
/* The longest of the seconds over their mean; 1 is even. */
double split_imbalance(const double *seconds, int32_t ranks);

#endif
