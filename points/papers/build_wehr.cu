/* Left-balanced point k-d tree on a CUDA device by sorting the chunks of each level.
   Source: Wehr and Radkowski 2018, "Parallel kd-tree construction on the GPU with an adaptive split
           and sort strategy".
   Idea: coordinates become cells, 32-bit integers. The chunks of the upper levels are sorted by a
         radix sort that all multiprocessors share (wehr_chunks.cuh); each chunk below the cutoff is
         finished by one block (wehr_bottom.cuh).
   Work: bits / digit bits passes per level above the cutoff; only bits that can occur are sorted.
   Memory: 4 bytes per point and axis, and 16 more per point; twice 8 for doubles that are not
           rounded.
   Invariants: all sorts are stable, so the order is that of the CPU builder: cell on the node's
               axis, then on its ancestors' axes, nearest first, then id.
   Differs from the paper in: the points in which the CPU builder differs, and the cutoff: below it
         a block sorts, by radix and then by counting, where the paper has one thread sort, by radix
         and insertion.
   Data flow: make_cells, one thread per point: points -> cells; or for each axis load_axis -> keys,
              sort, find_steps, scan, store_ranks -> cells. number_ids -> the first list; then for
              each level wehr_chunks.cuh (list -> list, ids of the tree), and finally
              wehr_bottom.cuh. */
#include "core/device/device_sort.cuh"
#include "core/device/device_stream.h"
#include "points/papers/brown_presort.cuh"
#include "points/papers/build_wehr.h"
#include "points/papers/wehr_bottom.cuh"

namespace {
using namespace wehr;

/* Buffers that replace unrounded doubles by their ranks among the coordinates of their axis. */
struct ranking {
    uint64_t *keys, *keys_sorted;
    uint32_t *order, *order_sorted, *steps;
    void *cub;
    size_t cub_bytes;
};

struct plan {
    chunk_stage s;
    widest::tree tree;
    point_box *box;
    uint32_t *cells, *ids[2], *values[2];
    uint32_t bits[POINT_DIMS_MAX]; /* number of bits that can occur on each axis */
    ranking ranks;
    cudaStream_t stream;
};

bool are_ranked(const point_build_cuda *a) {
    return a->points.scalar == POINT_DOUBLE && a->cells == 0;
}

kd_status lay_out_ranks(ranking *r, cuda_arena *arena, uint32_t n) {
    size_t sort = 0, scan = 0;
    r->keys = (uint64_t *)cuda_arena_take(arena, n, sizeof(uint64_t));
    r->keys_sorted = (uint64_t *)cuda_arena_take(arena, n, sizeof(uint64_t));
    r->order = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
    r->order_sorted = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
    r->steps = (uint32_t *)r->keys; /* reuses `keys` once they are sorted */
    KD_TRY(device_sort_pairs(NULL, &sort, r->keys, r->keys_sorted, r->order, r->order_sorted, n, 64,
                             0));
    KD_TRY(device_running_sum(NULL, &scan, r->steps, n, 0));
    r->cub_bytes = sort > scan ? sort : scan;
    r->cub = cuda_arena_take(arena, r->cub_bytes, 1);
    return KD_OK;
}

uint32_t bits_of(double span) {
    return span < 1 ? 0 : pointtree_log2((uint32_t)span) + 1;
}

kd_status count_bits(plan *p, const point_build_cuda *a) {
    for (uint32_t axis = 0; axis < a->points.dims; ++axis) {
        const double lo = pointtree_cell(a->box.lo[axis], a->cells);
        const double span = pointtree_cell(a->box.hi[axis], a->cells) - lo;
        p->bits[axis] = are_ranked(a) ? bits_of((double)a->points.count) : 32;
        if (a->cells == 0) continue;
        KD_REQUIRE(span >= 0 && span <= UINT32_MAX, KD_ERROR_USAGE,
                   "%g cells per unit make %g cells along axis %u; supported: at most 2^32",
                   a->cells, span, axis);
        p->bits[axis] = bits_of(span);
    }
    return KD_OK;
}

/* Lays out enough scratch for any parameters. The buffers for ranks and those of the later stages
   overlap. */
kd_status lay_out(plan *p, cuda_arena *arena, const point_build_cuda *a) {
    const uint32_t n = (uint32_t)a->points.count, dims = a->points.dims;
    const uint32_t min_tile = 128 * ROUNDS, max_digits = 1u << 5;
    *p = {};
    p->stream = (cudaStream_t)a->stream;
    p->s.tree = layout_of(n);
    p->s.dims = dims;
    p->s.tree_ids = a->ids;
    p->s.tree_axes = a->split == POINTTREE_WIDEST ? a->axes : NULL;
    p->s.cell_stride = n;
    p->box = (point_box *)cuda_arena_take(arena, 1, sizeof(point_box));
    p->cells = (uint32_t *)cuda_arena_take(arena, (uint64_t)n * dims, sizeof(uint32_t));
    p->s.cells = p->cells;
    cuda_arena before = *arena;
    if (are_ranked(a)) KD_TRY(lay_out_ranks(&p->ranks, &before, n));
    for (int i = 0; i < 2; ++i) {
        p->ids[i] = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
        p->values[i] = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
    }
    /* chunks above the cutoff have at least 256 points */
    const uint64_t blocks = (uint64_t)n / min_tile + n / 256 + 2;
    p->s.counts = (uint32_t *)cuda_arena_take(arena, blocks * max_digits, sizeof(uint32_t));
    p->s.totals =
        (uint32_t *)cuda_arena_take(arena, (n / 256 + 2) * (uint64_t)max_digits, sizeof(uint32_t));
    if (before.used > arena->used) arena->used = before.used;
    const uint64_t stride = a->points.stride_bytes / point_scalar_bytes(a->points.scalar);
    p->tree = {a->points.coordinates, stride, dims, n, p->box, a->ids, a->axes, a->cells > 0};
    return count_bits(p, a);
}

template <typename real>
__global__ __launch_bounds__(BLOCK) void make_cells(widest::tree t, double cells, uint32_t *out) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= t.count) return;
    for (uint32_t axis = 0; axis < t.dims; ++axis) {
        const real x = ((const real *)t.points)[i * t.stride + axis];
        const uint32_t cell = cells > 0 ? (uint32_t)(pointtree_cell((double)x, cells) -
                                                     pointtree_cell(t.box->lo[axis], cells))
                                        : pointtree_order_bits((float)x);
        out[(uint64_t)axis * t.count + i] = cell;
    }
}

__global__ __launch_bounds__(BLOCK) void load_axis(widest::tree t, uint32_t axis, uint64_t *keys,
                                                   uint32_t *order) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= t.count) return;
    keys[i] = pointtree_order_bits_double(((const double *)t.points)[i * t.stride + axis]);
    order[i] = i;
}

__global__ __launch_bounds__(BLOCK) void find_steps(const uint64_t *keys, uint32_t count,
                                                    uint32_t *steps) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) steps[i] = i > 0 && keys[i] != keys[i - 1];
}

__global__ __launch_bounds__(BLOCK) void store_ranks(const uint32_t *order, const uint32_t *steps,
                                                     uint32_t count, uint32_t *cells) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) cells[order[i]] = steps[i];
}

__global__ __launch_bounds__(BLOCK) void number_ids(uint32_t *ids, uint32_t count) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) ids[i] = i;
}

kd_status rank_axis(const plan *p, uint32_t axis) {
    const ranking *r = &p->ranks;
    const uint32_t n = p->s.tree.count;
    const unsigned blocks = cuda_blocks(n, BLOCK);
    size_t bytes = r->cub_bytes;
    load_axis<<<blocks, BLOCK, 0, p->stream>>>(p->tree, axis, r->keys, r->order);
    KD_CUDA_LAUNCHED("load_axis");
    KD_TRY(device_sort_pairs(r->cub, &bytes, r->keys, r->keys_sorted, r->order, r->order_sorted, n,
                             64, p->stream));
    find_steps<<<blocks, BLOCK, 0, p->stream>>>(r->keys_sorted, n, r->steps);
    KD_CUDA_LAUNCHED("find_steps");
    bytes = r->cub_bytes;
    KD_TRY(device_running_sum(r->cub, &bytes, r->steps, n, p->stream));
    store_ranks<<<blocks, BLOCK, 0, p->stream>>>(r->order_sorted, r->steps, n,
                                                 p->cells + (uint64_t)axis * n);
    KD_CUDA_LAUNCHED("store_ranks");
    return KD_OK;
}

kd_status find_cells(const plan *p, const point_build_cuda *a) {
    const unsigned blocks = cuda_blocks(p->s.tree.count, BLOCK);
    KD_CUDA(cudaMemcpyAsync(p->box, &a->box, sizeof a->box, cudaMemcpyHostToDevice, p->stream));
    for (uint32_t axis = 0; are_ranked(a) && axis < p->s.dims; ++axis) KD_TRY(rank_axis(p, axis));
    number_ids<<<blocks, BLOCK, 0, p->stream>>>(p->ids[0], p->s.tree.count);
    KD_CUDA_LAUNCHED("number_ids");
    if (are_ranked(a)) return KD_OK;
    if (a->points.scalar == POINT_DOUBLE)
        make_cells<double><<<blocks, BLOCK, 0, p->stream>>>(p->tree, a->cells, p->cells);
    else
        make_cells<float><<<blocks, BLOCK, 0, p->stream>>>(p->tree, a->cells, p->cells);
    KD_CUDA_LAUNCHED("make_cells");
    return KD_OK;
}

uint32_t max_bits(const plan *p) {
    uint32_t maximum = 0;
    for (uint32_t axis = 0; axis < p->s.dims; ++axis)
        if (p->bits[axis] > maximum) maximum = p->bits[axis];
    return maximum;
}

template <typename real>
kd_status sort_level(plan *p, uint32_t level, const wehr_parameters *parameters) {
    const bool widest = p->s.tree_axes != NULL;
    const uint32_t needed_bits = widest ? max_bits(p) : p->bits[level % p->s.dims];
    const uint32_t bits = needed_bits ? needed_bits : 1, step = parameters->digit_bits;
    const uint32_t largest = list_segment(p->s.tree, level, 0).count;
    if (widest) KD_TRY(widest::choose_level<real>(p->tree, level, p->stream));
    chunk_pass pass = {};
    pass.level = level;
    pass.tiles = (largest + parameters->block - 1) / parameters->block;
    for (uint32_t bit = 0; bit < bits; bit += step) {
        pass.ids = p->ids[0], pass.ids_to = p->ids[1];
        pass.values = p->values[0], pass.values_to = p->values[1];
        pass.shift = bit;
        pass.first = bit == 0;
        pass.last = bit + step >= bits;
        KD_TRY(parameters->block == 1024   ? sort_digit_of<128>(p->s, pass, step, p->stream)
               : parameters->block == 2048 ? sort_digit_of<256>(p->s, pass, step, p->stream)
                                           : sort_digit_of<512>(p->s, pass, step, p->stream));
        p->ids[0] = pass.ids_to, p->ids[1] = (uint32_t *)pass.ids;
        p->values[0] = pass.values_to, p->values[1] = pass.values;
    }
    return KD_OK;
}

template <int HEIGHT, typename real> kd_status finish(const plan *p, uint32_t level) {
    const uint32_t bits = max_bits(p) ? max_bits(p) : 1;
    typedef bottom_shared<HEIGHT, uint32_t> shared;
    if (bits + HEIGHT <= 32)
        finish_chunks<HEIGHT, uint32_t, real>
            <<<1u << level, shared::THREADS, 0, p->stream>>>(p->s, p->tree, p->ids[0], level, bits);
    else
        finish_chunks<HEIGHT, uint64_t, real>
            <<<1u << level, shared::THREADS, 0, p->stream>>>(p->s, p->tree, p->ids[0], level, bits);
    KD_CUDA_LAUNCHED("finish_chunks");
    return KD_OK;
}

template <typename real> kd_status sort_levels(plan *p, const wehr_parameters *parameters) {
    const uint32_t height = pointtree_log2(parameters->cutoff), levels = p->s.tree.levels;
    const uint32_t bottom = levels > height ? levels - height : 0;
    for (uint32_t level = 0; level < bottom; ++level)
        KD_TRY(sort_level<real>(p, level, parameters));
    return height == 9    ? finish<9, real>(p, bottom)
           : height == 10 ? finish<10, real>(p, bottom)
                          : finish<11, real>(p, bottom);
}

kd_status check_parameters(const wehr_parameters *p) {
    const bool right = (p->block == 1024 || p->block == 2048 || p->block == 4096) &&
                       p->digit_bits >= 2 && p->digit_bits <= 5 &&
                       (p->cutoff == 512 || p->cutoff == 1024 || p->cutoff == 2048);
    KD_REQUIRE(right, KD_ERROR_USAGE,
               "blocks have %u points, digits %u bits and the cutoff is %u points; expected 1024, "
               "2048 or 4096; 2 to 5; 512, 1024 or 2048",
               p->block, p->digit_bits, p->cutoff);
    return KD_OK;
}
} // namespace

static kd_status build_wehr_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *a) {
    cuda_arena counted = {NULL, 0};
    *bytes = 0;
    KD_TRY(point_build_cuda_check(a, 0));
    if (a->points.count == 0) return KD_OK;
    plan p;
    KD_TRY(lay_out(&p, &counted, a));
    *bytes = counted.used;
    return KD_OK;
}

extern "C" kd_status build_wehr_cuda_with(const point_build_cuda *a,
                                          const wehr_parameters *parameters) {
    KD_TRY(point_build_cuda_check(a, 0));
    KD_TRY(check_parameters(parameters));
    if (a->kept) *a->kept = (uint32_t)a->points.count;
    if (a->points.count == 0) return KD_OK;
    cuda_arena arena = {(char *)a->scratch, 0};
    plan p;
    KD_TRY(lay_out(&p, &arena, a));
    KD_TRY(point_build_cuda_check(a, arena.used));
    KD_TRY(find_cells(&p, a));
    return a->points.scalar == POINT_DOUBLE ? sort_levels<double>(&p, parameters)
                                            : sort_levels<float>(&p, parameters);
}

static kd_status build_wehr_cuda(const point_build_cuda *a) {
    const wehr_parameters parameters = wehr_parameters_cuda_default();
    return build_wehr_cuda_with(a, &parameters);
}

extern "C" kd_status wehr_tune_cuda(wehr_parameters *best, const point_build_cuda *a) {
    double minimum = INFINITY, seconds = 0;
    device_timer timer;
    kd_status status = KD_OK;
    *best = wehr_parameters_cuda_default();
    KD_TRY(build_wehr_cuda_with(a, best));
    KD_TRY(device_timer_open(&timer));
    for (uint32_t block = 1024; block <= 4096 && status == KD_OK; block *= 2)
        for (uint32_t digit_bits = 2; digit_bits <= 5 && status == KD_OK; ++digit_bits)
            for (uint32_t cutoff = 512; cutoff <= 2048 && status == KD_OK; cutoff *= 2)
                for (int run = 0; run < 3 && status == KD_OK; ++run) {
                    const wehr_parameters tried = {block, digit_bits, cutoff, 0, NULL};
                    status = device_timer_start(&timer, a->stream);
                    if (status == KD_OK) status = build_wehr_cuda_with(a, &tried);
                    if (status == KD_OK) status = device_timer_stop(&timer, a->stream, &seconds);
                    if (status != KD_OK || seconds >= minimum) continue;
                    minimum = seconds;
                    *best = tried;
                }
    device_timer_close(&timer);
    return status;
}

extern "C" {
extern const point_builder_cuda point_builder_cuda_wehr;
const point_builder_cuda point_builder_cuda_wehr = {"wehr", build_wehr_cuda_scratch_bytes,
                                                    build_wehr_cuda, false, false};
}
