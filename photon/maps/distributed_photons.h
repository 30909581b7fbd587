/* Collective operations on photon lists and maps that are distributed over the ranks that traced
   them. */
#ifndef KD_PHOTON_MAPS_DISTRIBUTED_PHOTONS_H
#define KD_PHOTON_MAPS_DISTRIBUTED_PHOTONS_H
#include "photon/emission/emit.h"
#include "points/tree/pointtree.h"

/* Combines the ranks' values: the sum of the hashes, the maximum of the strongest power. */
kd_status distributed_photons_agree(ranks *comm, uint64_t *hash, uint32_t *strongest);
/* Builds, on rank 0, the tree of the positions of all photons, equal to the tree of a single
   process; other ranks get an empty tree. Takes 60 bytes per photon on rank 0 as long as the tree
   exists. The caller closes it. */
kd_status distributed_photons_whole_tree(pointtree *out, ranks *comm, const photon_list *list,
                                         const photon_run *runs, uint32_t run_count);
/* Bytes needed on rank 0 by distributed_photons_whole_tree during construction. */
uint64_t distributed_photons_tree_bytes(uint64_t photons);

#endif
