/* A point tree in the reader's own kernels: k nearest neighbours, and visits of the points within a
   radius. CUDA and C++14, for host and device; needs no library. The arrays are those of
   kd_points_download, layout 1: level order, the children of node i are 2i + 1 and 2i + 2.

       #include <kandela/device.cuh>

       // One query per thread: ids and squared distances of its 8 nearest points.
       __global__ void nearest8(kandela::point_tree<float, 3> tree, const float *queries,
                                uint32_t count, uint32_t *ids, float *dist2) {
           const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
           if (i < count)
               kandela::nearest<8>(tree, queries + 3 * i, INFINITY, ids + 8 * i, dist2 + 8 * i);
       }

   examples/own_kernel.cu makes the tree and copies its arrays to a device.

   Results are those of the library, bit for bit: squared distances are summed axis by axis in the
   scalar type; neighbours are ordered by (dist2, id). In host code this needs -ffp-contract=off
   where the compiler fuses products and sums (in device code the intrinsics forbid it).

   Data flow: a thread reads the tree and its query and writes its own results; nothing is shared.

   A query's coordinates must not be NaN. Each function uses 31 words of stack for each scalar and
   index. */
#ifndef KANDELA_DEVICE_CUH
#define KANDELA_DEVICE_CUH
#include <math.h>
#include <stdint.h>

#define KD_DEVICE_LAYOUT 1 /* raised when the arrays of kd_points_download change their meaning */

#ifdef __CUDACC__
#define KD_DEVICE_FN __host__ __device__ inline
#else
#define KD_DEVICE_FN inline
#endif

namespace kandela {

/* A tree in the memory of the code that reads it. `scalar`: float or double. */
template <typename scalar, int dims> struct point_tree {
    const scalar *coordinates; /* count * dims */
    const uint32_t *ids;       /* count */
    const uint8_t *axes;       /* count; NULL for KD_POINTS_SPLIT_ROUND_ROBIN */
    uint32_t count;            /* less than 2^31 */
};

namespace detail {

KD_DEVICE_FN float add_square(float sum, float x) {
#ifdef __CUDA_ARCH__
    return __fadd_rn(sum, __fmul_rn(x, x));
#else
    const float square = x * x;
    return sum + square;
#endif
}
KD_DEVICE_FN double add_square(double sum, double x) {
#ifdef __CUDA_ARCH__
    return __dadd_rn(sum, __dmul_rn(x, x));
#else
    const double square = x * x;
    return sum + square;
#endif
}

KD_DEVICE_FN uint32_t level_of(uint32_t node) {
    uint32_t level = 0;
    for (uint32_t i = node + 1; i > 1; i >>= 1) ++level;
    return level;
}

template <typename scalar>
KD_DEVICE_FN bool is_before(scalar a, uint32_t id, scalar b, uint32_t than) {
    return a < b || (a == b && id < than);
}

} // namespace detail

/* Calls visitor(id, dist2) for each point with dist2 <= bound2, where bound2 is what the last call
   returned, `bound2` at first: a smaller value narrows the search, a negative one ends it. The
   order depends on the tree and the query only. */
template <typename scalar, int dims, typename visitor_type>
KD_DEVICE_FN void visit(const point_tree<scalar, dims> &tree, const scalar *query, scalar bound2,
                        visitor_type &&visitor) {
    uint32_t far_node[32];
    scalar far_bound[32]; /* squared distance to the plane that separates far_node from the query */
    int waiting = 0;
    uint32_t node = 0;
    for (;;) {
        if (node < tree.count) {
            const scalar *point = tree.coordinates + (uint64_t)node * dims;
            scalar dist2 = 0;
            for (int axis = 0; axis < dims; ++axis)
                dist2 = detail::add_square(dist2, query[axis] - point[axis]);
            if (dist2 <= bound2) {
                const scalar next = visitor(tree.ids[node], dist2);
                if (next < bound2) bound2 = next;
            }
            const int axis = tree.axes ? tree.axes[node] : (int)(detail::level_of(node) % dims);
            const scalar offset = query[axis] - point[axis];
            const uint32_t left = 2 * node + 1;
            if (left < tree.count) {
                far_node[waiting] = offset < 0 ? left + 1 : left;
                far_bound[waiting++] = detail::add_square((scalar)0, offset);
                node = offset < 0 ? left : left + 1;
                continue;
            }
        }
        do {
            if (waiting == 0) return;
            --waiting;
        } while (!(far_bound[waiting] <= bound2));
        node = far_node[waiting];
    }
}

/* Finds the k nearest points with dist2 <= bound2 (INFINITY: all), ordered by (dist2, id). Returns
   their number; ids[] and dist2[] behind them are KD_NO_POINT (2^32 - 1) and INFINITY. */
template <int k, typename scalar, int dims>
KD_DEVICE_FN uint32_t nearest(const point_tree<scalar, dims> &tree, const scalar *query,
                              scalar bound2, uint32_t *ids, scalar *dist2) {
    uint32_t found = 0;
    for (int i = 0; i < k; ++i) {
        ids[i] = 0xffffffffu;
        dist2[i] = (scalar)INFINITY;
    }
    visit(tree, query, bound2, [&](uint32_t id, scalar d) {
        if (found == k && !detail::is_before(d, id, dist2[k - 1], ids[k - 1])) return bound2;
        uint32_t at = found < k ? found++ : k - 1;
        for (; at > 0 && detail::is_before(d, id, dist2[at - 1], ids[at - 1]); --at) {
            ids[at] = ids[at - 1];
            dist2[at] = dist2[at - 1];
        }
        ids[at] = id;
        dist2[at] = d;
        return found == k ? dist2[k - 1] : bound2;
    });
    return found;
}

} // namespace kandela
#endif
