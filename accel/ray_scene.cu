/* Queries on a scene of rays on a CUDA device, with one thread per ray or point.
   Data flow: rays or points, and the scene -> hits, rows, counts or nearest points. */
#include "accel/ray_scene_near.h"
#include "core/device/cuda.h"

namespace {

enum { BLOCK = 128 };

template <scene_kind KIND>
__global__ __launch_bounds__(BLOCK) void answer(const __grid_constant__ scene_rays_view scene,
                                                const __grid_constant__ scene_query given) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    scene_query query = given;
    query.kind = KIND; /* a constant for the compiler */
    if (i < query.count) scene_query_one(&scene, &query, i);
}

template <scene_kind KIND>
void launch(const scene_rays_view *scene, const scene_query *query, void *stream) {
    answer<KIND>
        <<<cuda_blocks(query->count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(*scene, *query);
}

} // namespace

kd_status scene_query_launch(const scene_rays_view *scene, const scene_query *query, void *stream) {
    if (query->count == 0) return KD_OK;
    switch (query->kind) {
    case SCENE_CLOSEST: launch<SCENE_CLOSEST>(scene, query, stream); break;
    case SCENE_ANY: launch<SCENE_ANY>(scene, query, stream); break;
    case SCENE_COUNT: launch<SCENE_COUNT>(scene, query, stream); break;
    case SCENE_ROWS: launch<SCENE_ROWS>(scene, query, stream); break;
    case SCENE_POINTS: launch<SCENE_POINTS>(scene, query, stream); break;
    }
    KD_CUDA_LAUNCHED("answer");
    return KD_OK;
}
