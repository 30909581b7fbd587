/* Lists and maps whose photons lie apart, at the ranks that have traced them: what ranks have to
   tell each other of them. All ranks call these together. */
#ifndef KD_PHOTON_MAPS_APART_H
#define KD_PHOTON_MAPS_APART_H
#include "distributed/ranks/ranks.h"
#include "photon/emission/emit.h"
#include "points/tree/pointtree.h"

/* The sum of the hashes, the largest of the strongest. */
kd_status photon_apart_meet(ranks *among, uint64_t *hash, uint32_t *strongest);
/* On rank 0 the tree of all photons' positions, as one rank with all of them would plant it; on the
   others an empty one. 60 bytes a photon there, for as long as it lives. Owner. */
kd_status photon_apart_whole_tree(pointtree *out, ranks *among, const photon_list *list,
                                  const photon_run *runs, uint32_t run_count);
/* Bytes of the latter while it is planted. */
uint64_t photon_apart_tree_bytes(uint64_t photons);

#endif
