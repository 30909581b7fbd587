/* Cooperative groups: blocks that run concurrently. */
#ifndef KD_TESTS_EMULATED_COOPERATIVE_GROUPS_H
#define KD_TESTS_EMULATED_COOPERATIVE_GROUPS_H
#include "lanes.h"

namespace cooperative_groups {
struct grid_group {
    void sync() const { emulated::sync_blocks(); }
};
struct cluster_group {
    void sync() const { emulated::sync_blocks(); }
    template <class T> T *map_shared_rank(T *shared, int rank) const {
        return (T *)emulated::in_block((void *)shared, (unsigned)rank);
    }
};
inline grid_group this_grid() {
    return {};
}
inline cluster_group this_cluster() {
    return {};
}
} // namespace cooperative_groups
#endif
