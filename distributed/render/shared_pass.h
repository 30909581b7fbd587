/* The two ways in which ranks take the samples of a pass together. */
#ifndef KD_DISTRIBUTED_RENDER_SHARED_PASS_H
#define KD_DISTRIBUTED_RENDER_SHARED_PASS_H
#include "distributed/render/row_scheduler.h"
#include "distributed/render/shared_frame.h"

typedef struct shared_pass {
    frame *of;
    film *to;
    frame_pass samples;
    ranks *among;
    deal dealing;          /* rank 0's */
    int32_t *bounds, *old; /* of the split */
    double *seconds;       /* of all, in the pass before */
    uint32_t patience;     /* passes to be seen before the picture is split again */
    sample_counts counts;  /* own, not told to rank 0 yet */
    double worked;         /* seconds with samples */
    uint64_t rows;
    kd_status (*keep)(
        struct shared_pass *); /* rank 0 between chunks; the film is not changed meanwhile */
    double pause;              /* timing_now() of the next saving; 0: none */
} shared_pass;

/* Chunks of rows by who is free (row_scheduler.h): rank 0 deals, and has all sums in the end. */
kd_status pass_by_chunks(shared_pass *pass);
/* A band of rows each; sums stay where they are until pass_collect. */
kd_status pass_by_bands(shared_pass *pass);
/* The same where photons lie apart: all ranks look for all rows, each keeps its band. */
kd_status pass_apart(shared_pass *pass);
/* All bands' sums to all ranks, counts to the statistics of all. */
kd_status pass_collect(shared_pass *pass);
/* After all ranks have told the seconds of their bands: a better split, if there is one. */
kd_status pass_split_again(shared_pass *pass);

#endif
