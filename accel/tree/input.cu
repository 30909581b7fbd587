/* Checks and conversions of a mesh in device memory.
   Data flow: one launch each, one thread per element: pack, the caller's vertices -> positions;
   number -> indices 0, 1, ...; find_bad, positions and indices -> the smallest id of an invalid
   triangle, which is copied to the host. */
#include "accel/tree/build.h"
#include "core/device/cuda.h"
#include "core/device/device_stream.h"

namespace {

enum { BLOCK = 256 };

__global__ void pack(vec3 *positions, const char *vertices, uint64_t count, uint64_t stride) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    const float *from = (const float *)(vertices + i * stride);
    positions[i] = vec3_make(from[0], from[1], from[2]);
}

__global__ void number(uint32_t *indices, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) indices[i] = (uint32_t)i;
}

__global__ void find_bad(tritree_input input, uint32_t *first) {
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    if (id >= input.triangle_count) return;
    const uint32_t *index = input.triangles + 3 * (uint64_t)id;
    for (int k = 0; k < 3; ++k)
        if (index[k] >= input.position_count || !vec3_is_finite(input.positions[index[k]])) {
            atomicMin(first, id);
            return;
        }
}

/* Returns an error that describes what is wrong with a triangle. */
kd_status refuse(const tritree_input *input, uint32_t id) {
    uint32_t index[3];
    KD_CUDA(cudaMemcpy(index, input->triangles + 3 * (uint64_t)id, sizeof index,
                       cudaMemcpyDeviceToHost));
    for (int k = 0; k < 3; ++k) {
        KD_REQUIRE(index[k] < input->position_count, KD_ERROR_INPUT,
                   "triangle %u has vertex index %u; the mesh has %u vertices", id, index[k],
                   input->position_count);
        vec3 corner;
        KD_CUDA(cudaMemcpy(&corner, input->positions + index[k], sizeof corner,
                           cudaMemcpyDeviceToHost));
        KD_REQUIRE(vec3_is_finite(corner), KD_ERROR_INPUT,
                   "triangle %u has the vertex (%g, %g, %g); coordinates must be finite", id,
                   (double)corner.x, (double)corner.y, (double)corner.z);
    }
    return KD_OK;
}

} // namespace

kd_status triangles_device_pack(vec3 *positions, const void *vertices, uint64_t count,
                                uint64_t stride, void *stream) {
    if (count == 0) return KD_OK;
    pack<<<cuda_blocks(count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(
        positions, (const char *)vertices, count, stride);
    KD_CUDA_LAUNCHED("pack");
    return KD_OK;
}

kd_status triangles_device_number(uint32_t *indices, uint64_t count, void *stream) {
    if (count == 0) return KD_OK;
    number<<<cuda_blocks(count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(indices, count);
    KD_CUDA_LAUNCHED("number");
    return KD_OK;
}

kd_status triangles_device_check(const tritree_input *input, void *stream) {
    if (input->triangle_count == 0) return KD_OK;
    void *place = NULL;
    uint32_t first = KD_NONE;
    kd_status status = KD_OK;
    KD_TRY(device_pool_reserve(&place, sizeof first, stream));
    KD_TRY_GOTO(device_copy(place, &first, sizeof first, stream));
    find_bad<<<cuda_blocks(input->triangle_count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(
        *input, (uint32_t *)place);
    KD_TRY_GOTO(device_copy(&first, place, sizeof first, stream));
    KD_TRY_GOTO(device_stream_wait(stream));
    if (first != KD_NONE) status = refuse(input, first);
done:
    device_pool_release(place, stream);
    return status;
}
