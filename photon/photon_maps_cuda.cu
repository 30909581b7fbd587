/* Idea: a map is a list of photons, the builder's tree over their positions, and the photons once
   more in the order of the index's leaves, 48 bytes each, so that a warp that looks at a leaf reads
   neighbours. Everything is a function of the list: the same tree as the CPU's. */
#include "core/cuda.h"
#include "photon/gather_cuda.cuh"
#include "photon/photon_maps_cuda.h"
#include "shaders/photon_known.h"

namespace {
using namespace photon_gathering_cuda;

constexpr int BLOCK = 256, KNOWN_BLOCK = 128;

unsigned blocks_for(uint64_t items, uint64_t block = BLOCK) {
    return (unsigned)((items + block - 1) / block);
}

/* Beside the index: places instead of ids with its points, records and ids in its order. */
__global__ __launch_bounds__(BLOCK) void make_records(float4 *points, const photon *list,
                                                      uint32_t count, float4 *records,
                                                      uint32_t *ids) {
    const uint32_t place = blockIdx.x * BLOCK + threadIdx.x;
    if (place >= count) return;
    const uint32_t id = __float_as_uint(points[place].w);
    const photon *from = list + id;
    const vec3 p = from->position, power = from->power, d = from->direction, n = from->normal;
    float4 *to = records + 3 * (uint64_t)place;
    to[0] = make_float4(p.x, p.y, p.z, n.x);
    to[1] = make_float4(power.x, power.y, power.z, n.y);
    to[2] = make_float4(d.x, d.y, d.z, n.z);
    ids[place] = id;
    points[place].w = __uint_as_float(place);
}

__global__ __launch_bounds__(BLOCK) void order_photons(const photon *list, const uint32_t *ids,
                                                       uint32_t count, photon *ordered) {
    const uint32_t node = blockIdx.x * BLOCK + threadIdx.x;
    if (node < count) ordered[node] = list[ids[node]];
}

__global__ void take_probes(const vec3 *tree_points, uint64_t count, uint32_t probes, vec3 *out) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < probes) out[i] = tree_points[i * count / probes];
}

__global__ __launch_bounds__(KNOWN_BLOCK) void precompute(
    const __grid_constant__ photon_map_view map, const __grid_constant__ photon_map_view caustic,
    const __grid_constant__ crease_view creases, const __grid_constant__ mesh_view mesh,
    vec3 *irradiance) {
    const uint32_t node = blockIdx.x * KNOWN_BLOCK + threadIdx.x;
    if (node < map.tree.count)
        irradiance[node] = photon_irradiance_at(&map, &caustic, &creases, &mesh, node);
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

/* The tree, and its index. */
kd_status plant(photon_map_cuda *map) {
    const uint64_t count = map->list.count;
    point_build_cuda build;
    memset(&build, 0, sizeof build);
    memset(&map->index, 0, sizeof map->index);
    if (count == 0) return KD_OK;
    KD_TRY(device_buffer_reserve(&map->ids, count * sizeof(uint32_t)));
    build.points = point_array_make(map->list.positions.memory, count, 3, POINT_FLOAT);
    build.split = POINTTREE_ROUND_ROBIN;
    build.ids = (uint32_t *)map->ids.memory;
    const point_builder_cuda *builder = &point_builders_cuda[0];
    KD_TRY(builder->scratch_bytes(&build.scratch_bytes, &build));
    KD_TRY(device_buffer_reserve(&map->scratch, build.scratch_bytes));
    build.scratch = map->scratch.memory;
    KD_TRY(builder->build(&build));
    size_t bytes = 0;
    KD_TRY(point_index_cuda_bytes(&bytes, &build));
    KD_TRY(device_buffer_reserve(&map->index_memory, bytes));
    return point_index_cuda_open(&map->index, &build, map->index_memory.memory, bytes);
}

/* Distances to the k-th neighbours of some photons, as map_choose_radius. */
kd_status choose_radius(photon_map_cuda *map, const photon_options *options) {
    const uint32_t gather = options->gather;
    const uint64_t count = map->list.count;
    const uint32_t most = RADIUS_PROBES, probes = count < most ? (uint32_t)count : most;
    point_query_cuda query;
    memset(&query, 0, sizeof query);
    query.index = &map->index;
    query.max_radius = (double)INFINITY;
    query.k = gather;
    query.points = point_array_make(NULL, probes, 3, POINT_FLOAT);
    KD_TRY(point_query_cuda_scratch_bytes(&query.scratch_bytes, &query));
    cuda_arena arena = {NULL, 0};
    for (int turn = 0; turn < 2; ++turn) {
        query.points.coordinates = cuda_arena_take(&arena, probes, sizeof(vec3));
        query.dist2 = cuda_arena_take(&arena, (uint64_t)probes * gather, sizeof(float));
        query.scratch = cuda_arena_take(&arena, query.scratch_bytes, 1);
        if (turn) break;
        KD_TRY(device_buffer_reserve(&map->scratch, arena.used));
        arena.base = (char *)map->scratch.memory;
        arena.used = 0;
    }
    take_probes<<<blocks_for(probes), BLOCK>>>((const vec3 *)map->index.tree.coordinates, count,
                                               probes, (vec3 *)query.points.coordinates);
    KD_CUDA_LAUNCHED("take_probes");
    KD_TRY(point_query_cuda_nearest(&query));
    const uint32_t last = (count < gather ? (uint32_t)count : gather) - 1;
    float distances[RADIUS_PROBES];
    KD_CUDA(cudaMemcpy2D(distances, sizeof(float), (const float *)query.dist2 + last,
                         gather * sizeof(float), sizeof(float), probes, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; i < probes; ++i) distances[i] = sqrtf(distances[i]);
    map->radius =
        photon_radius_of(distances, probes, options->estimator == PHOTON_ESTIMATOR_FIXED);
    return KD_OK;
}

kd_status dress(photon_map_cuda *map, bool ordered) {
    const uint64_t count = map->list.count;
    const photon *list = (const photon *)map->list.photons.memory;
    KD_TRY(device_buffer_reserve(&map->records, count * 3 * sizeof(float4)));
    KD_TRY(device_buffer_reserve(&map->record_ids, count * sizeof(uint32_t)));
    make_records<<<blocks_for(count), BLOCK>>>((float4 *)map->index.points, list, (uint32_t)count,
                                               (float4 *)map->records.memory,
                                               (uint32_t *)map->record_ids.memory);
    KD_CUDA_LAUNCHED("make_records");
    if (!ordered) return KD_OK;
    KD_TRY(device_buffer_reserve(&map->ordered, count * sizeof(photon)));
    order_photons<<<blocks_for(count), BLOCK>>>(list, (const uint32_t *)map->ids.memory,
                                                (uint32_t)count, (photon *)map->ordered.memory);
    KD_CUDA_LAUNCHED("order_photons");
    return KD_OK;
}

kd_status plant_map(photon_map_cuda *map, const photon_options *options, bool ordered) {
    map->known = false;
    map->scale = flux_scale(map->list.strongest);
    map->radius = options->radius;
    KD_TRY(plant(map));
    if (map->list.count == 0) return KD_OK;
    if (!(options->radius > 0)) KD_TRY(choose_radius(map, options));
    return dress(map, ordered);
}

} // namespace

extern "C" kd_status photon_maps_cuda_plant(photon_maps_cuda *maps, const photon_options *options,
                                            bool ordered, job *watched) {
    KD_TRY(photon_options_check(options));
    maps->gather = options->gather;
    maps->kernel = options->kernel;
    maps->estimator = options->estimator;
    job_stage_begin(watched, "photon_tree", (int64_t)(maps->map[0].list.count));
    kd_status status = plant_map(&maps->map[0], options, ordered);
    if (status == KD_OK) status = plant_map(&maps->map[1], options, ordered);
    if (status == KD_OK) status = device_wait();
    job_stage_end(watched);
    return status;
}

extern "C" kd_status photon_maps_cuda_precompute(photon_maps_cuda *maps,
                                                 const mesh_view *device_mesh, job *watched) {
    photon_map_cuda *map = &maps->map[0];
    if (map->list.count == 0) return KD_OK;
    job_stage_begin(watched, "photon_tree", (int64_t)map->list.count);
    kd_status status = device_buffer_reserve(&map->irradiance, map->list.count * sizeof(vec3));
    if (status == KD_OK) {
        precompute<<<blocks_for(map->list.count, KNOWN_BLOCK), KNOWN_BLOCK>>>(
            photon_maps_cuda_view(maps, 0), photon_maps_cuda_view(maps, 1), maps->outlines,
            *device_mesh, (vec3 *)map->irradiance.memory);
        status = device_wait();
        map->known = status == KD_OK;
    }
    job_stage_end(watched);
    return status;
}

extern "C" kd_status photon_maps_cuda_gather(const photon_maps_cuda *maps, int which,
                                             uint32_t gather, float radius,
                                             const photon_gather_cuda *asked) {
    const photon_map_cuda *map = &maps->map[which];
    if (asked->count == 0) return KD_OK;
    if (map->list.count == 0 || !(pointtree_bound2(radius) > 0)) {
        KD_CUDA(cudaMemsetAsync(asked->sums, 0, asked->count * sizeof *asked->sums));
        KD_CUDA(cudaMemsetAsync(asked->radii, 0, asked->count * sizeof *asked->radii));
        return KD_OK;
    }
    gather_work work;
    work.index = point_index::view_of(&map->index);
    work.records = (const float4 *)map->records.memory;
    work.ids = (const uint32_t *)map->record_ids.memory;
    work.requests = asked->requests;
    work.count = asked->count;
    work.sums = asked->sums;
    work.radii = asked->radii;
    work.k = gather;
    work.radius = radius;
    work.kernel = (int32_t)maps->kernel;
    work.scale = map->scale;
    const unsigned blocks = blocks_for(asked->count, LEAVES_WARPS);
    if (gather == 0)
        gather_within<<<blocks, 32 * LEAVES_WARPS>>>(work);
    else
        nearest_kernel(gather)<<<blocks, 32 * LEAVES_WARPS>>>(work);
    KD_CUDA_LAUNCHED("gather");
    return KD_OK;
}
