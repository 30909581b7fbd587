/* Predicts the bytes that the launches of build_select.cu have to move, from the number of points
   alone; stage times are compared with this.
   Idea: data that a launch reads or writes counts once; repeated reads are assumed to hit a cache.
         A sampled point costs a sector. The number of candidates in a bracket is the expectation
         for evenly distributed points. */
#ifndef KD_POINTS_SELECT_TRAFFIC_CUH
#define KD_POINTS_SELECT_TRAFFIC_CUH
#include "points/select/brackets.cuh"
#include <math.h>

namespace kandela {

constexpr double SECTOR_BYTES = 32, RECORD_BYTES = sizeof(float4);

/* Number of points in the segments of nodes `first` to `end` of a level. */
inline double points_of(const layout &tree, uint32_t level, uint32_t first, uint32_t end) {
    if (first == end) return 0;
    const segment from = node_segment(tree, level, first), to = node_segment(tree, level, end - 1);
    return (double)(to.begin + to.count - from.begin);
}

/* Candidate bytes of `points` points in `nodes` nodes, with brackets from samples of `draws` points
   of the node `above` levels higher. */
inline double candidate_bytes(double points, double nodes, double draws, uint32_t above) {
    const double node_points = points / nodes, drawn = draws / (double)(1u << above);
    const double m = drawn < node_points ? drawn : node_points;
    const double reach = (double)SIGMAS * sqrt(m / 4 * (1 - m / node_points)) + 2;
    const double bins = 1.0 / SELECT_THREADS; /* each end is as precise as a bin of four targets */
    const double share = 2 * (reach / m + bins);
    return sizeof(point_key) * points * (share < 1 ? share : 1);
}

/* Bytes of the records that stop in the lists of a group of levels below `nodes` roots, with
   samples of `draws` points per root, and move on from there. */
inline double listed_bytes(double points, double nodes, double draws, double sigmas, int levels) {
    double bytes = 0;
    for (int depth = 0; depth < levels; ++depth) {
        const double node_points = points / (nodes * (1 << depth)), drawn = draws / (1 << depth);
        const double m = drawn < node_points ? drawn : node_points;
        const double reach = sigmas * sqrt(m / 4 * (1 - m / node_points)) + 2;
        const double share = 2 * reach / m + 1.0 / AIM_SHARE;
        bytes += 2 * RECORD_BYTES * points * (share < 1 ? share : 1);
    }
    return bytes;
}

/* Bytes of the samples of the nodes' own points. */
inline double sample_bytes(double points, double nodes, double draws) {
    const double all = RECORD_BYTES * points, sampled = SECTOR_BYTES * nodes * draws;
    return sampled < all ? sampled : all;
}

} // namespace kandela
#endif
