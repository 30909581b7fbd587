/* Reachability by light on a CUDA device: the probes of tile_reach.c.
   Idea: 16 lanes per probe, one ray each; the first two also trace the shadow rays.
   Work: 16 rays and two shadow rays per probe, and 32 gathers of 16 values.
   Memory: 77 bytes per probe, 12 per pair, 4 per triangle and per part, 72 per face.
   Invariants: the bits of tile_reach.c: the occlusion of rays is added in their order, and an
               iteration reads the values of the previous one.
   Data flow: probe_all, 16 lanes per probe, reads faces and pairs, and writes targets, model
              and now; pass_on, one thread per probe, PROBE_ROUNDS times, reads targets and now, and
              writes next, which is then exchanged with now; divide_all, one thread per probe, reads
              now and writes divided. */
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "photon/density/tile_probe.h"

namespace {

constexpr int BLOCK = 128;
constexpr unsigned ALL = 0xffffffffu;

struct probe_work {
    scene_view scene;
    tile_probes probes;
    uint32_t count; /* number of probes */
};

/* Returns true if one of the shadow rays, traced by the first lanes of a probe, reaches a light
   source. */
__device__ __forceinline__ bool lamp_is_seen(const probe_work &work, const openness_place &place,
                                             bool has) {
    const uint32_t lane = threadIdx.x % OPENNESS_RAYS, half = threadIdx.x % 32 - lane;
    const bool seen =
        has && lane < PROBE_SHADOW_RAYS && probe_sees_light(&work.scene, &place, lane);
    return (__ballot_sync(ALL, seen) >> half & 0xffffu) != 0;
}

__global__ __launch_bounds__(BLOCK) void probe_all(const __grid_constant__ probe_work work) {
    const uint32_t thread = blockIdx.x * BLOCK + threadIdx.x, probe = thread / OPENNESS_RAYS,
                   lane = thread % OPENNESS_RAYS;
    const bool has = probe < work.count;
    const openness_place place = probe_place(&work.scene, &work.probes, has ? probe : 0);
    const bool lit = lamp_is_seen(work, place, has);
    float hides = 0, hidden = 0;
    if (has) {
        const ray ray = openness_ray(&place, (int)lane, lit ? work.probes.radius : INFINITY);
        const ray_hit end = openness_end(&work.scene, ray, tritree_closest(&work.scene.tree, ray));
        hides = openness_hidden(end, work.probes.radius);
        work.probes.targets[(size_t)probe * OPENNESS_RAYS + lane] =
            probe_target(&work.probes, end, ray.direction);
    }
    __syncwarp();
    for (int i = 0; i < OPENNESS_RAYS; ++i) hidden += __shfl_sync(ALL, hides, i, OPENNESS_RAYS);
    if (!has || lane) return;
    work.probes.model[probe] = openness_model(hidden / OPENNESS_RAYS);
    work.probes.now[probe] = lit ? 1 : 0;
}

__global__ __launch_bounds__(BLOCK) void pass_on(const __grid_constant__ tile_probes probes) {
    const uint32_t probe = blockIdx.x * BLOCK + threadIdx.x;
    if (probe < 2 * probes.pair_count) probes.next[probe] = probe_lit(&probes, probe);
}

__global__ __launch_bounds__(BLOCK) void divide_all(const __grid_constant__ probe_work work) {
    const uint32_t probe = blockIdx.x * BLOCK + threadIdx.x;
    if (probe < work.count)
        work.probes.divided[probe] = probe_divided(&work.scene, &work.probes, probe);
}

/* Lays out the arrays on a device; an arena without memory only counts the bytes. */
void place_probes(tile_probes *out, cuda_arena *arena, uint64_t triangles, uint64_t parts,
                  uint64_t faces, uint64_t pairs) {
    const uint64_t probes = 2 * pairs;
    out->faces = (const tile_face *)cuda_arena_take(arena, faces, sizeof(tile_face));
    out->face_of = (uint32_t *)cuda_arena_take(arena, triangles, sizeof(uint32_t));
    out->pair_of = (uint32_t *)cuda_arena_take(arena, parts, sizeof(uint32_t));
    out->pairs = (probe_pair *)cuda_arena_take(arena, pairs, sizeof(probe_pair));
    out->targets = (uint32_t *)cuda_arena_take(arena, probes * OPENNESS_RAYS, sizeof(uint32_t));
    out->model = (float *)cuda_arena_take(arena, probes, sizeof(float));
    out->now = (float *)cuda_arena_take(arena, probes, sizeof(float));
    out->next = (float *)cuda_arena_take(arena, probes, sizeof(float));
    out->divided = (uint8_t *)cuda_arena_take(arena, probes, sizeof(uint8_t));
}

kd_status upload_probes(const tile_probes *to, const tile_probes *host, uint32_t triangles,
                        uint32_t parts, uint32_t faces) {
    KD_TRY(device_memory_upload((void *)(uintptr_t)to->faces, host->faces,
                                faces * sizeof *host->faces));
    KD_TRY(device_memory_upload(to->face_of, host->face_of, triangles * sizeof *host->face_of));
    KD_TRY(device_memory_upload(to->pair_of, host->pair_of, parts * sizeof *host->pair_of));
    return device_memory_upload(to->pairs, host->pairs, host->pair_count * sizeof *host->pairs);
}

kd_status follow(probe_work *work, const tile_probes *host) {
    tile_probes *probes = &work->probes;
    const uint32_t lanes_blocks =
        (uint32_t)(((uint64_t)work->count * OPENNESS_RAYS + BLOCK - 1) / BLOCK);
    probe_all<<<lanes_blocks, BLOCK>>>(*work);
    KD_CUDA_LAUNCHED("probe_all");
    for (int round = 0; round < PROBE_ROUNDS; ++round) {
        pass_on<<<(work->count + BLOCK - 1) / BLOCK, BLOCK>>>(*probes);
        KD_CUDA_LAUNCHED("pass_on");
        float *before = probes->now;
        probes->now = probes->next;
        probes->next = before;
    }
    divide_all<<<(work->count + BLOCK - 1) / BLOCK, BLOCK>>>(*work);
    KD_CUDA_LAUNCHED("divide_all");
    KD_TRY(device_memory_download(host->divided, probes->divided, work->count));
    KD_TRY(device_memory_download(host->model, probes->model, work->count * sizeof(float)));
    return device_memory_download(host->now, probes->now, work->count * sizeof(float));
}

} // namespace

extern "C" kd_status tile_probes_cuda_follow(const scene_view *view, const tile_probes *host,
                                             uint32_t parts, uint32_t face_count) {
    const uint32_t triangles = view->mesh.triangle_count;
    probe_work work;
    cuda_arena arena = {NULL, 0};
    void *memory = NULL;
    if (host->pair_count == 0) return KD_OK;
    memset(&work, 0, sizeof work);
    work.scene = *view;
    work.probes.radius = host->radius;
    work.probes.pair_count = host->pair_count;
    work.count = 2 * host->pair_count;
    place_probes(&work.probes, &arena, triangles, parts, face_count, host->pair_count);
    KD_TRY(device_memory_reserve(&memory, arena.used));
    arena.base = (char *)memory;
    arena.used = 0;
    place_probes(&work.probes, &arena, triangles, parts, face_count, host->pair_count);
    kd_status status = upload_probes(&work.probes, host, triangles, parts, face_count);
    if (status == KD_OK) status = follow(&work, host);
    device_memory_free(memory);
    return status;
}

extern "C" uint64_t tile_probes_cuda_bytes_max(uint64_t parts, uint64_t triangles) {
    tile_probes probes;
    cuda_arena arena = {NULL, 0};
    memset(&probes, 0, sizeof probes);
    place_probes(&probes, &arena, triangles, parts, triangles, parts);
    return arena.used;
}
