/* One pass of samples rendered by several ranks, by dynamic chunks of rows or by static bands. */
#ifndef KD_DISTRIBUTED_RENDER_SHARED_PASS_H
#define KD_DISTRIBUTED_RENDER_SHARED_PASS_H
#include "distributed/render/row_scheduler.h"
#include "distributed/render/shared_frame.h"

typedef struct shared_pass {
    struct frame *frame;
    struct film *film;
    frame_pass samples;
    ranks *comm;
    row_scheduler scheduler; /* used on rank 0 only */
    int32_t *bounds, *old;   /* bands of the ranks, size + 1 entries each */
    double *seconds;         /* time of each rank in the previous pass */
    uint32_t patience;       /* number of passes before the bands are rebalanced */
    sample_counts counts;    /* counts of this rank, not yet sent to rank 0 */
    double worked;           /* seconds spent on samples and photons */
    uint64_t rows;
    kd_status (*keep)(
        /* Saves the film; called on rank 0 between chunks, while the film does not change. */
        struct shared_pass *);
    double pause; /* timing_now() of the next saving; 0: never */
} shared_pass;

/* Schedules chunks of rows dynamically (row_scheduler.h). Rank 0 schedules, and its film is
   complete afterwards. */
kd_status pass_by_chunks(shared_pass *pass);
/* Renders a band of rows on each rank. Each rank keeps its sums until pass_collect. */
kd_status pass_by_bands(shared_pass *pass);
/* As pass_by_bands with distributed photon maps: every rank queries its photons for all rows, and
   each keeps its band. */
kd_status pass_distributed(shared_pass *pass);
/* Collective. Sends the sums of all bands to all ranks and adds the counts of all ranks to the
   statistics of each. */
kd_status pass_collect(shared_pass *pass);
/* Rebalances the bands according to the seconds of all ranks, if that is worth an exchange of the
   film. */
kd_status pass_split_again(shared_pass *pass);

#endif
