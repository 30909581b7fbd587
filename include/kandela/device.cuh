/* Trees in the reader's own kernels: k nearest neighbours, visits of the points within a radius,
   and hits of rays. CUDA and C++14, for host and device; needs no library.

       #include <kandela/device.cuh>

       // One query per thread: ids and squared distances of its 8 nearest points.
       __global__ void nearest8(kandela::point_tree<float, 3> tree, const float *queries,
                                uint32_t count, uint32_t *ids, float *dist2) {
           const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
           if (i < count)
               kandela::nearest<8>(tree, queries + 3 * i, INFINITY, ids + 8 * i, dist2 + 8 * i);
       }

       // One ray per thread.
       __global__ void first_hits(kandela::triangle_tree tree, const kd_ray *rays, uint32_t count,
                                  kd_ray_hit *hits) {
           const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
           if (i < count) hits[i] = kandela::closest_hit(tree, rays[i]);
       }

   examples/own_kernel.cu makes a point tree and copies its arrays to a device.

   Results are those of the library, bit for bit: squared distances are summed axis by axis in the
   scalar type; neighbours are ordered by (dist2, id); of hits at the same t the one of the triangle
   with the smallest index counts. In host code this needs -ffp-contract=off where the compiler
   fuses products and sums (in device code the intrinsics forbid it).

   Data flow: a thread reads the tree and its query or ray, and writes its own results; nothing is
   shared.

   A query's coordinates must not be NaN. The functions on points use 31 words of stack for each
   scalar and index, those on triangles 192 words. */
#ifndef KANDELA_DEVICE_CUH
#define KANDELA_DEVICE_CUH
#include <kandela/triangles.h> /* kd_ray, kd_ray_hit, kd_triangle_node */
#include <math.h>
#include <stdint.h>

/* Raised when the arrays of kd_points_download or kd_triangles_download_nodes change their
   meaning. */
#define KD_DEVICE_LAYOUT 1

#ifdef __CUDACC__
#define KD_DEVICE_FN __host__ __device__ inline
/* Marks a function that also accepts visitors for the host only or for the device only. */
#define KD_DEVICE_ANY_VISITOR _Pragma("nv_exec_check_disable")
#else
#define KD_DEVICE_FN inline
#define KD_DEVICE_ANY_VISITOR
#endif

namespace kandela {

/* A point tree in the memory of the code that reads it: the arrays of kd_points_download, in level
   order; the children of node i are 2i + 1 and 2i + 2. `scalar`: float or double. `dims`: 1 to 8;
   points of more dimensions have no tree. */
template <typename scalar, int dims> struct point_tree {
    static_assert(dims >= 1 && dims <= 8, "points of more than eight dimensions have no tree");
    const scalar *coordinates; /* count * dims */
    const uint32_t *ids;       /* count */
    const uint8_t *axes;       /* count; NULL for KD_POINTS_SPLIT_ROUND_ROBIN */
    uint32_t count;            /* less than 2^31 */
};

namespace detail {

/* A number whose operations are rounded one by one, also where the compiler may contract them. */
template <typename scalar> struct rounded { scalar value; };

#ifdef __CUDA_ARCH__
#define KD_DEVICE_OPERATOR(scalar, sign, intrinsic)                                                \
    KD_DEVICE_FN rounded<scalar> operator sign(rounded<scalar> a, rounded<scalar> b) {             \
        return {intrinsic(a.value, b.value)};                                                      \
    }
#else
#define KD_DEVICE_OPERATOR(scalar, sign, intrinsic)                                                \
    KD_DEVICE_FN rounded<scalar> operator sign(rounded<scalar> a, rounded<scalar> b) {             \
        return {a.value sign b.value};                                                             \
    }
#endif
KD_DEVICE_OPERATOR(float, +, __fadd_rn)
KD_DEVICE_OPERATOR(float, -, __fsub_rn)
KD_DEVICE_OPERATOR(float, *, __fmul_rn)
KD_DEVICE_OPERATOR(float, /, __fdiv_rn)
KD_DEVICE_OPERATOR(double, +, __dadd_rn)
KD_DEVICE_OPERATOR(double, -, __dsub_rn)
KD_DEVICE_OPERATOR(double, *, __dmul_rn)
KD_DEVICE_OPERATOR(double, /, __ddiv_rn)
#undef KD_DEVICE_OPERATOR

template <typename scalar> KD_DEVICE_FN scalar add_square(scalar sum, scalar x) {
    return (rounded<scalar>{sum} + rounded<scalar>{x} * rounded<scalar>{x}).value;
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
KD_DEVICE_ANY_VISITOR
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

/* --- triangles ------------------------------------------------------------------------------ */

/* A triangle tree in the memory of the code that reads it: the arrays of kd_triangles_download and
   kd_triangles_download_nodes, and the box of kd_triangles_info. */
struct triangle_tree {
    const kd_triangle_node *nodes; /* 8-byte aligned */
    const uint32_t *references;
    const float *vertices;   /* 3 per vertex */
    const uint32_t *indices; /* 3 per triangle */
    float lo[3], hi[3];
};

namespace detail {

KD_DEVICE_FN float least(float a, float b) {
    return a < b ? a : b;
}
KD_DEVICE_FN float largest(float a, float b) {
    return a > b ? a : b;
}
KD_DEVICE_FN float largest_size(float a, float b, float c) {
    return largest(fabsf(a), largest(fabsf(b), fabsf(c)));
}
template <typename scalar> KD_DEVICE_FN bool signs_differ(scalar a, scalar b, scalar c) {
    return (a < 0 || b < 0 || c < 0) && (a > 0 || b > 0 || c > 0);
}

/* A ray along axis kz of a sheared space. Source: Woop, Benthin, Wald 2013, "Watertight
   ray/triangle intersection", JCGT 2(1). */
struct sheared_ray {
    const kd_ray *ray;
    int kx, ky, kz;
    float sx, sy, sz;
};

KD_DEVICE_FN sheared_ray shear(const kd_ray &ray) {
    const float *d = ray.direction;
    const float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
    sheared_ray sheared;
    sheared.ray = &ray;
    sheared.kz = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
    sheared.kx = sheared.kz == 2 ? 0 : sheared.kz + 1;
    sheared.ky = sheared.kx == 2 ? 0 : sheared.kx + 1;
    const rounded<float> along = {d[sheared.kz]};
    sheared.sx = (rounded<float>{d[sheared.kx]} / along).value;
    sheared.sy = (rounded<float>{d[sheared.ky]} / along).value;
    sheared.sz = (rounded<float>{1} / along).value;
    return sheared;
}

KD_DEVICE_FN void weigh(const rounded<double> weight[3], const rounded<double> z[3],
                        rounded<double> along, kd_ray_hit &hit) {
    const rounded<double> sum = weight[0] + weight[1] + weight[2];
    hit.t = (float)((weight[0] * z[0] + weight[1] * z[1] + weight[2] * z[2]) / (sum * along)).value;
    hit.u = (float)(weight[1] / sum).value;
    hit.v = (float)(weight[2] / sum).value;
}

/* For triangles that are seen edge-on or have very small or large coordinates: weights of the
   original corners in double, unless these give a point that is not on the ray. `of_floats`: the
   weights of the sheared corners, which were rounded to float. */
KD_DEVICE_FN void intersect_in_double(const sheared_ray &sheared, const float *const corner[3],
                                      const rounded<double> of_floats[3], kd_ray_hit &hit) {
    typedef rounded<double> number;
    const float *direction = sheared.ray->direction, *origin = sheared.ray->origin;
    const number along = {direction[sheared.kz]};
    const number sx = number{direction[sheared.kx]} / along;
    const number sy = number{direction[sheared.ky]} / along;
    number x[3], y[3], z[3];
    double reach = 0;
    for (int i = 0; i < 3; ++i) {
        z[i] = number{corner[i][sheared.kz]} - number{origin[sheared.kz]};
        x[i] = number{corner[i][sheared.kx]} - number{origin[sheared.kx]};
        y[i] = number{corner[i][sheared.ky]} - number{origin[sheared.ky]};
        reach = fmax(reach, fmax(fabs(x[i].value), fmax(fabs(y[i].value), fabs(z[i].value))));
        x[i] = x[i] - sx * z[i];
        y[i] = y[i] - sy * z[i];
    }
    number weight[3] = {x[2] * y[1] - y[2] * x[1], x[0] * y[2] - y[0] * x[2],
                        x[1] * y[0] - y[1] * x[0]};
    const number sign = {(weight[0] + weight[1] + weight[2]).value < 0 ? -1.0 : 1.0};
    number sum = {0}, off_x = {0}, off_y = {0};
    for (int i = 0; i < 3; ++i) {
        weight[i] = weight[i] * sign;
        if (!(weight[i].value > 0)) weight[i].value = 0;
        sum = sum + weight[i];
        off_x = off_x + weight[i] * x[i];
        off_y = off_y + weight[i] * y[i];
    }
    const double near = (number{3.5762786865234375e-07} * number{reach} * sum).value; /* 6 2^-24 */
    const bool is_near = sum.value > 0 && fabs(off_x.value) <= near && fabs(off_y.value) <= near;
    weigh(is_near ? weight : of_floats, z, along, hit);
}

/* Intersects the line of the ray with a triangle. Returns true if it hits, and sets t, u and v. */
KD_DEVICE_FN bool intersect(const sheared_ray &sheared, const float *const corner[3],
                            kd_ray_hit &hit) {
    typedef rounded<float> number;
    number x[3], y[3], z[3];
    for (int i = 0; i < 3; ++i) {
        const float *origin = sheared.ray->origin, *at = corner[i];
        z[i] = number{at[sheared.kz]} - number{origin[sheared.kz]};
        x[i] = number{at[sheared.kx]} - number{origin[sheared.kx]} - number{sheared.sx} * z[i];
        y[i] = number{at[sheared.ky]} - number{origin[sheared.ky]} - number{sheared.sy} * z[i];
    }
    const number a = x[2] * y[1] - y[2] * x[1], b = x[0] * y[2] - y[0] * x[2],
                 c = x[1] * y[0] - y[1] * x[0];
    const float smallest = least(fabsf(a.value), least(fabsf(b.value), fabsf(c.value)));
    /* 2^-80, 2^80: all products and quotients below stay within the range of float */
    const bool in_range = smallest > 8.271806125530277e-25f &&
                          largest_size(a.value, b.value, c.value) < 1.2089258196146292e24f;
    if (in_range) {
        if (signs_differ(a.value, b.value, c.value)) return false;
        const number sum = a + b + c, inverse = number{1} / sum, u = b * inverse, v = c * inverse;
        hit.u = u.value;
        hit.v = v.value;
        hit.t = ((a * inverse * z[0] + u * z[1] + v * z[2]) * number{sheared.sz}).value;
        const number wide = {largest_size(x[0].value, x[1].value, x[2].value)};
        const number high = {largest_size(y[0].value, y[1].value, y[2].value)};
        if (fabsf(sum.value) > (number{0.125f} * wide * high).value) return true;
    }
    rounded<double> weight[3], dx[3], dy[3];
    for (int i = 0; i < 3; ++i) dx[i].value = x[i].value, dy[i].value = y[i].value;
    weight[0] = dx[2] * dy[1] - dx[1] * dy[2]; /* exact: products of floats */
    weight[1] = dx[0] * dy[2] - dx[2] * dy[0];
    weight[2] = dx[1] * dy[0] - dx[0] * dy[1];
    if (!in_range && (signs_differ(weight[0].value, weight[1].value, weight[2].value) ||
                      !(fabs((weight[0] + weight[1] + weight[2]).value) > 0)))
        return false;
    intersect_in_double(sheared, corner, weight, hit);
    return true;
}

/* A ray prepared for planes; planes and hits have error bounds, by which intervals are widened. */
struct plane_ray {
    float inverse[3], slack[3], slack_t, near, far;
};

/* Returns false if the ray misses the tree's box. */
KD_DEVICE_FN bool enter(const triangle_tree &tree, const kd_ray &ray, plane_ray &planes) {
    const float *d = ray.direction;
    const float longest = largest_size(d[0], d[1], d[2]);
    if (!(longest > 0 && longest < INFINITY) || tree.lo[0] > tree.hi[0]) return false;
    float reach = 0; /* the largest distance to the box along an axis */
    for (int axis = 0; axis < 3; ++axis) {
        const float lo = fabsf(tree.lo[axis] - ray.origin[axis]);
        const float hi = fabsf(tree.hi[axis] - ray.origin[axis]);
        reach = largest(reach, largest(lo, hi));
    }
    planes.slack_t = reach / longest * 7.62939453125e-06f; /* 2^-17 */
    planes.near = ray.tmin - planes.slack_t;
    planes.far = ray.tmax + planes.slack_t;
    for (int axis = 0; axis < 3; ++axis) {
        const float safe = longest * 1.4901161193847656e-08f; /* 2^-26 */
        const float along = fabsf(d[axis]) > safe ? d[axis] : copysignf(safe, d[axis]);
        const float inverse = 1 / along;
        const float t0 = (tree.lo[axis] - ray.origin[axis]) * inverse;
        const float t1 = (tree.hi[axis] - ray.origin[axis]) * inverse;
        planes.inverse[axis] = inverse;
        planes.slack[axis] = reach * fabsf(inverse) * 7.153e-07f; /* 12.001 2^-24 */
        planes.near = largest(least(t0, t1) - planes.slack[axis], planes.near);
        planes.far = least(largest(t0, t1) + planes.slack[axis], planes.far);
    }
    return planes.near <= planes.far;
}

} // namespace detail

/* Calls visitor(hit) for hits with tmin < t < tmax and t <= bound, where bound is what the last
   call returned, the ray's tmax at first: a smaller value narrows the search, -INFINITY ends it. A
   triangle is visited once for each leaf that refers to it, so possibly more than once. The order
   depends on the tree and the ray only. */
KD_DEVICE_ANY_VISITOR
template <typename visitor_type>
KD_DEVICE_FN void visit_hits(const triangle_tree &tree, const kd_ray &ray, visitor_type &&visitor) {
    enum { STACK = 64, LEAF = 3 };
    uint32_t far_node[STACK];
    float far_near[STACK], far_far[STACK];
    int waiting = 0;
    detail::plane_ray planes;
    if (!detail::enter(tree, ray, planes)) return;
    const detail::sheared_ray sheared = detail::shear(ray);
    float near = planes.near, far = planes.far, bound = ray.tmax;
    uint32_t index = 0;
    for (;;) {
        kd_triangle_node node = tree.nodes[index];
        while ((node.word & 3) != LEAF) {
            const int axis = (int)(node.word & 3);
            const float t = (node.at.split - ray.origin[axis]) * planes.inverse[axis];
            const float low = t - planes.slack[axis], high = t + planes.slack[axis];
            const uint32_t left = node.word >> 2, negative = planes.inverse[axis] < 0;
            const uint32_t first = left + negative, second = left + 1 - negative;
            index = high < near ? second : first;
            if (!(high < near) && !(low > far)) {
                far_node[waiting] = second;
                far_near[waiting] = detail::largest(low, near);
                far_far[waiting++] = far;
                far = detail::least(high, far);
            }
            node = tree.nodes[index];
        }
        const uint32_t *reference = tree.references + node.at.first;
        for (uint32_t i = 0; i < node.word >> 2; ++i) {
            const uint32_t *corners = tree.indices + 3 * (uint64_t)reference[i];
            const float *const corner[3] = {tree.vertices + 3 * (uint64_t)corners[0],
                                            tree.vertices + 3 * (uint64_t)corners[1],
                                            tree.vertices + 3 * (uint64_t)corners[2]};
            kd_ray_hit hit;
            hit.triangle = reference[i];
            if (!detail::intersect(sheared, corner, hit)) continue;
            if (!(hit.t > ray.tmin && hit.t < ray.tmax && hit.t <= bound)) continue;
            const float next = visitor(hit);
            if (next < bound) bound = next;
        }
        do {
            if (waiting == 0) return;
            --waiting;
        } while (far_near[waiting] > bound + planes.slack_t);
        index = far_node[waiting];
        near = far_near[waiting];
        far = far_far[waiting];
    }
}

/* The result of kd_triangles_intersect. */
KD_DEVICE_FN kd_ray_hit closest_hit(const triangle_tree &tree, const kd_ray &ray) {
    kd_ray_hit best = {ray.tmax, 0, 0, KD_NO_TRIANGLE};
    visit_hits(tree, ray, [&](const kd_ray_hit &hit) {
        if (hit.t < best.t || hit.triangle < best.triangle) best = hit;
        return best.t;
    });
    return best;
}

/* The result of kd_triangles_occluded: whether the ray hits anything. */
KD_DEVICE_FN bool occluded(const triangle_tree &tree, const kd_ray &ray) {
    bool blocked = false;
    visit_hits(tree, ray, [&](const kd_ray_hit &) {
        blocked = true;
        return -INFINITY;
    });
    return blocked;
}

} // namespace kandela
#endif
