/* Left-balanced point k-d tree on a CUDA device, for three floats: Kandela's own and fastest
   builder.
   Source: original; selection by sampled brackets after Floyd and Rivest 1975, "Expected time
           bounds for selection"; presorted lists after Brown 2014.
   Idea: the sizes of sub-trees are known before any point is read, so a level needs no more than
         each node's pivot and one pass. A sample gives two keys between which a pivot must lie, the
         bracket (pivots.cuh); the pass that moves the points to their sub-trees collects the
         candidates within the brackets of the next level (partition.cuh); among these few the pivot
         is selected exactly. The points of large inputs descend three levels per pass by brackets
         alone: the few points within a bracket are kept in a list until the pivot is known
         (level_group.cuh, brackets.cuh, group_pivots.cuh). With the widest side, where an axis
         depends on the pivots above, they descend in pairs of levels. Sub-trees that fit into a
         block are finished in shared memory (bottom.cuh); where the tree's last level is empty they
         begin a level higher.
   Work: O(n log n); 32 bytes per point and level above the bottom, 24 in pairs, 11 in groups of
         three, and some for candidates or lists.
   Memory: 40 bytes per point: records of 16 in two buffers, candidates or lists of 8.
   Invariants: the tree is that of every other builder: the order (coordinate, id) is total, and
               samples affect only the time. Points other than three floats are built from presorted
               lists (build_brown.cu), into the same tree. */
#include "points/papers/build_brown.h"
#include "points/select/bottom.cuh"
#include "points/select/brackets.cuh"
#include "points/select/build_select.h"
#include "points/select/group_pivots.cuh"
#include "points/select/partition.cuh"
#include "points/select/pivots.cuh"
#include "points/select/traffic.cuh"

namespace {
using namespace kandela;

constexpr uint32_t HEIGHT = 12; /* a block of the bottom takes fewer than 2^12 points */

constexpr size_t COUNTER_BYTES = 3 * sizeof(uint32_t) + 1;

bool is_ours(const point_build_cuda *a) {
    return a->points.dims == 3 && a->points.scalar == POINT_FLOAT;
}

struct plan {
    stage s;
    uint32_t bottom; /* level of the bottom's deepest roots */
    bottoms roots;
    uint32_t node_count;
    float4 *buffer[2];
    /* less, found, filled and axis of node_count nodes; initially 0 */
    uint32_t *counters;
    bool paired;
    point_build_stages *stages; /* stage times; may be NULL */
    uint32_t group;             /* levels per group; 0: no groups */
    uint32_t refined;
    float sigmas;
    bool clusters; /* supported by the device code */
    domain box;    /* bounds of all points, if the caller provides them */
    bool has_box;
};

void lay_out(plan *p, cuda_arena *arena, const point_build_cuda *a,
             const select_parameters *chosen) {
    const uint32_t n = (uint32_t)a->points.count;
    const bool widest = a->split == POINTTREE_WIDEST;
    *p = {};
    p->stages = a->stages;
    p->has_box = a->has_box;
    for (int axis = 0; axis < 3 && a->has_box; ++axis) {
        p->box.lo[axis] = (float)a->box.lo[axis];
        p->box.hi[axis] = (float)a->box.hi[axis];
    }
    stage *s = &p->s;
    s->tree = layout_of(n);
    s->points = (const float *)a->points.coordinates;
    s->stride = (int)(a->points.stride_bytes / sizeof(float));
    s->tree_ids = a->ids;
    s->tree_axes = widest ? a->axes : NULL;
    p->bottom = s->tree.levels > HEIGHT ? s->tree.levels - HEIGHT : 0;
    p->node_count = 2u << p->bottom;
    p->paired = n >= chosen->large;
    p->group = p->paired && !widest ? chosen->group : 0;
    p->refined = chosen->refined;
    p->sigmas = chosen->sigmas;
    const uint32_t nodes = p->node_count;
    s->nodes.pivot = (point_key *)cuda_arena_take(arena, nodes, sizeof(point_key));
    s->nodes.lo = (point_key *)cuda_arena_take(arena, nodes, sizeof(point_key));
    s->nodes.hi = (point_key *)cuda_arena_take(arena, nodes, sizeof(point_key));
    p->counters = (uint32_t *)cuda_arena_take(arena, nodes, COUNTER_BYTES);
    s->nodes.less = p->counters;
    s->nodes.candidates = p->counters + nodes;
    s->nodes.filled = p->counters + 2ull * nodes;
    s->nodes.axis = (uint8_t *)(p->counters + 3ull * nodes);
    s->nodes.region = widest ? (domain *)cuda_arena_take(arena, nodes, sizeof(domain)) : NULL;
    s->bounds = (uint32_t *)cuda_arena_take(arena, 6, sizeof(uint32_t));
    p->buffer[0] = (float4 *)cuda_arena_take(arena, n, sizeof(float4));
    if (!p->bottom) return;
    p->buffer[1] = (float4 *)cuda_arena_take(arena, n, sizeof(float4));
    s->candidates = (point_key *)cuda_arena_take(arena, n, sizeof(point_key));
    s->lists = (float4 *)(void *)s->candidates;
    s->counts = (uint32_t *)cuda_arena_take(arena, (uint64_t)GROUP_COUNTS << (p->bottom - 1),
                                            sizeof(uint32_t));
}

constexpr uint32_t SMALL_COUNT = 50000; /* below this, a small block settles a node's list */
/* the more nodes, the smaller the blocks, so that all run at once */
constexpr uint32_t MANY_NODES = 512;
/* with so many points a bracket that misses costs milliseconds */
constexpr uint32_t CAREFUL_COUNT = 1000000;

/* Number of blocks that share a node; its candidates are a few per cent of its points. */
int cluster_size(const plan *p, uint32_t count) {
    if (!p->clusters) return 1;
    return count >= 400000 ? 8 : count >= 200000 ? 4 : count >= 100000 ? 2 : 1;
}

template <class... PARAMETERS, class... ARGUMENTS>
kd_status launch_with(size_t shared, void (*kernel)(PARAMETERS...), uint64_t blocks, int threads,
                      int cluster, cudaStream_t stream, ARGUMENTS... arguments) {
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {(unsigned)cluster, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = cluster > 1 ? 1 : 0;
    if (shared)
        KD_CUDA(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    KD_CUDA(cudaLaunchKernelEx(&config, kernel, PARAMETERS(arguments)...));
    return KD_OK;
}

template <class... PARAMETERS, class... ARGUMENTS>
kd_status launch(void (*kernel)(PARAMETERS...), uint64_t blocks, int threads, int cluster,
                 cudaStream_t stream, ARGUMENTS... arguments) {
    return launch_with(0, kernel, blocks, threads, cluster, stream, arguments...);
}

/* Begins the stage that selects the pivots of the first `nodes` nodes of a level. */
kd_status begin_select(const plan *p, uint32_t level, uint32_t nodes, cudaStream_t stream) {
    const layout &tree = p->s.tree;
    const double points = points_of(tree, level, 0, nodes);
    const double draws = SELECT_THREADS * 4.0 * cluster_size(p, node_segment(tree, level, 0).count);
    const uint32_t above = level == 0 ? 0 : level > p->s.physical || !p->paired ? 1 : 2;
    const double samples = level + 1 == p->bottom ? 0 : sample_bytes(points, nodes, draws);
    return point_build_stages_begin(p->stages, POINT_STAGE_SELECT,
                                    samples + candidate_bytes(points, nodes, draws, above), stream);
}

/* Selects the pivots of the first `nodes` nodes of a level. */
template <bool INPUT>
kd_status select_level(const plan *p, uint32_t level, uint32_t nodes, cudaStream_t stream) {
    const stage &s = p->s;
    const int cluster = cluster_size(p, node_segment(s.tree, level, 0).count);
    const uint64_t blocks = (uint64_t)nodes * cluster;
    void (*kernel)(stage, uint32_t, bool) = cluster == 8   ? select_pivots<8, 4, INPUT>
                                            : cluster == 4 ? select_pivots<4, 4, INPUT>
                                            : cluster == 2 ? select_pivots<2, 4, INPUT>
                                                           : select_pivots<1, 4, INPUT>;
    KD_TRY(begin_select(p, level, nodes, stream));
    return launch(kernel, blocks, SELECT_THREADS, cluster, stream, s, level,
                  level + 1 == p->bottom);
}

/* Nodes `first` to `end` of the physical level. */
struct node_range {
    uint32_t first, end;
};

/* Begins the stage that reads these nodes' records and, if `move`, writes them. */
kd_status begin_pass(const plan *p, node_range nodes, uint32_t depth, bool move, bool classify,
                     cudaStream_t stream) {
    const stage &s = p->s;
    const uint32_t sampled = s.physical + (depth ? depth - 1 : 0);
    const double points = points_of(s.tree, s.physical, nodes.first, nodes.end);
    const double draws = SELECT_THREADS * (depth ? 4.0 : 8.0) *
                         cluster_size(p, node_segment(s.tree, sampled, 0).count);
    const double read = s.records ? RECORD_BYTES : s.stride * sizeof(float);
    double bytes = points * (read + (move ? RECORD_BYTES : 0));
    if (classify)
        bytes +=
            candidate_bytes(points, (double)((nodes.end - nodes.first) << depth), draws, depth);
    return point_build_stages_begin(p->stages, move ? POINT_STAGE_MOVE : POINT_STAGE_COLLECT, bytes,
                                    stream);
}

/* One pass over all records of some nodes, `depth` levels down; `classify`: collect the candidates
   of the brackets there. */
template <bool INPUT>
kd_status pass(const plan *p, node_range nodes, uint32_t depth, bool move, bool classify,
               cudaStream_t stream) {
    const stage &s = p->s;
    if (nodes.first == nodes.end) return KD_OK;
    KD_TRY(begin_pass(p, nodes, depth, move, classify, stream));
    const uint32_t tiles = move_tiles(s.tree, s.physical, nodes.first);
    void (*kernel)(stage, uint32_t, uint32_t) =
        depth == 0 ? move_records<0, false, true, INPUT>
        : !move    ? move_records<1, false, true, INPUT>
        : depth == 1
            ? (classify ? move_records<1, true, true, INPUT> : move_records<1, true, false, INPUT>)
            : (classify ? move_records<2, true, true, INPUT> : move_records<2, true, false, INPUT>);
    return launch(kernel, (uint64_t)tiles * (nodes.end - nodes.first), MOVE_THREADS, 1, stream, s,
                  nodes.first, tiles);
}

/* Returns how many nodes of a level have points on the tree's last level. */
uint32_t deep_nodes(const layout &tree, uint32_t level) {
    const uint32_t width = 1u << (tree.levels - 1 - level);
    return (tree.low - 1) / width + 1;
}

/* Descends one or two levels: selects their pivots, then moves the records to their children. In
   the last pass, nodes without points on the tree's last level stay one level higher, as their
   points fit into a block there. */
template <bool INPUT> kd_status descend_levels(plan *p, cudaStream_t stream) {
    stage *s = &p->s;
    const uint32_t level = s->physical, all = 1u << level;
    const uint32_t depth = p->paired && level + 2 <= p->bottom ? 2 : 1;
    const bool last = level + depth == p->bottom;
    const uint32_t deep = last ? deep_nodes(s->tree, level) : all;
    KD_TRY(select_level<INPUT>(p, level, depth == 1 ? deep : all, stream));
    if (depth == 2) {
        KD_TRY(pass<INPUT>(p, {0, deep}, 1, false, true, stream));
        KD_TRY(select_level<INPUT>(p, level + 1, 2 * deep, stream));
    }
    s->moved = s->records == p->buffer[0] ? p->buffer[1] : p->buffer[0];
    KD_TRY(pass<INPUT>(p, {0, deep}, depth, true, !last, stream));
    if (depth == 2) KD_TRY(pass<INPUT>(p, {deep, all}, 1, true, false, stream));
    p->roots = {p->bottom, deep << depth, depth == 2 ? s->moved : s->records};
    s->records = s->moved;
    s->physical = level + depth;
    return KD_OK;
}

/* Finds second brackets for the lists of the first `nodes` nodes at a depth of a group, and moves
   the lists on by these. */
kd_status refine_lists(const plan *p, uint32_t nodes, int depth, cudaStream_t stream) {
    const stage &s = p->s;
    const uint32_t points = node_segment(s.tree, s.physical + depth, 0).count;
    const int cluster = p->clusters ? 8 : 1;
    KD_TRY(launch_with(sizeof(aim_shared), p->clusters ? aim_lists<8> : aim_lists<1>,
                       (uint64_t)cluster * nodes, SELECT_THREADS, cluster, stream, s, depth,
                       p->sigmas + 1));
    const bool shallow = s.deep < 1u << s.physical && depth + 1 < s.levels; /* some roots have one
                                                                               level less */
    const uint32_t maximum = list_share(s.levels - shallow, depth) * (points / 32);
    const uint32_t tiles = (maximum + MOVE_TILE - 1) / MOVE_TILE;
    return launch(s.levels == 1   ? part_lists<1>
                  : s.levels == 2 ? part_lists<2>
                                  : part_lists<3>,
                  (uint64_t)tiles * nodes, MOVE_THREADS, 1, stream, s, depth, tiles);
}

/* Selects the pivots of the first `nodes` nodes at a depth of a group. */
template <bool INPUT>
kd_status resolve_level(const plan *p, uint32_t nodes, int depth, cudaStream_t stream) {
    const stage &s = p->s;
    const uint32_t count = node_segment(s.tree, s.physical + depth, 0).count;
    const int cluster = cluster_size(p, count);
    const int threads = count >= SMALL_COUNT || nodes <= MANY_NODES / 2 ? SELECT_THREADS
                        : nodes <= MANY_NODES                           ? SELECT_THREADS / 2
                                                                        : SELECT_THREADS / 4;
    return launch(cluster == 8                    ? resolve_pivots<8, SELECT_THREADS, INPUT>
                  : cluster == 4                  ? resolve_pivots<4, SELECT_THREADS, INPUT>
                  : cluster == 2                  ? resolve_pivots<2, SELECT_THREADS, INPUT>
                  : threads == SELECT_THREADS     ? resolve_pivots<1, SELECT_THREADS, INPUT>
                  : threads == SELECT_THREADS / 2 ? resolve_pivots<1, SELECT_THREADS / 2, INPUT>
                                                  : resolve_pivots<1, SELECT_THREADS / 4, INPUT>,
                  (uint64_t)nodes * cluster, threads, cluster, stream, s, depth);
}

/* Finds the brackets of a group of levels, makes the pass over all records below its roots, and
   selects the pivots, level by level. */
template <bool INPUT> kd_status descend_roots(const plan *p, uint32_t roots, cudaStream_t stream) {
    const stage &s = p->s;
    const uint32_t count = node_segment(s.tree, s.physical, 0).count;
    const int cluster = cluster_size(p, count);
    const double points = points_of(s.tree, s.physical, 0, roots);
    const double draws = (double)SELECT_THREADS * AIM_DRAWS * cluster;
    const double read = s.records ? RECORD_BYTES : s.stride * sizeof(float);
    const double listed = listed_bytes(points, roots, draws, (double)p->sigmas, s.levels);
    KD_TRY(point_build_stages_begin(p->stages, POINT_STAGE_SELECT,
                                    sample_bytes(points, roots, draws), stream));
    KD_TRY(launch_with(sizeof(aim_shared),
                       cluster == 8   ? aim_group<8, INPUT>
                       : cluster == 4 ? aim_group<4, INPUT>
                       : cluster == 2 ? aim_group<2, INPUT>
                                      : aim_group<1, INPUT>,
                       (uint64_t)roots * cluster, SELECT_THREADS, cluster, stream, s,
                       count >= CAREFUL_COUNT ? p->sigmas + 1 : p->sigmas));
    const uint32_t tiles = move_tiles(s.tree, s.physical, 0);
    KD_TRY(point_build_stages_begin(p->stages, POINT_STAGE_MOVE, points * (read + RECORD_BYTES),
                                    stream));
    KD_TRY(launch(s.levels == 1   ? part_records<1, INPUT>
                  : s.levels == 2 ? part_records<2, INPUT>
                                  : part_records<3, INPUT>,
                  (uint64_t)tiles * roots, MOVE_THREADS, 1, stream, s, tiles));
    KD_TRY(point_build_stages_begin(p->stages, POINT_STAGE_SELECT, s.refined ? 2 * listed : listed,
                                    stream));
    for (int depth = 0; depth < s.levels; ++depth) {
        const uint32_t nodes = (depth + 1 < s.levels ? roots : s.deep) << depth;
        if (s.refined) KD_TRY(refine_lists(p, nodes, depth, stream));
        KD_TRY(resolve_level<INPUT>(p, nodes, depth, stream));
    }
    return KD_OK;
}

/* Descends one group of levels; the last four are divided into two and two. Nodes without points on
   the tree's last level stay one level higher, as in descend_levels. */
template <bool INPUT> kd_status descend_group(plan *p, cudaStream_t stream) {
    stage *s = &p->s;
    const uint32_t level = s->physical, all = 1u << level, left = p->bottom - level;
    const uint32_t maximum = left == 4 || level % GROUP_LEVELS ? min(p->group, 2u) : p->group;
    const uint32_t levels = min(left, maximum);
    s->levels = (int)levels;
    s->deep = level + levels == p->bottom ? deep_nodes(s->tree, level) : all;
    s->refined = node_segment(s->tree, level, 0).count >= p->refined;
    s->moved = s->records == p->buffer[0] ? p->buffer[1] : p->buffer[0];
    KD_TRY(descend_roots<INPUT>(p, levels > 1 ? all : s->deep, stream));
    p->roots = {p->bottom, s->deep << levels, levels > 1 ? s->moved : s->records};
    s->records = s->moved;
    s->physical = level + levels;
    return KD_OK;
}

/* Zeroes the counters; computes the root's region if it is needed and not provided. */
kd_status open_nodes(const plan *p, cudaStream_t stream) {
    const stage &s = p->s;
    const double n = s.tree.count, draws = 8.0 * SELECT_THREADS * cluster_size(p, s.tree.count);
    const double bounds = s.nodes.region && !p->has_box ? n * s.stride * sizeof(float) : 0;
    KD_TRY(point_build_stages_begin(
        p->stages, POINT_STAGE_SELECT,
        bounds + (p->bottom && !p->group ? sample_bytes(n, 1, draws) : 0), stream));
    KD_CUDA(cudaMemsetAsync(p->counters, 0, COUNTER_BYTES * p->node_count, stream));
    if (!s.nodes.region) return KD_OK;
    if (!p->has_box) {
        KD_CUDA(cudaMemsetAsync(s.bounds, 0xff, 3 * sizeof(uint32_t), stream));
        KD_CUDA(cudaMemsetAsync(s.bounds + 3, 0, 3 * sizeof(uint32_t), stream));
        const uint64_t tiles = move_tiles(s.tree, 0, 0);
        KD_TRY(launch(find_bounds, tiles < 1024 ? tiles : 1024, MOVE_THREADS, 1, stream, s));
    }
    return launch(open_region, 1, 1, 1, stream, s, p->has_box, p->box);
}

template <int LEVELS, bool WIDEST, int BLOCKS>
kd_status finish(const plan *p, cudaStream_t stream) {
    const auto kernel = build_bottom<LEVELS, WIDEST, BLOCKS>;
    typedef bottom_shared<LEVELS> shared;
    static_assert(sizeof(shared) <= CUDA_SHARED_MIN, "every device has that");
    KD_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)sizeof(shared)));
    const bottoms &roots = p->roots;
    const double ids = sizeof(uint32_t) + (WIDEST ? sizeof(uint8_t) : 0);
    KD_TRY(point_build_stages_begin(p->stages, POINT_STAGE_BOTTOM,
                                    (double)p->s.tree.count * (RECORD_BYTES + ids), stream));
    const uint32_t blocks = roots.deep + ((1u << roots.level) - roots.deep) / 2;
    kernel<<<blocks, shared::THREADS, sizeof(shared), stream>>>(p->s, roots);
    KD_CUDA_LAUNCHED("build_bottom");
    return point_build_stages_end(p->stages, stream);
}

kd_status build(plan *p, cudaStream_t stream) {
    stage *s = &p->s;
    KD_TRY(open_nodes(p, stream));
    if (p->bottom == 0) {
        s->moved = p->buffer[0];
        KD_TRY(begin_pass(p, {0, 1}, 0, true, false, stream));
        KD_TRY(launch(pack_records, (s->tree.count + MOVE_THREADS - 1) / MOVE_THREADS, MOVE_THREADS,
                      1, stream, *s));
        s->records = s->moved;
        p->roots = {0, 1, NULL};
    } else if (p->group) {
        KD_TRY(descend_group<true>(p, stream));
        while (s->physical < p->bottom) KD_TRY(descend_group<false>(p, stream));
    } else {
        const int cluster = cluster_size(p, s->tree.count);
        KD_TRY(launch(cluster == 8   ? open_root<8, 8>
                      : cluster == 4 ? open_root<4, 8>
                      : cluster == 2 ? open_root<2, 8>
                                     : open_root<1, 8>,
                      cluster, SELECT_THREADS, cluster, stream, *s));
        KD_TRY(pass<true>(p, {0, 1}, 0, false, true, stream));
        KD_TRY(descend_levels<true>(p, stream));
        while (s->physical < p->bottom) KD_TRY(descend_levels<false>(p, stream));
    }
    return s->nodes.region ? finish<HEIGHT, true, 3>(p, stream)
                           : finish<HEIGHT, false, 3>(p, stream);
}
} // namespace

static kd_status build_select_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *a) {
    if (!is_ours(a)) return build_brown_cuda_scratch_bytes(bytes, a);
    KD_TRY(point_build_cuda_check(a, 0));
    *bytes = 0;
    if (a->points.count == 0) return KD_OK;
    cuda_arena counted = {NULL, 0};
    const select_parameters chosen = select_parameters_default();
    plan p;
    lay_out(&p, &counted, a, &chosen);
    *bytes = counted.used;
    return KD_OK;
}

extern "C" select_parameters select_parameters_default(void) {
    return {1u << 21, 3, 1u << 22, 3.5f};
}

extern "C" kd_status build_select_cuda_with(const point_build_cuda *a,
                                            const select_parameters *chosen) {
    if (!is_ours(a)) return build_lists_cuda(a);
    KD_TRY(point_build_cuda_check(a, 0));
    if (a->points.count == 0) return KD_OK;
    cuda_arena arena = {(char *)a->scratch, 0};
    plan p;
    lay_out(&p, &arena, a, chosen);
    KD_TRY(point_build_cuda_check(a, arena.used));
    KD_TRY(cuda_has_clusters(&p.clusters, aim_lists<8>));
    size_t shared = 0;
    KD_TRY(cuda_shared_max(&shared));
    if (shared < sizeof(aim_shared)) p.group = 0; /* use pairs of levels */
    return build(&p, (cudaStream_t)a->stream);
}

static kd_status build_select_cuda(const point_build_cuda *a) {
    const select_parameters chosen = select_parameters_default();
    return build_select_cuda_with(a, &chosen);
}

extern "C" {
extern const point_builder_cuda point_builder_cuda_select;
const point_builder_cuda point_builder_cuda_select = {"select", build_select_cuda_scratch_bytes,
                                                      build_select_cuda, false, false};
}
