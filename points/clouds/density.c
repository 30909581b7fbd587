/* Sums of a kernel over weighted points: kernel density estimates.
   Source: Gray and Moore, "Nonparametric Density Estimation: Toward Computational Tractability", 2003
   Idea: a tree of boxes with the weight in each. The kernel decreases with the distance, so its values
         at the nearest and farthest place of a box bound its sum; half their difference is an error
         that is accepted if the errors of all boxes together stay within the tolerance. Where no
   box is accepted, leaves of 32 points are summed, 32 at a time.
   Invariants: gaussian and exponential kernels are relative to their value at the nearest point, so a
               sum does not underflow. Bounds are rounded as the distances of points, so a box never
               seems nearer or farther than a point in it.
   Differs: one query descends at a time, near side first, and errors are weighed against the sum so
            far, which is a lower bound on the whole. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/clouds/clouds.h"
#include <stdatomic.h>

enum { DENSITY_LANES = 32, DENSITY_PARTS = 8, DENSITY_DEPTH = 64, DENSITY_GRAIN = 16 };
/* Less than the rounding errors of a sum. */
#define DENSITY_RTOL_MIN 1e-15

typedef struct density_node {
    double weight;
    uint32_t right; /* the left child follows the node; 0: a leaf */
    uint32_t leaf;
} density_node;

typedef struct density_tree {
    density_node *nodes;
    double *boxes;  /* lo and hi of each node, `dims` each */
    double *leaves; /* 32 weights, then 32 coordinates of each axis, per leaf */
    double *rows;   /* the points, packed */
    double *weights;
    uint32_t *order;
    uint32_t count, dims, node_count, leaf_count;
} density_tree;

typedef struct density_work {
    const density_tree *tree;
    const point_array *queries;
    cloud_kernel kernel;
    double scale;       /* a power of two that brings the bandwidth to 0.5 to 1 */
    double width, half; /* the scaled bandwidth; 0.5 / width^2 */
    double atol, rtol;
    double *sums;
    atomic_bool exhausted;
} density_work;

/* --- the tree ------------------------------------------------------------------------------- */

static double coordinate(const density_tree *tree, uint32_t i, uint32_t axis) {
    return tree->rows[(uint64_t)tree->order[i] * tree->dims + axis];
}

static void swap(density_tree *tree, int64_t a, int64_t b) {
    const uint32_t kept = tree->order[a];
    tree->order[a] = tree->order[b];
    tree->order[b] = kept;
}

/* Moves the points before `middle` along the axis to its left (Hoare's selection; the pivot is the
   median of three). */
static void split(density_tree *tree, int64_t begin, int64_t end, int64_t middle, uint32_t axis) {
    while (end - begin > 1) {
        const double a = coordinate(tree, (uint32_t)begin, axis),
                     b = coordinate(tree, (uint32_t)(begin + (end - begin) / 2), axis),
                     c = coordinate(tree, (uint32_t)(end - 1), axis);
        const double low = a < b ? a : b, high = a < b ? b : a;
        const double pivot = c < low ? low : c > high ? high : c;
        int64_t i = begin, j = end - 1;
        while (i <= j) {
            while (coordinate(tree, (uint32_t)i, axis) < pivot) ++i;
            while (coordinate(tree, (uint32_t)j, axis) > pivot) --j;
            if (i <= j) swap(tree, i++, j--);
        }
        if (middle <= j)
            end = j + 1;
        else if (middle >= i)
            begin = i;
        else
            return;
    }
}

static void fill_leaf(density_tree *tree, uint32_t begin, uint32_t end, uint32_t leaf) {
    double *to = tree->leaves + (uint64_t)leaf * DENSITY_LANES * (tree->dims + 1);
    for (uint32_t lane = 0; lane < DENSITY_LANES; ++lane) {
        const uint32_t i = begin + lane < end ? begin + lane : end - 1;
        to[lane] = begin + lane < end ? tree->weights[tree->order[i]] : 0;
        for (uint32_t axis = 0; axis < tree->dims; ++axis)
            to[(axis + 1) * DENSITY_LANES + lane] = coordinate(tree, i, axis);
    }
}

/* All leaves but the last are full. */
static void build_node(density_tree *tree, uint32_t begin, uint32_t end) {
    const uint32_t index = tree->node_count++;
    density_node *node = &tree->nodes[index];
    double *lo = tree->boxes + (uint64_t)index * 2 * tree->dims, *hi = lo + tree->dims;
    uint32_t widest = 0;
    *node = (density_node){0, 0, 0};
    for (uint32_t i = begin; i < end; ++i) node->weight += tree->weights[tree->order[i]];
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        lo[axis] = hi[axis] = coordinate(tree, begin, axis);
        for (uint32_t i = begin + 1; i < end; ++i) {
            const double x = coordinate(tree, i, axis);
            lo[axis] = x < lo[axis] ? x : lo[axis];
            hi[axis] = x > hi[axis] ? x : hi[axis];
        }
        if (hi[axis] - lo[axis] > hi[widest] - lo[widest]) widest = axis;
    }
    if (end - begin <= DENSITY_LANES) {
        node->leaf = tree->leaf_count++;
        fill_leaf(tree, begin, end, node->leaf);
        return;
    }
    const uint32_t leaves = (end - begin + DENSITY_LANES - 1) / DENSITY_LANES;
    const uint32_t middle = begin + leaves / 2 * DENSITY_LANES;
    split(tree, begin, end, middle, widest);
    build_node(tree, begin, middle);
    node->right = tree->node_count;
    build_node(tree, middle, end);
}

static void tree_close(density_tree *tree) {
    memory_free(tree->nodes);
    memory_free(tree->boxes);
    memory_free(tree->leaves);
    memory_free(tree->rows);
    memory_free(tree->weights);
    memory_free(tree->order);
}

/* Points without weight are left out. */
static kd_status tree_open(density_tree *tree, const point_array *points, const double *weights) {
    const uint64_t leaves = points->count / DENSITY_LANES + 1;
    tree->dims = points->dims;
    KD_TRY(KD_RESERVE(tree->rows, points->count * points->dims));
    KD_TRY(KD_RESERVE(tree->weights, points->count));
    KD_TRY(KD_RESERVE(tree->order, points->count));
    KD_TRY(KD_RESERVE(tree->nodes, 2 * leaves));
    KD_TRY(KD_RESERVE(tree->boxes, 4 * leaves * points->dims));
    KD_TRY(KD_RESERVE(tree->leaves, leaves * DENSITY_LANES * (points->dims + 1ull)));
    for (uint64_t i = 0; i < points->count; ++i) {
        if (weights && weights[i] == 0) continue;
        const uint32_t to = tree->count++;
        tree->order[to] = to;
        tree->weights[to] = weights ? weights[i] : 1;
        for (uint32_t axis = 0; axis < points->dims; ++axis)
            tree->rows[(uint64_t)to * points->dims + axis] =
                point_array_coordinate(points, i, axis);
    }
    if (tree->count) build_node(tree, 0, tree->count);
    return KD_OK;
}

/* --- kernels -------------------------------------------------------------------------------- */

/* Returns e^-x for x >= 0, 0 beyond 700: the remainder of x to a multiple of ln 2, by Taylor's
   series, without branches, so that compilers vectorise it. */
static inline double exp_minus(double x) {
    const double bounded = x < 700 ? x : 700, shifted = bounded * 0x1.71547652b82fep0 + 0x1.8p52;
    const double n = shifted - 0x1.8p52;
    const double r = (n * 0x1.62e42fefa38p-1 - bounded) + n * 0x1.ef35793c7673p-45;
    uint64_t bits;
    double power, sum = 1.0 / 6227020800;
    memcpy(&bits, &shifted, sizeof bits);
    bits = ((uint64_t)1023 << 52) - (bits << 52);
    memcpy(&power, &bits, sizeof power);
    sum = sum * r + 1.0 / 479001600;
    sum = sum * r + 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    sum = sum * r + 1;
    return x < 700 ? sum * power : 0;
}

/* The exponent, at a scaled squared distance, of a kernel that is not 0 anywhere. */
static inline double exponent_of(const density_work *work, double dist2) {
    return work->kernel == CLOUD_GAUSSIAN ? dist2 * work->half : sqrt(dist2) / work->width;
}

/* The kernel at a scaled squared distance; `least` is subtracted from exponents. */
static inline double kernel_at(const density_work *work, double dist2, double least) {
    const double u = sqrt(dist2) / work->width;
    switch (work->kernel) {
    case CLOUD_GAUSSIAN:
    case CLOUD_EXPONENTIAL: {
        const double more = exponent_of(work, dist2) - least;
        return exp_minus(more > 0 ? more : 0);
    }
    case CLOUD_TOPHAT: return u < 1 ? 1 : 0;
    case CLOUD_EPANECHNIKOV: return u < 1 ? 1 - u * u : 0;
    case CLOUD_LINEAR: return u < 1 ? 1 - u : 0;
    case CLOUD_COSINE: return u < 1 ? cos(u * 1.5707963267948966) : 0;
    }
    return 0;
}

/* --- one query ------------------------------------------------------------------------------ */

/* Scaled squared distances to the nearest and farthest place of a node's box. */
static void box_bounds(const density_work *work, uint32_t node, const double *query, double *near2,
                       double *far2) {
    const uint32_t dims = work->tree->dims;
    const double *lo = work->tree->boxes + (uint64_t)node * 2 * dims, *hi = lo + dims;
    double near_sum = 0, far_sum = 0;
    for (uint32_t axis = 0; axis < dims; ++axis) {
        const double under = (lo[axis] - query[axis]) * work->scale;
        const double over = (query[axis] - hi[axis]) * work->scale;
        const double near = under > over ? under : over;
        const double far = -(under < over ? under : over);
        if (near > 0) near_sum += near * near;
        far_sum += far * far;
    }
    *near2 = near_sum;
    *far2 = far_sum;
}

static void leaf_distances(const density_work *work, uint32_t leaf, const double *query,
                           double out[DENSITY_LANES]) {
    const uint32_t dims = work->tree->dims;
    const double *x =
        work->tree->leaves + (uint64_t)leaf * DENSITY_LANES * (dims + 1) + DENSITY_LANES;
    memset(out, 0, DENSITY_LANES * sizeof *out);
    for (uint32_t axis = 0; axis < dims; ++axis, x += DENSITY_LANES)
        for (uint32_t lane = 0; lane < DENSITY_LANES; ++lane) {
            const double d = (query[axis] - x[lane]) * work->scale;
            out[lane] += d * d;
        }
}

/* Stores the children of a node, the farther one first. */
static uint32_t push_children(const density_work *work, uint32_t node, const double *query,
                              uint32_t *stack, uint32_t depth) {
    const uint32_t left = node + 1, right = work->tree->nodes[node].right;
    double left2, right2, far2;
    box_bounds(work, left, query, &left2, &far2);
    box_bounds(work, right, query, &right2, &far2);
    stack[depth] = left2 <= right2 ? right : left;
    stack[depth + 1] = left2 <= right2 ? left : right;
    return depth + 2;
}

static double nearest2(const density_work *work, const double *query) {
    const density_tree *tree = work->tree;
    uint32_t stack[DENSITY_DEPTH], depth = 1;
    double least = (double)INFINITY, near2, far2, distances[DENSITY_LANES];
    stack[0] = 0;
    while (depth) {
        const uint32_t node = stack[--depth];
        box_bounds(work, node, query, &near2, &far2);
        if (near2 >= least) continue;
        if (tree->nodes[node].right) {
            depth = push_children(work, node, query, stack, depth);
            continue;
        }
        leaf_distances(work, tree->nodes[node].leaf, query, distances);
        for (uint32_t lane = 0; lane < DENSITY_LANES; ++lane)
            least = distances[lane] < least ? distances[lane] : least;
    }
    return least;
}

static double leaf_sum(const density_work *work, uint32_t leaf, const double *query, double least) {
    const double *weights =
        work->tree->leaves + (uint64_t)leaf * DENSITY_LANES * (work->tree->dims + 1);
    double values[DENSITY_LANES], parts[DENSITY_PARTS] = {0}, sum = 0;
    leaf_distances(work, leaf, query, values);
    if (work->kernel == CLOUD_GAUSSIAN) /* the loop that matters most, without a choice in it */
        for (uint32_t i = 0; i < DENSITY_LANES; ++i) {
            const double more = values[i] * work->half - least;
            values[i] = exp_minus(more > 0 ? more : 0);
        }
    else
        for (uint32_t i = 0; i < DENSITY_LANES; ++i) values[i] = kernel_at(work, values[i], least);
    for (uint32_t i = 0; i < DENSITY_LANES; i += DENSITY_PARTS)
        for (uint32_t part = 0; part < DENSITY_PARTS; ++part)
            parts[part] += weights[i + part] * values[i + part];
    for (uint32_t part = 0; part < DENSITY_PARTS; ++part) sum += parts[part];
    return sum;
}

/* Returns the logarithm of the sum at a query. */
static double log_sum(const density_work *work, const double *query) {
    const density_tree *tree = work->tree;
    const bool is_endless = work->kernel == CLOUD_GAUSSIAN || work->kernel == CLOUD_EXPONENTIAL;
    uint32_t stack[DENSITY_DEPTH], depth = tree->count ? 1 : 0;
    double sum = 0, lowest = 0, near2, far2;
    const double least = is_endless && depth ? exponent_of(work, nearest2(work, query)) : 0;
    const double atol = work->atol > 0 ? work->atol * exp(least) : 0;
    stack[0] = 0;
    while (depth) {
        const uint32_t node = stack[--depth];
        const density_node *at = &tree->nodes[node];
        box_bounds(work, node, query, &near2, &far2);
        const double most = kernel_at(work, near2, least);
        const double fewest = kernel_at(work, far2, least);
        if ((most - fewest) / 2 * tree->nodes[0].weight <= atol + work->rtol * lowest) {
            sum += at->weight * ((most + fewest) / 2);
            lowest += at->weight * fewest;
        } else if (at->right) {
            depth = push_children(work, node, query, stack, depth);
        } else {
            const double here = leaf_sum(work, at->leaf, query, least);
            sum += here;
            lowest += here;
        }
    }
    return log(sum) - least;
}

static void density_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    density_work *work = (density_work *)context;
    const uint32_t dims = work->tree->dims;
    double *query = (double *)memory_try_allocate(dims * sizeof *query);
    if (!query) atomic_store(&work->exhausted, true);
    for (uint64_t i = (uint64_t)begin; query && i < (uint64_t)end; ++i) {
        for (uint32_t axis = 0; axis < dims; ++axis)
            query[axis] = point_array_coordinate(work->queries, i, axis);
        work->sums[i] = log_sum(work, query);
    }
    memory_free(query);
}

kd_status cloud_density(const point_array *points, const double *weights,
                        const point_array *queries, cloud_kernel kernel, double bandwidth,
                        double atol, double rtol, double *sums) {
    density_tree tree = {0};
    kd_status status = KD_OK;
    int exponent;
    const double width = frexp(bandwidth, &exponent);
    density_work work = {.tree = &tree,
                         .queries = queries,
                         .kernel = kernel,
                         .scale = ldexp(1, -exponent),
                         .width = width,
                         .half = 0.5 / (width * width),
                         .atol = atol,
                         .rtol = rtol > DENSITY_RTOL_MIN ? rtol : DENSITY_RTOL_MIN,
                         .sums = sums};
    KD_TRY_GOTO(tree_open(&tree, points, weights));
    KD_TRY_GOTO(
        parallel_for_stage("query", (int64_t)queries->count, DENSITY_GRAIN, density_piece, &work));
    if (atomic_load(&work.exhausted))
        status = status_fail(KD_ERROR_MEMORY, __FILE__, __LINE__, "out of memory for a query");
done:
    tree_close(&tree);
    return status;
}
