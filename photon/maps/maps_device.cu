/* Idea: a map consists of a list of photons, the builder's tree over their positions, and the
         photons once more in the order of the index's leaves, 48 bytes each, so that a warp reads
         the photons of a leaf contiguously. All of it is a function of the list; the tree is that
         of the CPU.
   Data flow: the point builder makes the tree from the list; order_photons, one thread per photon,
              writes the photons in tree order, or photon_leaves.cuh makes the index; take_probes,
              one thread per probe, reads photons and writes requests, whose radii the host
              reads. */
#include "core/device/async.h"
#include "core/device/cuda.h"
#include "core/device/device_stream.h"
#include "photon/maps/map_index.cuh"
#include "photon/maps/photon_curve.cuh"
#include "photon/maps/surface_packets.cuh"
#include "points/select/builders.h"
#include "points/tree/check_device.h"

namespace {
using namespace photon_gathering_cuda;

constexpr int BLOCK = 256;

/* Stores the photons in tree order, for kernels that traverse the tree. */
__global__ __launch_bounds__(BLOCK) void order_photons(const photon *list, const uint32_t *ids,
                                                       uint32_t count, photon *ordered,
                                                       vec3 *points) {
    const uint32_t node = blockIdx.x * BLOCK + threadIdx.x;
    if (node >= count) return;
    const photon at = list[ids[node]];
    ordered[node] = at;
    points[node] = at.position;
}

/* Creates requests at the positions of some photons. Only the radii of the results are used, so
   the surfaces need no normals. */
__global__ void take_probes(const photon *list, const uint32_t *ids, uint64_t count,
                            uint32_t probes, eye_request *out) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= probes) return;
    memset(&out[i], 0, sizeof out[i]);
    out[i].at.position = list[ids[i * count / probes]].position;
}

void (*nearest_kernel(uint32_t k))(gather_work) {
    return k <= 16    ? gather_nearest<2>
           : k <= 40  ? gather_nearest<3>
           : k <= 72  ? gather_nearest<4>
           : k <= 128 ? gather_nearest<6>
           : k <= 320 ? gather_nearest<12>
           : k <= 640 ? gather_nearest<24>
                      : gather_nearest<40>;
}

/* Builds the tree, or validates the one that came with the photons. */
kd_status make_tree(photon_map_cuda *map) {
    const uint64_t count = map->list.local_count;
    point_build_cuda build;
    memset(&build, 0, sizeof build);
    build.points = point_array_make(map->list.positions.memory, count, 3, POINT_FLOAT);
    build.split = POINTTREE_ROUND_ROBIN;
    KD_TRY(device_buffer_reserve(&map->ids, count * sizeof(uint32_t)));
    build.ids = (uint32_t *)map->ids.memory;
    build.stream = device_thread_stream();
    if (map->has_tree) {
        const point_box unused = point_box_empty();
        const kd_status proved = point_check_cuda(&build, count, POINTTREE_BY_COORDINATE, &unused);
        return proved == KD_ERROR_CHECK ? KD_ERROR_INPUT : proved;
    }
    const point_builder_cuda *builder = point_builders_cuda[0];
    KD_TRY(builder->scratch_bytes(&build.scratch_bytes, &build));
    KD_TRY(device_buffer_reserve(&map->scratch, build.scratch_bytes));
    build.scratch = map->scratch.memory;
    return builder->build(&build);
}

/* Sorts index->ids along a Morton curve. */
kd_status sort_along_curve(photon_map_cuda *map, const gather_index::index *index) {
    const vec3 *places = (const vec3 *)map->list.positions.memory;
    photon_curve::sorting sorting;
    cuda_arena arena = {NULL, 0};
    KD_TRY(photon_curve::lay_out(&sorting, &arena, places, index->count));
    KD_TRY(device_buffer_reserve(&map->scratch, arena.used));
    arena.base = (char *)map->scratch.memory;
    arena.used = 0;
    KD_TRY(photon_curve::lay_out(&sorting, &arena, places, index->count));
    return photon_curve::sort(&sorting, index->ids, (cudaStream_t)device_thread_stream());
}

kd_status make_index(photon_map_cuda *map, gather_index::index *index) {
    const uint32_t count = (uint32_t)map->list.local_count;
    cuda_arena arena = {NULL, 0};
    gather_index::lay_out(index, &arena, count);
    KD_TRY(device_buffer_reserve(&map->index, arena.used));
    arena.base = (char *)map->index.memory;
    arena.used = 0;
    gather_index::lay_out(index, &arena, count);
    KD_TRY(sort_along_curve(map, index));
    return gather_index::make(index, (const photon *)map->list.photons.memory,
                              (cudaStream_t)device_thread_stream());
}

/* Kernels for packets, and for the requests that these leave; NULL: k is too large for packets. */
struct packets_kernels {
    void (*together)(gather_work), (*alone)(gather_work);
};
packets_kernels kernels_of_packets(uint32_t k) {
    return k == 0    ? packets_kernels{packets_within, alone_within}
           : k <= 16 ? packets_kernels{packets_nearest<2>, alone_nearest<2>}
           : k <= 40 ? packets_kernels{packets_nearest<3>, alone_nearest<3>}
           : k <= 72 ? packets_kernels{packets_nearest<4>, alone_nearest<4>}
                     : packets_kernels{NULL, NULL};
}

kd_status launch_packets(const gather_work *work, const packets_kernels &kernels) {
    void (*together)(gather_work) = kernels.together, (*alone)(gather_work) = kernels.alone;
    unsigned blocks = 0;
    KD_CUDA(cudaMemsetAsync(work->alone.count, 0, sizeof *work->alone.count));
    KD_CUDA(cudaMemsetAsync(work->alone.next, 0, sizeof *work->alone.next));
    together<<<cuda_blocks(work->packet_count, WARPS), 32 * WARPS>>>(*work);
    KD_CUDA_LAUNCHED("packets");
    KD_TRY(cuda_resident_blocks(&blocks, alone, 32 * WARPS));
    alone<<<blocks, 32 * WARPS>>>(*work);
    KD_CUDA_LAUNCHED("alone");
    return KD_OK;
}

kd_status launch_gather(const gather_work *work) {
    if (work->packets || work->order || work->k == 0) {
        const packets_kernels kernels = kernels_of_packets(work->k);
        if (kernels.together) return launch_packets(work, kernels);
    }
    nearest_kernel(work->k)<<<cuda_blocks(work->count, WARPS), 32 * WARPS>>>(*work);
    KD_CUDA_LAUNCHED("gather_nearest");
    return KD_OK;
}

/* Finds the distances from some photons to their k-th neighbours, as on the CPU; on the default
   stream. */
kd_status choose_radius(photon_map_cuda *map, const photon_options *options,
                        const gather_index::index *index) {
    const uint64_t count = map->list.count;
    const uint32_t maximum = RADIUS_PROBES, probes = count < maximum ? (uint32_t)count : maximum;
    gather_work work;
    memset(&work, 0, sizeof work);
    work.index = *index;
    work.count = probes;
    work.k = count < options->gather ? (uint32_t)count : options->gather;
    work.radius = INFINITY;
    work.scale = 1;
    cuda_arena arena = {NULL, 0};
    for (int turn = 0; turn < 2; ++turn) {
        work.requests = (eye_request *)cuda_arena_take(&arena, probes, sizeof(eye_request));
        work.sums = (flux_sum *)cuda_arena_take(&arena, probes, sizeof(flux_sum));
        work.radii = (float *)cuda_arena_take(&arena, probes, sizeof(float));
        if (turn) break;
        KD_TRY(device_buffer_reserve(&map->scratch, arena.used));
        arena.base = (char *)map->scratch.memory;
        arena.used = 0;
    }
    take_probes<<<cuda_blocks(probes, BLOCK), BLOCK>>>((const photon *)map->list.photons.memory,
                                                       (const uint32_t *)map->ids.memory, count,
                                                       probes, (eye_request *)work.requests);
    KD_CUDA_LAUNCHED("take_probes");
    KD_TRY(launch_gather(&work));
    float distances[RADIUS_PROBES];
    KD_CUDA(cudaMemcpy(distances, work.radii, probes * sizeof *distances, cudaMemcpyDeviceToHost));
    map->radius =
        photon_radius_of(distances, probes, photon_estimators[options->estimator].one_radius);
    return KD_OK;
}

kd_status order(photon_map_cuda *map) {
    const uint64_t count = map->list.local_count;
    KD_TRY(device_buffer_reserve(&map->ordered, count * sizeof(photon)));
    KD_TRY(device_buffer_reserve(&map->ordered_points, count * sizeof(vec3)));
    order_photons<<<cuda_blocks(count, BLOCK), BLOCK, 0, (cudaStream_t)device_thread_stream()>>>(
        (const photon *)map->list.photons.memory, (const uint32_t *)map->ids.memory,
        (uint32_t)count, (photon *)map->ordered.memory, (vec3 *)map->ordered_points.memory);
    KD_CUDA_LAUNCHED("order_photons");
    return KD_OK;
}

void begin_map(photon_map_cuda *map, const photon_options *options) {
    map->has_irradiance = false;
    map->scale = flux_scale(map->list.strongest);
    map->radius = options->radius;
}

/* Builds the tree if kernels traverse it, if the radius is derived from it, or if it has to be
   validated; and the index. */
kd_status build_map_tree(photon_map_cuda *map, const photon_options *options, bool ordered) {
    const bool probed = !(options->radius > 0);
    gather_index::index index;
    begin_map(map, options);
    if (map->list.local_count == 0) return KD_OK;
    if (ordered || probed || map->has_tree) KD_TRY(make_tree(map));
    KD_TRY(make_index(map, &index));
    if (probed) KD_TRY(choose_radius(map, options, &index));
    return ordered ? order(map) : KD_OK;
}

} // namespace

extern "C" uint64_t photon_map_cuda_bytes(uint64_t photons, bool ordered) {
    gather_index::index index;
    point_build_cuda build;
    cuda_arena arena = {NULL, 0};
    if (photons == 0) return 0;
    memset(&build, 0, sizeof build);
    build.points = point_array_make(NULL, photons, 3, POINT_FLOAT);
    build.split = POINTTREE_ROUND_ROBIN;
    if (point_builders_cuda[0]->scratch_bytes(&build.scratch_bytes, &build) != KD_OK) return 0;
    gather_index::lay_out(&index, &arena, (uint32_t)photons);
    photon_curve::sorting sorting;
    cuda_arena sorted = {NULL, 0};
    if (photon_curve::lay_out(&sorting, &sorted, NULL, (uint32_t)photons) != KD_OK) return 0;
    const uint64_t in_order = sizeof(photon) + sizeof(vec3) + 2 * sizeof(irradiance_record);
    const uint64_t precompute_bytes = ordered ? photon_maps_cuda_precompute_bytes(photons) : 0;
    uint64_t scratch =
        precompute_bytes > build.scratch_bytes ? precompute_bytes : build.scratch_bytes;
    if (sorted.used > scratch) scratch = sorted.used;
    return photon_list_cuda_bytes(photons) + arena.used + scratch +
           photons * (sizeof(uint32_t) + (ordered ? in_order : 0));
}

extern "C" kd_status photon_maps_cuda_build_trees(photon_maps_cuda *maps,
                                                  const photon_options *options, bool ordered,
                                                  job_control *job) {
    KD_TRY(photon_options_check(options));
    maps->comm = options->comm;
    maps->gather = options->gather;
    maps->kernel = options->kernel;
    maps->estimator = options->estimator;
    maps->lookup = options->lookup;
    maps->media = options->media;
    job_stage_begin(job, "photon_tree", (int64_t)(maps->map[PHOTON_LIST_GLOBAL].list.count));
    kd_status status = build_map_tree(&maps->map[PHOTON_LIST_GLOBAL], options, ordered);
    if (status == KD_OK) status = build_map_tree(&maps->map[PHOTON_LIST_CAUSTIC], options, ordered);
    if (status == KD_OK && photon_media_rows[options->media].beams)
        begin_map(&maps->map[PHOTON_LIST_MEDIA], options);
    else if (status == KD_OK)
        status = build_map_tree(&maps->map[PHOTON_LIST_MEDIA], options, true);
    if (status == KD_OK) status = device_stream_wait(device_thread_stream());
    job_stage_end(job);
    return status;
}

extern "C" kd_status photon_maps_cuda_gather(const photon_maps_cuda *maps, int which,
                                             uint32_t gather, float radius,
                                             const photon_gather_cuda *request) {
    const photon_map_cuda *map = &maps->map[which];
    if (request->count == 0) return KD_OK;
    if (map->list.local_count == 0 || !(pointtree_bound2(radius) > 0)) {
        KD_CUDA(cudaMemsetAsync(request->sums, 0, request->count * sizeof *request->sums));
        KD_CUDA(cudaMemsetAsync(request->radii, 0, request->count * sizeof *request->radii));
        return KD_OK;
    }
    gather_work work;
    work.index = map_index_of(map);
    work.requests = request->requests;
    work.count = request->count;
    work.packets = request->packets;
    work.packet_count = request->packets ? request->packet_count : (request->count + 31) / 32;
    work.order = request->order;
    work.alone = {request->alone, request->alone + request->count,
                  request->alone + request->count + 1};
    work.sums = request->sums;
    work.radii = request->radii;
    work.k = gather;
    work.radius = radius;
    work.kernel = maps->kernel;
    work.scale = map->scale;
    return launch_gather(&work);
}
