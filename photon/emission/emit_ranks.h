/* A batch of paths that ranks trace together: each a part of it, in the order of ranks.
   Idea: the rules by which a list ends (emit.h) need the number of photons before a path; so parts
         are traced first, then the ranks tell how much landed, and each goes through its own paths
         as if it had those before; the first rank in whose part the list ends, ends it for all.
   Invariants: who traces a path makes no difference to any number. */
#ifndef KD_PHOTON_EMISSION_EMIT_RANKS_H
#define KD_PHOTON_EMISSION_EMIT_RANKS_H
#include "distributed/ranks/ranks.h"
#include "photon/emission/emit.h"
#include "photon/emission/photon.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct emit_share {
    ranks *among;          /* NULL: alone */
    double *speed;         /* of each rank, paths a second; NULL: not known */
    uint64_t first, paths; /* one's own part of the batch, from its first path on */
    uint64_t before;       /* photons of the batch's parts before it */
    double begun;          /* timing_now() when the part was */
    uint64_t *begins;      /* of each rank's photons in the list, bytes; size + 1 */
} emit_share;

kd_status emit_share_open(emit_share *out, ranks *among);
void emit_share_close(emit_share *owned);
/* What rank 0 chose: the paths of the next batch, or that time is up. Then the own part. */
kd_status emit_share_plan(emit_share *of, uint64_t *paths, bool *cut);
/* After the own part was traced: how much landed in it, and whether its rank was told to stop;
   whether any was. */
kd_status emit_share_landed(emit_share *of, uint64_t landed, bool cancelled, bool *stopped);

/* What a part brings to the list. */
typedef struct emit_part {
    uint64_t paths, photons;
    uint32_t ended, complete; /* the list ends in it; with as many as wanted */
} emit_part;
/* What all parts up to the end bring together; `own` becomes what is taken of one's own. */
kd_status emit_share_parts(emit_share *of, emit_part *own, uint64_t count, emit_part *all);
/* All ranks' photons of the batch, whose list begins at `photons`; one's own are there. */
kd_status emit_share_photons(emit_share *of, photon *photons);
/* The ledgers of all. */
kd_status emit_share_ledger(emit_share *of, ledger_sum *sum);

#ifdef __cplusplus
}
#endif
#endif
