#include "points/parts/host_arrays.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include <assert.h>
#include <stdbool.h>

static bool is_on_host(const void *array, uint64_t bytes) {
    return !array || bytes == 0 || !device_in_use() || device_of_pointer(array) < 0;
}

static kd_status take(host_arrays *of, void **out, void *to, uint64_t bytes) {
    assert(of->count < HOST_ARRAYS_MOST);
    KD_TRY(memory_reserve(out, bytes, 1));
    of->taken[of->count].host = *out;
    of->taken[of->count].to = to;
    of->taken[of->count++].bytes = bytes;
    return KD_OK;
}

kd_status host_arrays_in(host_arrays *of, const void **array, uint64_t bytes) {
    void *copy = NULL;
    if (is_on_host(*array, bytes)) return KD_OK;
    KD_TRY(take(of, &copy, NULL, bytes));
    KD_TRY(device_copy(copy, *array, bytes, of->stream));
    *array = copy;
    return device_stream_wait(of->stream);
}

kd_status host_arrays_out(host_arrays *of, void **array, uint64_t bytes) {
    void *room = NULL;
    if (is_on_host(*array, bytes)) return KD_OK;
    KD_TRY(take(of, &room, *array, bytes));
    *array = room;
    return KD_OK;
}

kd_status host_arrays_points(host_arrays *of, kd_point_array *points) {
    const uint64_t scalar = points->scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    const uint64_t one = points->dims * scalar;
    const uint64_t stride = points->stride_bytes ? points->stride_bytes : one;
    return host_arrays_in(of, &points->coordinates,
                          points->count ? (points->count - 1) * stride + one : 0);
}

kd_status host_arrays_end(host_arrays *of, kd_status status) {
    for (int i = 0; i < of->count; ++i) {
        if (status == KD_OK && of->taken[i].to)
            status =
                device_copy(of->taken[i].to, of->taken[i].host, of->taken[i].bytes, of->stream);
        if (status == KD_OK && of->taken[i].to) status = device_stream_wait(of->stream);
        memory_free(of->taken[i].host);
    }
    of->count = 0;
    return status;
}
