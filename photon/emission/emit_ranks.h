/* A batch of light paths that ranks trace together, each a contiguous part of it, in the order of
   ranks.
   Idea: the rules by which a list ends (emit.h) depend on the number of photons before a path. So
         all parts are traced first, then ranks exchange the number of photons stored, and each
         applies the rules to its own paths with the right offset; the list ends at the first rank
   whose part contains the end.
   Invariants: the assignment of paths to ranks does not affect the result. */
#ifndef KD_PHOTON_EMISSION_EMIT_RANKS_H
#define KD_PHOTON_EMISSION_EMIT_RANKS_H
#include "photon/emission/emit.h"
#include "photon/emission/photon.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct emit_share {
    ranks *comm;           /* NULL: a single process */
    double *speed;         /* of each rank, paths per second; NULL: not known */
    uint64_t first, paths; /* this rank's part of the batch */
    uint64_t before;       /* photons stored in the parts of lower ranks */
    double start_time;     /* timing_now() when this rank began to trace its part */
    uint64_t *begins;      /* offset of each rank's photons in the list, bytes; size + 1 values */
} emit_share;

kd_status emit_share_open(emit_share *out, ranks *comm);
void emit_share_close(emit_share *owned);
/* Distributes the decision of rank 0: the number of paths of the next batch, or that the deadline
   has passed; then sets this rank's part. */
kd_status emit_share_plan(emit_share *share, uint64_t *paths, bool *cut);
/* Called after tracing the part: exchanges the numbers of photons stored. *stopped: the job of some
   rank was cancelled. */
kd_status emit_share_landed(emit_share *share, uint64_t landed, bool cancelled, bool *stopped);

/* Contribution of a part to the list. */
typedef struct emit_part {
    uint64_t paths, photons;
    /* ended: the list ends in this part; complete: with `target` photons */
    uint32_t ended, complete;
} emit_part;
/* Combines the parts up to the end of the list; `part` is reduced to what is used of this rank's
   part. */
kd_status emit_share_parts(emit_share *share, emit_part *part, uint64_t count, emit_part *all);
/* All-gather of the photons of a batch, stored from `photons` on; this rank's are in place
   already. */
kd_status emit_share_photons(emit_share *share, photon *photons);
/* Sums the energy balances of all ranks. */
kd_status emit_share_ledger(emit_share *share, ledger_sum *sum);

#ifdef __cplusplus
}
#endif
#endif
