/* Dynamic scheduling of image rows among ranks.
   Source: Polychronopoulos and Kuck 1987, "Guided self-scheduling: a practical scheduling scheme
           for parallel supercomputers", with a rank's speed as its weight (Hummel, Schonberg and
           Flynn 1992, "Factoring").
   Idea: a rank that requests work gets half of its share of the remaining rows, where shares are
         proportional to speed. Chunks therefore shrink towards the end, and a slow rank has a short
         one when the others finish. */
#ifndef KD_DISTRIBUTED_RENDER_ROW_SCHEDULER_H
#define KD_DISTRIBUTED_RENDER_ROW_SCHEDULER_H
#include "core/status.h"
#include <stdint.h>

typedef struct row_scheduler {
    int32_t size; /* number of ranks */
    int32_t next, rows;
    double weight; /* samples per row */
    double *speed; /* samples per second of each rank, kept between passes; 0: unknown */
} row_scheduler;

kd_status row_scheduler_open(row_scheduler *out, int32_t ranks);
void row_scheduler_close(row_scheduler *owned); /* accepts a zeroed struct */
void row_scheduler_begin(row_scheduler *scheduler, int32_t rows, double row_samples);
/* Returns the next chunk of rows, [*top, *bottom), which is empty if none is left. */
void row_scheduler_next(row_scheduler *scheduler, int32_t rank, int32_t *top, int32_t *bottom);
/* Records the time that a rank took for a chunk. */
void row_scheduler_note(row_scheduler *scheduler, int32_t rank, int32_t rows, double seconds);
/* Returns the speed of the slowest rank whose speed is known, or 0. */
double row_scheduler_slowest(const row_scheduler *scheduler);

/* Static splits of the rows among ranks: split_even gives each the same number; split_again
   balances the load according to the seconds that each rank took for its part of `old`. `bounds`
   and `old` have ranks + 1 entries. */
void split_even(int32_t *bounds, int32_t ranks, int32_t rows);
void split_again(int32_t *bounds, const int32_t *old, int32_t ranks, const double *seconds);
/* Returns the largest of the times divided by their mean; 1 means balanced. */
double split_imbalance(const double *seconds, int32_t ranks);

#endif
