/* Returns the index of a map in the device memory where photon_maps_cuda_build_trees has put it. */
#ifndef KD_PHOTON_MAPS_MAP_INDEX_CUH
#define KD_PHOTON_MAPS_MAP_INDEX_CUH
#include "photon/density/photon_leaves.cuh"
#include "photon/maps/maps_device.h"

static inline gather_index::index map_index_of(const photon_map_cuda *map) {
    gather_index::index index;
    cuda_arena arena = {(char *)map->index.memory, 0};
    gather_index::lay_out(&index, &arena, (uint32_t)map->list.local_count);
    return index;
}

#endif
