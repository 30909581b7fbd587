/* Merges the results of several parts for a chunk of queries into the caller's rows. */
#ifndef KD_POINTS_PARTS_MERGE_H
#define KD_POINTS_PARTS_MERGE_H
#include "points/parts/ask.h"

/* Remaining results of one part for one query. */
typedef struct merge_run {
    uint64_t at, end;
    const parts_asked *from;
} merge_run;

/* The runs of every query of a chunk. Owns its memory. */
typedef struct merge_runs {
    uint64_t *begins; /* queries + 1 offsets into `runs` */
    merge_run *runs;
    bool misfit; /* out: some row does not have the length of its results */
} merge_runs;

kd_status merge_runs_open(merge_runs *out, const parts_asked *asked, int rounds, int32_t parts,
                          uint64_t queries);
void merge_runs_close(merge_runs *owned); /* accepts a zeroed struct */

/* Fills the rows of the call's chunk. */
void merge_rows(const parts_call *call, merge_runs *runs);

#endif
