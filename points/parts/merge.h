/* The answers of several parts to a chunk of queries become the caller's rows. */
#ifndef KD_POINTS_PARTS_MERGE_H
#define KD_POINTS_PARTS_MERGE_H
#include "points/parts/ask.h"

/* What one part said to one query, what is left of it. */
typedef struct merge_run {
    uint64_t at, end;
    const parts_asked *from;
} merge_run;

/* The runs of every query of a chunk. Owner. */
typedef struct merge_runs {
    uint64_t *begins; /* queries + 1 */
    merge_run *runs;
    bool misfit; /* out: a row that is not as long as its answers */
} merge_runs;

kd_status merge_runs_open(merge_runs *out, const parts_asked *asked, int rounds, int32_t parts,
                          uint64_t queries);
void merge_runs_close(merge_runs *owned); /* takes a zeroed one */

/* Fills the rows of the call's chunk. */
void merge_rows(const parts_call *call, merge_runs *runs);

#endif
